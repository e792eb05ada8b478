//! Keys: a CA, certificates that it signs, and tokens. The keys of `airlock dev` are created once and kept.
//! They are replaced only when they are invalid or expire soon. `airlock keys` creates further keys.

use std::{
    fs,
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, PublicKeyData as _, SanType,
};
use sha2::{Digest as _, Sha256};
use x509_parser::{certificate::X509Certificate, pem::Pem};

use crate::state::{StateError, read_bounded, write_secret};

/// The name in the server's certificate.
pub(super) const SERVER_NAME: &str = "localhost";
/// The name in the runner's certificate.
pub(super) const RUNNER_NAME: &str = "dev-runner";
/// The name of the identity that runs commands only.
pub(super) const AGENT_NAME: &str = "dev-agent";

const AUTHORITY_NAME: &str = "airlock dev authority";
const DAY: Duration = Duration::from_secs(24 * 3600);
const AUTHORITY_VALID: Duration = Duration::from_secs(10 * 365 * 24 * 3600);
const LEAF_VALID: Duration = Duration::from_secs(365 * 24 * 3600);
/// A certificate with less than this remaining lifetime is replaced.
const RENEW_BEFORE: Duration = Duration::from_secs(30 * 24 * 3600);
const FILE_BYTES: u64 = 64 * 1024;
const TOKEN_BYTES: usize = 32;

/// The paths of the keys.
#[derive(Debug, Clone)]
pub(super) struct Keys {
    pub(super) ca: PathBuf,
    pub(super) server: Files,
    pub(super) runner: Files,
    pub(super) token_file: PathBuf,
    /// The SHA-256 of the token, in hexadecimal.
    pub(super) token_sha256: String,
    /// The SHA-256 of the token of an agent, in hexadecimal.
    pub(super) agent_sha256: String,
}

/// The paths of a certificate and its key.
#[derive(Debug, Clone)]
pub struct Files {
    /// The certificate, as PEM.
    pub certificate: PathBuf,
    /// The private key, as PEM.
    pub key: PathBuf,
}

impl Files {
    /// Returns the paths `NAME.pem` and `NAME.key`.
    pub fn named(directory: &Path, name: &str) -> Self {
        Self {
            certificate: directory.join(format!("{name}.pem")),
            key: directory.join(format!("{name}.key")),
        }
    }
}

/// The reason why keys are not available.
#[derive(Debug, thiserror::Error)]
pub enum KeysError {
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] StateError),
    /// A key or certificate cannot be created.
    #[error("cannot create the {what}: {source}")]
    Make {
        /// The key or certificate.
        what: &'static str,
        /// The cause.
        source: rcgen::Error,
    },
    /// The system provides no random bytes.
    #[error("cannot read random bytes for the token: {0}")]
    Random(getrandom::Error),
}

impl Keys {
    /// Returns the keys in `directory`. Keys that are missing, or invalid at `now`, are created. Only one process
    /// may call this at a time.
    ///
    /// # Errors
    /// See [`KeysError`].
    pub(super) fn ensure(directory: &Path, now: SystemTime) -> Result<Self, KeysError> {
        make_directory(directory)?;
        let files = |name: &str| Files::named(directory, name);
        let authority = match Authority::open(&files("ca"), AUTHORITY_NAME, now) {
            Some(authority) => authority,
            None => Authority::make(&files("ca"), AUTHORITY_NAME, now)?,
        };
        let (server, runner) = (files("server"), files("runner"));
        let names = [SERVER_NAME, "127.0.0.1", "::1"].map(str::to_owned);
        authority.ensure(&server, &Leaf::server(&names)?, now)?;
        authority.ensure(&runner, &Leaf::named_only(RUNNER_NAME), now)?;
        let token_file = directory.join("client.token");
        let token_sha256 = ensure_token(&token_file)?;
        let agent_sha256 = ensure_token(&directory.join("agent.token"))?;
        Ok(Self { ca: files("ca").certificate, server, runner, token_file, token_sha256, agent_sha256 })
    }
}

/// Creates a directory that only its owner can read.
pub fn make_directory(directory: &Path) -> Result<(), StateError> {
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(directory);
    made.map_err(|source| StateError::Io { what: "making", path: directory.to_owned(), source })
}

/// A CA.
pub struct Authority {
    pem: Pem,
    issuer: Issuer<'static, KeyPair>,
}

/// The contents of a certificate to issue.
pub struct Leaf {
    what: &'static str,
    common_name: String,
    names: Vec<SanType>,
    usage: ExtendedKeyUsagePurpose,
}

impl Leaf {
    /// Describes a certificate for a server with these names and addresses. The first one is the common name.
    ///
    /// # Errors
    /// Fails for a name that a certificate cannot contain.
    pub fn server(names: &[String]) -> Result<Self, KeysError> {
        let what = "server certificate";
        let params = CertificateParams::new(names).map_err(|source| KeysError::Make { what, source })?;
        let common_name = names.first().cloned().unwrap_or_default();
        let usage = ExtendedKeyUsagePurpose::ServerAuth;
        Ok(Self { what, common_name, names: params.subject_alt_names, usage })
    }

    /// Describes a certificate for a client or runner with a SPIFFE ID or a DNS name.
    ///
    /// # Errors
    /// Fails for a name that a certificate cannot contain.
    pub fn client(name: &str) -> Result<Self, KeysError> {
        let mut leaf = Self::named_only(name);
        let text = name.try_into().map_err(|source| KeysError::Make { what: leaf.what, source })?;
        leaf.names.push(if name.starts_with("spiffe://") {
            SanType::URI(text)
        } else {
            SanType::DnsName(text)
        });
        Ok(leaf)
    }

    /// Describes a certificate for a client or runner with only a common name.
    fn named_only(name: &str) -> Self {
        let usage = ExtendedKeyUsagePurpose::ClientAuth;
        Self { what: "client certificate", common_name: name.to_owned(), names: Vec::new(), usage }
    }

    fn params(&self, now: SystemTime) -> CertificateParams {
        let mut params = CertificateParams::default();
        params.subject_alt_names.clone_from(&self.names);
        params.distinguished_name = named(&self.common_name);
        params.use_authority_key_identifier_extension = true;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![self.usage.clone()];
        params.not_before = (now - DAY).into();
        params.not_after = (now + LEAF_VALID).into();
        params
    }
}

impl Authority {
    /// Returns the CA in these files, if it is valid and does not expire soon.
    pub fn open(files: &Files, name: &str, now: SystemTime) -> Option<Self> {
        let pair = Kept::read(files, now).filter(|kept| kept.is_signed_by(&kept.pem))?;
        let issuer = Issuer::new(authority_params(name, now), pair.key);
        Some(Self { pem: pair.pem, issuer })
    }

    /// Creates a CA in these files.
    ///
    /// # Errors
    /// See [`KeysError`].
    pub fn make(files: &Files, name: &str, now: SystemTime) -> Result<Self, KeysError> {
        let failed = |source| KeysError::Make { what: "authority", source };
        let params = authority_params(name, now);
        let key = KeyPair::generate().map_err(failed)?;
        let text = params.self_signed(&key).map_err(failed)?.pem();
        write(files, &text, &key)?;
        let pem = parse(text.as_bytes()).ok_or_else(|| failed(rcgen::Error::CouldNotParseCertificate))?;
        Ok(Self { pem, issuer: Issuer::new(params, key) })
    }

    /// Issues a certificate.
    ///
    /// # Errors
    /// See [`KeysError`].
    pub fn issue(&self, files: &Files, leaf: &Leaf, now: SystemTime) -> Result<(), KeysError> {
        let failed = |source| KeysError::Make { what: leaf.what, source };
        let key = KeyPair::generate().map_err(failed)?;
        let certificate = leaf.params(now).signed_by(&key, &self.issuer).map_err(failed)?;
        write(files, &certificate.pem(), &key)
    }

    fn ensure(&self, files: &Files, leaf: &Leaf, now: SystemTime) -> Result<(), KeysError> {
        match Kept::read(files, now).is_some_and(|kept| kept.is_signed_by(&self.pem)) {
            true => Ok(()),
            false => self.issue(files, leaf, now),
        }
    }
}

fn authority_params(name: &str, now: SystemTime) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = named(name);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params.not_before = (now - DAY).into();
    params.not_after = (now + AUTHORITY_VALID).into();
    params
}

fn named(common_name: &str) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    name.push(DnType::CommonName, common_name);
    name
}

/// A certificate with its matching key that is valid and does not expire soon.
struct Kept {
    pem: Pem,
    key: KeyPair,
}

impl Kept {
    fn read(files: &Files, now: SystemTime) -> Option<Self> {
        let pem = parse(&read_bounded(&files.certificate, FILE_BYTES).ok()?)?;
        let key = String::from_utf8(read_secret(&files.key)?).ok()?;
        let key = KeyPair::from_pem(&key).ok()?;
        let certificate = pem.parse_x509().ok()?;
        let ends = u64::try_from(certificate.validity().not_after.timestamp()).ok()?;
        let needed = (now + RENEW_BEFORE).duration_since(SystemTime::UNIX_EPOCH).ok()?.as_secs();
        let fits = certificate.public_key().subject_public_key.data.as_ref() == key.der_bytes();
        (ends > needed && fits).then_some(Self { pem, key })
    }

    fn is_signed_by(&self, authority: &Pem) -> bool {
        let check = |certificate: X509Certificate<'_>, authority: X509Certificate<'_>| {
            certificate.verify_signature(Some(authority.public_key())).is_ok()
        };
        match (self.pem.parse_x509(), authority.parse_x509()) {
            (Ok(certificate), Ok(authority)) => check(certificate, authority),
            _ => false,
        }
    }
}

fn parse(text: &[u8]) -> Option<Pem> {
    let (_, pem) = x509_parser::pem::parse_x509_pem(text).ok()?;
    pem.parse_x509().is_ok().then_some(pem)
}

/// Reads a secret file. Returns `None` if another user owns it or can access it.
fn read_secret(path: &Path) -> Option<Vec<u8>> {
    let metadata = fs::metadata(path).ok()?;
    let ours = metadata.uid() == nix::unistd::geteuid().as_raw();
    let closed = metadata.permissions().mode() & 0o077 == 0;
    (ours && closed).then(|| read_bounded(path, FILE_BYTES).ok())?
}

/// Writes the key first: a certificate without its key is detected as invalid and replaced.
fn write(files: &Files, certificate: &str, key: &KeyPair) -> Result<(), KeysError> {
    write_secret(&files.key, key.serialize_pem().as_bytes())?;
    write_secret(&files.certificate, certificate.as_bytes())?;
    Ok(())
}

fn ensure_token(path: &Path) -> Result<String, KeysError> {
    let kept = read_secret(path).and_then(|bytes| String::from_utf8(bytes).ok());
    let kept = kept.map(|text| text.trim().to_owned()).filter(|text| text.len() == 2 * TOKEN_BYTES);
    match kept {
        Some(token) => Ok(hex::encode(Sha256::digest(token.as_bytes()))),
        None => make_token(path),
    }
}

/// Creates a token file, and returns the token's SHA-256 in hexadecimal.
///
/// # Errors
/// See [`KeysError`].
pub fn make_token(path: &Path) -> Result<String, KeysError> {
    let mut bytes = [0; TOKEN_BYTES];
    getrandom::fill(&mut bytes).map_err(KeysError::Random)?;
    let token = hex::encode(bytes);
    write_secret(path, token.as_bytes())?;
    Ok(hex::encode(Sha256::digest(token.as_bytes())))
}

#[cfg(test)]
mod tests;
