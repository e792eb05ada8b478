//! The names that a verified client certificate carries. Nothing here verifies one.

use rustls_pki_types::CertificateDer;
use x509_parser::prelude::{FromDer as _, GeneralName, X509Certificate};

use crate::config::Match;

/// Names of one kind that are looked at; no honest certificate has more.
const NAMES: usize = 64;

/// The names of a certificate, as identities are matched by them; the surest kind first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CertificateNames {
    pub(super) spiffe: Vec<Match>,
    pub(super) dns: Vec<Match>,
    pub(super) common: Vec<Match>,
}

impl CertificateNames {
    /// Reads the names of a certificate that rustls has verified. One that cannot be read has none, and
    /// so belongs to nobody.
    #[must_use]
    pub fn read(certificate: &CertificateDer<'_>) -> Self {
        let Ok((_, certificate)) = X509Certificate::from_der(certificate) else {
            return Self::default();
        };
        let mut names = Self::default();
        if let Ok(Some(alternatives)) = certificate.subject_alternative_name() {
            for name in &alternatives.value.general_names {
                match name {
                    GeneralName::URI(uri) if uri.starts_with("spiffe://") => {
                        names.spiffe.push(Match::Spiffe((*uri).to_owned()));
                    }
                    GeneralName::DNSName(name) => names.dns.push(Match::Dns((*name).to_owned())),
                    _ => {}
                }
            }
        }
        let common = certificate.subject().iter_common_name();
        names.common = common
            .filter_map(|name| name.as_str().ok())
            .map(|name| Match::CommonName(name.to_owned()))
            .collect();
        for kind in [&mut names.spiffe, &mut names.dns, &mut names.common] {
            kind.truncate(NAMES);
        }
        names
    }
}
