//! The expiry times of the runner's own certificates and of its CA certificates for servers.

use std::{path::Path, time::SystemTime};

use rustls::pki_types::{CertificateDer, pem::PemObject as _};
use x509_parser::prelude::{FromDer as _, X509Certificate};

use crate::config::ServerConfig;

/// The seconds until certificates expire; negative afterwards. `None` if no certificate can be read.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Expiry {
    /// The earliest expiry of the runner's certificates and their chains.
    pub(crate) certificate: Option<f64>,
    /// The expiry of the CA bundles: the latest in each bundle, which may keep an old certificate; of these,
    /// the earliest.
    pub(crate) ca: Option<f64>,
}

impl Expiry {
    /// Reads the certificate files of these servers. Blocks.
    pub(crate) fn of(servers: &[ServerConfig], now: SystemTime) -> Self {
        let now = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        let left = |ends: Vec<i64>, pick: fn(std::vec::IntoIter<i64>) -> Option<i64>| {
            #[expect(clippy::cast_precision_loss, reason = "seconds of a date fit")]
            pick(ends.into_iter()).map(|end| end as f64 - now)
        };
        let certificates = servers.iter().filter_map(|server| server.cert.as_deref());
        let authorities = servers.iter().filter_map(|server| server.ca.as_deref());
        Self {
            certificate: certificates.filter_map(|file| left(ends(file), Iterator::min)).reduce(f64::min),
            ca: authorities.filter_map(|file| left(ends(file), Iterator::max)).reduce(f64::min),
        }
    }
}

/// Returns the expiry of each certificate in a PEM file, in seconds since 1970.
fn ends(file: &Path) -> Vec<i64> {
    let Ok(all) = CertificateDer::pem_file_iter(file) else { return Vec::new() };
    let end = |der: &CertificateDer<'_>| {
        let (_, certificate) = X509Certificate::from_der(der).ok()?;
        Some(certificate.validity().not_after.timestamp())
    };
    all.filter_map(|der| end(&der.ok()?)).collect()
}

#[cfg(test)]
mod tests {
    use std::{fs, time::Duration};

    use rcgen::{CertificateParams, KeyPair, date_time_ymd};

    use super::*;

    fn until(year: i32) -> String {
        let mut params = CertificateParams::new(vec!["a".to_owned()]).unwrap();
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(year, 1, 1);
        params.self_signed(&KeyPair::generate().unwrap()).unwrap().pem()
    }

    #[test]
    fn a_chain_ends_with_its_first_certificate_and_a_bundle_with_its_last() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("both.pem");
        fs::write(&file, until(2030) + &until(2021)).unwrap();
        let server = ServerConfig { cert: Some(file.clone()), ca: Some(file), ..ServerConfig::default() };
        // One minute after 2021-01-01T00:00:00Z.
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_609_459_260);
        let found = Expiry::of(&[server], now);
        assert_eq!(found.certificate, Some(-60.0));
        assert!(found.ca.is_some_and(|left| left > 8.0 * 365.0 * 86400.0), "{found:?}");
        let missing = ServerConfig { cert: Some(directory.path().join("none")), ..ServerConfig::default() };
        assert_eq!(Expiry::of(&[missing], now), Expiry::default());
    }
}
