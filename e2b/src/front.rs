//! The front: it finds out what a request calls, and who calls it.

use std::sync::Arc;

use http::{HeaderMap, Request, Response, header, uri::Authority};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::{
    account::{Account, Accounts},
    api,
    body::{Body, RequestBody, refused},
    config::E2bConfig,
    envd,
    refusal::{Kind, Refusal},
    registry::Registry,
};

/// The port of E2B's own services in a sandbox. It is the first part of a host name that names a sandbox.
pub(crate) const ENVD_PORT: u16 = 49983;
/// The calls of a sandbox's services for processes and files.
const SERVICES: [&str; 2] = ["process.Process", "filesystem.Filesystem"];
/// The other paths of a sandbox's services.
const PATHS: [&str; 5] = ["files", "health", "init", "envs", "metrics"];

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

    /// Answers a request.
    pub(crate) async fn answer(self: Arc<Self>, request: Request<RequestBody>) -> Response<Body> {
        let path = request.uri().path().to_owned();
        let mut parts = path.split('/').skip(1);
        let first = parts.next().unwrap_or_default();
        let named = target(request.headers(), request.uri().authority());
        match (first, named) {
            (_, Some(Target { port, sandbox })) if port != ENVD_PORT => {
                envd::port(&self, request, sandbox, port).await
            }
            (service, named) if SERVICES.contains(&service) => {
                let method = parts.next().unwrap_or_default().to_owned();
                let service = service.to_owned();
                envd::call(&self, request, named, (&service, &method)).await
            }
            (first, named) if PATHS.contains(&first) => {
                let first = first.to_owned();
                envd::plain(&self, request, named, &first).await
            }
            _ => match self.account(request.headers()) {
                Ok(account) => api::answer(self, account, request).await,
                Err(refusal) => refused(&refusal),
            },
        }
    }

    fn account(&self, headers: &HeaderMap) -> Result<Arc<Account>, Refusal> {
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
fn target(headers: &HeaderMap, authority: Option<&Authority>) -> Option<Target> {
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

#[cfg(test)]
mod tests;
