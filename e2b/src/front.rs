//! The state that all requests share, and who sends a request.

use std::sync::Arc;

use http::{HeaderMap, header, uri::Authority};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::{
    account::{Account, Accounts},
    config::E2bConfig,
    refusal::{Kind, Refusal},
    registry::Registry,
};

/// The port of E2B's own services in a sandbox. It is the first part of a host name that names a sandbox.
pub(crate) const ENVD_PORT: u16 = 49983;
/// The state that all connections share.
#[derive(Debug)]
pub(crate) struct Front {
    pub(crate) accounts: Accounts,
    pub(crate) registry: Arc<Registry>,
    pub(crate) templates: std::collections::BTreeMap<String, String>,
    /// One permit for each file that is transferred.
    pub(crate) transfers: Arc<Semaphore>,
}

impl Front {
    /// Reads the credentials of every key.
    ///
    /// # Errors
    /// Returns text for a key that cannot be used.
    pub(crate) async fn new(config: &E2bConfig, ending: CancellationToken) -> Result<Arc<Self>, String> {
        Ok(Arc::new(Self {
            accounts: Accounts::new(config).await?,
            registry: Registry::new(config.limits.clone(), ending),
            templates: config.templates.clone(),
            transfers: Arc::new(Semaphore::new(usize::try_from(config.limits.transfers).unwrap_or(1))),
        }))
    }

    /// Returns the account of a request.
    ///
    /// # Errors
    /// If the request has no API key, or a wrong one.
    pub(crate) fn account(&self, headers: &HeaderMap) -> Result<Arc<Account>, Refusal> {
        let key = headers.get("x-api-key").and_then(|value| value.to_str().ok());
        key.and_then(|key| self.accounts.of_key(key)).cloned().ok_or_else(|| {
            Refusal::new(Kind::Unauthenticated, "the header `x-api-key` must be an API key of this server")
        })
    }
}

/// The sandbox and the port that a request names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) port: u16,
    pub(crate) sandbox: String,
}

/// Returns the sandbox that the headers name, or the host: `PORT-SANDBOX.DOMAIN`.
pub(crate) fn target(headers: &HeaderMap, authority: Option<&Authority>) -> Option<Target> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    if let Some(sandbox) = text("e2b-sandbox-id") {
        let port = text("e2b-sandbox-port").map_or(Some(ENVD_PORT), |port| port.parse().ok())?;
        return Some(Target { port, sandbox: sandbox.to_owned() });
    }
    let host = authority.map(Authority::as_str).or_else(|| text(header::HOST.as_str()))?;
    let (label, _) = host.split_once('.')?;
    let (port, sandbox) = label.split_once('-')?;
    Some(Target { port: port.parse().ok()?, sandbox: sandbox.to_owned() })
}
