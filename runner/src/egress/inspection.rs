//! The inspection of TLS for one execution: the rules of its profile, and the secrets of the runner's configuration.
//!
//! Only the runner reads a secret. A grant names secrets, and can limit them further, but it contains no value, and it
//! cannot bind a secret to another host. Must not log a value.

use std::{
    collections::BTreeMap,
    fmt, io,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use airlock_domain::Inspection as Asked;
use airlock_egress::{
    AwsKey, HeaderName, Inspection, InspectionError, Secret, SecretUse, SecretValue, Trust, TrustError,
};
use airlock_network::{RequestRule, RequestRuleError};
use airlock_sandbox::INSIDE_CERTIFICATES;
use airlock_vault::AddressError;
use futures::future::try_join_all;
use rustls::pki_types::{CertificateDer, pem::PemObject};
use tokio::runtime::Handle;

use super::source::Sources;
use crate::config::{AwsConfig, BoundSecret, EgressConfig};

/// The variables by which programs find certificate authorities. Each replaces the program's own list, except that of
/// Node.js.
const TRUST_VARIABLES: [&str; 8] = [
    "SSL_CERT_FILE",
    "CURL_CA_BUNDLE",
    "REQUESTS_CA_BUNDLE",
    "PIP_CERT",
    "NODE_EXTRA_CA_CERTS",
    "CARGO_HTTP_CAINFO",
    "GIT_SSL_CAINFO",
    "AWS_CA_BUNDLE",
];

/// The failure to prepare an inspection. It contains no secret.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InspectError {
    #[error("the inspection of TLS cannot be set up: {0}")]
    Inspection(#[from] InspectionError),
    #[error("no inspected host can be verified: {0}")]
    Trust(#[from] TrustError),
    #[error("`egress.ca` cannot be read: {0}")]
    Ca(io::Error),
    #[error("the secret `{name}` of `egress.secrets` {what}")]
    Secret { name: String, what: String },
    #[error("the command was ended before its secrets were read")]
    Ended,
    #[error("this runner has no secret `{0}`; add it to `egress.secrets` of the runner's configuration")]
    Unknown(String),
    #[error("a rule of `network.inspect` or `network.secrets` is not valid: {0}")]
    Rule(#[from] RequestRuleError),
}

impl InspectError {
    /// Returns the step of the start that failed, and the remedy.
    pub(crate) fn step_and_hint(&self) -> (&'static str, &'static str) {
        match self {
            Self::Secret { .. } | Self::Ended => {
                ("secrets", "provide the value to the runner, and check it with `airlock-runner doctor`")
            }
            Self::Inspection(_) | Self::Trust(_) | Self::Ca(_) | Self::Unknown(_) | Self::Rule(_) => {
                ("inspection", "correct `egress` of the runner's configuration, or `network` of the profile")
            }
        }
    }
}

/// Prepares inspections with the runner's configuration.
pub(crate) struct Inspector {
    config: EgressConfig,
    sources: Sources,
    /// Read at the first use.
    trust: Mutex<Option<Arc<Trust>>>,
}

impl fmt::Debug for Inspector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Inspector")
    }
}

impl Inspector {
    /// Prepares the sources of the secrets. Reads nothing.
    ///
    /// # Errors
    /// If the address of Vault is not usable.
    pub(super) fn new(config: EgressConfig) -> Result<Self, AddressError> {
        Ok(Self { sources: Sources::new(&config)?, config, trust: Mutex::new(None) })
    }

    /// Returns the inspection that a profile asks for. Blocks until every secret is read, or `ended` completes. `None`:
    /// it asks for none.
    ///
    /// # Errors
    /// See [`InspectError`].
    ///
    /// # Panics
    /// Inside a future, or outside a tokio runtime.
    pub(super) fn inspection(
        &self,
        asked: &Asked,
        ended: impl Future<Output = ()>,
    ) -> Result<Option<Arc<Inspection>>, InspectError> {
        if asked.is_none() {
            return Ok(None);
        }
        let named = named(asked, &self.config)?;
        let values = self.values(&named, ended)?;
        let secrets = named.into_iter().zip(values);
        let secrets = secrets.map(|((name, (bound, narrowed)), value)| secret(name, bound, narrowed, value));
        let inspection =
            Inspection::new(self.trust()?, rules(&asked.requests)?, secrets.collect::<Result<_, _>>()?)?;
        Ok(Some(Arc::new(inspection)))
    }

    /// Reads the values of these secrets at the same time. Blocks.
    fn values(
        &self,
        named: &Named<'_>,
        ended: impl Future<Output = ()>,
    ) -> Result<Vec<SecretValue>, InspectError> {
        if named.is_empty() {
            return Ok(Vec::new());
        }
        let reads = named.iter().map(|(name, (bound, _))| async move {
            let value = self.sources.read(bound).await;
            value.map_err(|what| InspectError::Secret { name: (*name).to_owned(), what })
        });
        Handle::current().block_on(async {
            tokio::select! {
                biased;
                () = ended => Err(InspectError::Ended),
                values = try_join_all(reads) => values,
            }
        })
    }

    fn trust(&self) -> Result<Arc<Trust>, InspectError> {
        let mut trust = self.trust.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(trust) = &*trust {
            return Ok(Arc::clone(trust));
        }
        let more = self.config.ca.as_deref().map(authorities).transpose()?;
        let made = Arc::new(Trust::of_system(more.unwrap_or_default())?);
        *trust = Some(Arc::clone(&made));
        Ok(made)
    }
}

/// Checks the rules of a profile's inspection, and that the runner's configuration contains its secrets. Reads no file.
///
/// # Errors
/// If a rule is not valid, or a secret is unknown.
pub(crate) fn check(asked: &Asked, config: &EgressConfig) -> Result<(), InspectError> {
    rules(&asked.requests)?;
    named(asked, config).map(|_| ())
}

/// Returns the variables that announce the authorities to programs.
pub(super) fn trust_variables() -> impl Iterator<Item = (String, String)> {
    TRUST_VARIABLES.into_iter().map(|name| (name.to_owned(), INSIDE_CERTIFICATES.to_owned()))
}

type Named<'a> = BTreeMap<&'a str, (&'a BoundSecret, Vec<RequestRule>)>;

/// Returns the secrets that a profile names, with the requests to which it limits each. A secret that is named without
/// requests and with requests is limited.
fn named<'a>(asked: &'a Asked, config: &'a EgressConfig) -> Result<Named<'a>, InspectError> {
    let mut found = Named::new();
    for entry in &asked.secrets {
        let (name, limit) = entry.split_once(' ').unwrap_or((entry, ""));
        let unknown = || InspectError::Unknown(name.escape_debug().to_string());
        let bound = config.secrets.get(name).ok_or_else(unknown)?;
        let (_, limits) = found.entry(name).or_insert_with(|| (bound, Vec::new()));
        if !limit.is_empty() {
            limits.push(RequestRule::parse(limit)?);
        }
    }
    Ok(found)
}

fn rules(texts: &[String]) -> Result<Vec<RequestRule>, RequestRuleError> {
    texts.iter().map(|text| RequestRule::parse(text)).collect()
}

fn secret(
    name: &str,
    bound: &BoundSecret,
    narrowed: Vec<RequestRule>,
    value: SecretValue,
) -> Result<Secret, InspectError> {
    let failed = |what: String| InspectError::Secret { name: name.to_owned(), what };
    let kind = match &bound.aws {
        Some(AwsConfig { access_key_id, region, service }) => SecretUse::Aws(AwsKey {
            access_key_id: access_key_id.clone(),
            secret: value,
            region: region.clone(),
            service: service.clone(),
        }),
        None => {
            let header = HeaderName::from_bytes(bound.header.as_bytes());
            let header = header.map_err(|_| failed("has a header that is not valid".to_owned()))?;
            let variable = bound.variable.clone().unwrap_or_else(|| name.to_owned());
            SecretUse::Header { header, variable, value }
        }
    };
    Ok(Secret { kind, bound: rules(&bound.requests)?, narrowed })
}

fn authorities(file: &Path) -> Result<Vec<CertificateDer<'static>>, InspectError> {
    let invalid = |error| InspectError::Ca(io::Error::other(error));
    CertificateDer::pem_file_iter(file).and_then(Iterator::collect).map_err(invalid)
}
