//! The certificate authority of one execution. Its key exists only in the runner's memory.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use airlock_network::Host;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, SanType,
};
use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer},
};

use super::{error::InspectionError, trust::HTTP_11};

/// The certificates that are kept. A further one replaces all.
const KEPT: usize = 64;
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// The validity of certificates. Executions end much earlier.
const VALID: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// An authority, and the certificates that it has issued.
pub(super) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: CertificateDer<'static>,
    pem: String,
    /// The key of all certificates.
    key: KeyPair,
    issued: Mutex<HashMap<Host, Arc<ServerConfig>>>,
}

impl Authority {
    pub(super) fn new() -> Result<Self, rcgen::Error> {
        let key = KeyPair::generate()?;
        let mut params = params("Airlock: TLS inspection of one execution");
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let certificate = params.self_signed(&key)?;
        Ok(Self {
            pem: certificate.pem(),
            certificate: certificate.der().clone(),
            issuer: Issuer::new(params, key),
            key: KeyPair::generate()?,
            issued: Mutex::default(),
        })
    }

    pub(super) fn pem(&self) -> &str {
        &self.pem
    }

    /// Returns the TLS settings of a server with this name or address.
    pub(super) fn server(&self, host: &Host) -> Result<Arc<ServerConfig>, InspectionError> {
        let mut issued = self.issued.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = issued.get(host) {
            return Ok(Arc::clone(known));
        }
        let made = Arc::new(self.issue(host)?);
        if issued.len() >= KEPT {
            issued.clear();
        }
        issued.insert(host.clone(), Arc::clone(&made));
        Ok(made)
    }

    fn issue(&self, host: &Host) -> Result<ServerConfig, InspectionError> {
        let mut params = params("Airlock: inspected server");
        params.subject_alt_names = vec![match host {
            Host::Name(name) => SanType::DnsName(name.as_str().try_into()?),
            Host::Address(address) => SanType::IpAddress(*address),
        }];
        params.use_authority_key_identifier_extension = true;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let certificate = params.signed_by(&self.key, &self.issuer)?;
        let chain = vec![certificate.der().clone(), self.certificate.clone()];
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(self.key.serialize_der()));
        let mut server = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(chain, key)?;
        server.alpn_protocols = vec![HTTP_11.to_vec()];
        Ok(server)
    }
}

fn params(name: &str) -> CertificateParams {
    let now = SystemTime::now();
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params.not_before = (now - DAY).into();
    params.not_after = (now + VALID).into();
    params
}
