//! Certificates for one test: a CA and the certificates that it signs.

use std::{
    fs,
    path::{Path, PathBuf},
};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, IsCa, KeyPair,
    KeyUsagePurpose,
};

/// A CA, and the directory of all its files.
#[derive(Debug)]
pub struct Pki {
    directory: PathBuf,
    issuer: CertifiedIssuer<'static, KeyPair>,
}

/// A certificate and its key as PEM files.
#[derive(Debug, Clone)]
pub struct Pair {
    /// The certificate.
    pub certificate: PathBuf,
    /// The key.
    pub key: PathBuf,
}

impl Pki {
    /// Creates a CA with its files in `directory`.
    ///
    /// # Panics
    /// If a file cannot be written.
    #[must_use]
    pub fn new(directory: &Path) -> Self {
        fs::create_dir_all(directory).unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        params.distinguished_name = named("airlock test authority");
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        fs::write(directory.join("ca.pem"), issuer.pem()).unwrap();
        Self { directory: directory.to_owned(), issuer }
    }

    /// Returns the CA certificate.
    #[must_use]
    pub fn ca(&self) -> PathBuf {
        self.directory.join("ca.pem")
    }

    /// Issues a certificate with this common name for these hosts.
    ///
    /// # Panics
    /// If a file cannot be written.
    #[must_use]
    pub fn issue(&self, name: &str, hosts: &[&str]) -> Pair {
        self.sign(name, hosts, |_| {})
    }

    /// Issues a certificate with this common name that was valid in the year 2020.
    ///
    /// # Panics
    /// If a file cannot be written.
    #[must_use]
    pub fn issue_expired(&self, name: &str) -> Pair {
        self.sign(name, &[], |params| {
            params.not_before = rcgen::date_time_ymd(2020, 1, 1);
            params.not_after = rcgen::date_time_ymd(2020, 12, 31);
        })
    }

    fn sign(&self, name: &str, hosts: &[&str], change: impl FnOnce(&mut CertificateParams)) -> Pair {
        let key = KeyPair::generate().unwrap();
        let hosts: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
        let mut params = CertificateParams::new(hosts).unwrap();
        params.distinguished_name = named(name);
        change(&mut params);
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        // A program may use the files of an earlier certificate with this name, and reads them again when they change.
        let others = (2..).map(|number| format!("{name}-{number}"));
        let mut files = std::iter::once(name.to_owned()).chain(others).map(|file| Pair {
            certificate: self.directory.join(format!("{file}.pem")),
            key: self.directory.join(format!("{file}.key")),
        });
        let pair = files.find(|pair| !pair.certificate.exists()).unwrap();
        fs::write(&pair.certificate, certificate.pem()).unwrap();
        fs::write(&pair.key, key.serialize_pem()).unwrap();
        pair
    }
}

fn named(name: &str) -> DistinguishedName {
    let mut distinguished = DistinguishedName::new();
    distinguished.push(DnType::CommonName, name);
    distinguished
}
