//! The names in a verified client certificate. This module does not verify certificates.

use rustls_pki_types::CertificateDer;
use x509_parser::prelude::{FromDer as _, GeneralName, X509Certificate};

use crate::config::Match;

/// The maximum number of names of one kind that are read. No legitimate certificate has more.
const NAMES: usize = 64;

/// The names of a certificate, in the form that identities match, by kind. The most specific kind comes
/// first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CertificateNames {
    pub(super) spiffe: Vec<Match>,
    pub(super) dns: Vec<Match>,
    pub(super) common: Vec<Match>,
}

impl CertificateNames {
    /// Reads the names of a certificate that rustls has verified. A certificate that cannot be parsed has no
    /// names and matches no identity.
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
