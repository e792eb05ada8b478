//! A secret that the proxy inserts, and its binding. The runner's configuration contains both.

use std::fmt;

use airlock_network::{RequestRule, Target};
use hyper::header::HeaderName;
use zeroize::Zeroizing;

/// The value of a secret. Its `Debug` form does not contain it, and its memory is cleared when it is dropped.
#[derive(Clone)]
pub struct SecretValue(Zeroizing<Vec<u8>>);

impl SecretValue {
    /// Takes a value.
    #[must_use]
    pub fn new(value: Vec<u8>) -> Self {
        Self(Zeroizing::new(value))
    }

    pub(crate) fn expose(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for SecretValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretValue(..)")
    }
}

/// How the proxy uses a secret.
#[derive(Clone, Debug)]
pub enum SecretUse {
    /// It replaces the placeholder in this header.
    Header {
        /// The header.
        header: HeaderName,
        /// The variable of the command that contains the placeholder.
        variable: String,
        /// The value.
        value: SecretValue,
    },
    /// It signs requests to AWS. The command finds the placeholder in the variables of its key.
    Aws(AwsKey),
}

/// A key of AWS, for one service in one region.
#[derive(Clone, Debug)]
pub struct AwsKey {
    /// The name of the key, which is not secret.
    pub access_key_id: String,
    /// The secret access key.
    pub secret: SecretValue,
    /// The region, such as `eu-central-1`.
    pub region: String,
    /// The service in signatures, such as `s3`.
    pub service: String,
}

impl SecretUse {
    /// Returns the value that no answer may contain.
    pub(super) fn value(&self) -> &[u8] {
        match self {
            Self::Header { value, .. } | Self::Aws(AwsKey { secret: value, .. }) => value.expose(),
        }
    }

    /// Returns the variables of the command.
    pub(super) fn variables(&self, placeholder: &str) -> Vec<(String, String)> {
        let variables = match self {
            Self::Header { variable, .. } => vec![(variable.as_str(), placeholder)],
            Self::Aws(key) => vec![
                ("AWS_ACCESS_KEY_ID", placeholder),
                ("AWS_SECRET_ACCESS_KEY", placeholder),
                ("AWS_REGION", &key.region),
                ("AWS_DEFAULT_REGION", &key.region),
            ],
        };
        variables.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    }
}

/// A secret of one execution.
#[derive(Clone, Debug)]
pub struct Secret {
    /// How it is used.
    pub kind: SecretUse,
    /// The requests that it is bound to. A request must match one of them.
    pub bound: Vec<RequestRule>,
    /// The rules of the profile. If there are any, a request must match one of them, too.
    pub narrowed: Vec<RequestRule>,
}

impl Secret {
    /// Reports whether requests to this target can carry the secret.
    pub(super) fn concerns(&self, target: &Target) -> bool {
        self.bound.iter().any(|rule| rule.concerns_tls(target))
    }

    /// Reports whether this request over TLS may carry the secret.
    pub(super) fn permits(&self, target: &Target, method: &str, path: &str) -> bool {
        let one = |rules: &[RequestRule]| {
            rules.iter().any(|rule| rule.concerns_tls(target) && rule.permits(method, path))
        };
        one(&self.bound) && (self.narrowed.is_empty() || one(&self.narrowed))
    }
}
