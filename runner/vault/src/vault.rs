//! A Vault server: reads values, keeps them for a while, and reports its health.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::time;
use zeroize::Zeroizing;

use crate::{
    answer::{self, Fetched, HealthAnswer},
    api::{Answer, Api, Ask},
    error::VaultError,
    kept::Slot,
    login::{Login, Token},
    settings::{Place, Settings},
};

/// The request for the health of a server. A server that only forwards requests is healthy, too.
const HEALTH: &str = "/v1/sys/health?standbyok=true&perfstandbyok=true";

/// A Vault server.
pub struct Vault {
    api: Api,
    login: Login,
    /// One slot for each place of the configuration.
    slots: Mutex<BTreeMap<Place, Arc<Slot>>>,
}

/// The state of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    /// Its version.
    pub version: String,
}

impl fmt::Debug for Vault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Vault").field("api", &self.api).finish_non_exhaustive()
    }
}

impl Vault {
    /// Creates a client. It connects when a value is read.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self { api: Api::new(settings), login: Login::default(), slots: Mutex::default() }
    }

    /// Returns a value. It is read unless it is kept, and read again before its time ends. If the server fails
    /// meanwhile, the kept value is used until its time ends.
    ///
    /// The wait is at most the timeout of the settings. Dropping the future ends the request.
    ///
    /// # Errors
    /// See [`VaultError`].
    pub async fn read(&self, place: &Place) -> Result<Zeroizing<String>, VaultError> {
        let slot = self.slot(place);
        if let Some(value) = slot.fresh() {
            return Ok(value);
        }
        let Settings { timeout, cache, .. } = *self.api.settings();
        let read = async {
            let _turn = slot.turn.lock().await;
            if let Some(value) = slot.fresh() {
                return Ok(value);
            }
            let Fetched { value, lease } = self.fetch(place).await?;
            slot.keep(&value, lease.map_or(cache, |lease| lease.min(cache)));
            Ok(value)
        };
        let error = match time::timeout(timeout, read).await {
            Ok(Ok(value)) => return Ok(value),
            Ok(Err(error)) => error,
            Err(_) => VaultError::Late(timeout),
        };
        if !error.may_pass() {
            slot.clear();
            return Err(error);
        }
        match slot.running() {
            Some(kept) => {
                tracing::warn!(%error, "a secret cannot be read again from Vault; its kept value is used");
                Ok(kept)
            }
            None => Err(error),
        }
    }

    /// Returns the state of the server. It sends no token.
    ///
    /// # Errors
    /// If the server cannot be reached, is sealed, or is not a Vault server.
    pub async fn health(&self) -> Result<Health, VaultError> {
        let timeout = self.api.settings().timeout;
        let ask = self.api.ask(Ask { path: HEALTH, token: None, body: None, is_in_namespace: false });
        let Answer { status, body } =
            time::timeout(timeout, ask).await.map_err(|_| VaultError::Late(timeout))??;
        match status.as_u16() {
            200 => {}
            status @ (429 | 500..600) => return Err(VaultError::Unavailable(status)),
            status => return Err(VaultError::Status(status)),
        }
        let HealthAnswer { sealed, version } = answer::parse(&body)?;
        if sealed { Err(VaultError::Unavailable(status.as_u16())) } else { Ok(Health { version }) }
    }

    fn slot(&self, place: &Place) -> Arc<Slot> {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(slots.entry(place.clone()).or_default())
    }

    /// Reads a value. If the server refuses the token, it tries once with another one.
    async fn fetch(&self, place: &Place) -> Result<Fetched, VaultError> {
        let token = self.login.token(&self.api, None).await?;
        match self.get(place, &token).await {
            Err(VaultError::Forbidden) => {
                let other = self.login.token(&self.api, Some(&token)).await?;
                self.get(place, &other).await
            }
            other => other,
        }
    }

    async fn get(&self, place: &Place, token: &Token) -> Result<Fetched, VaultError> {
        let ask = Ask { path: place.path(), token: Some(token.as_str()), body: None, is_in_namespace: true };
        let Answer { status, body } = self.api.ask(ask).await?;
        match status.as_u16() {
            200 => answer::value(&body, place),
            403 => Err(VaultError::Forbidden),
            404 => Err(VaultError::NotFound),
            status @ (412 | 429 | 500..600) => Err(VaultError::Unavailable(status)),
            status => Err(VaultError::Status(status)),
        }
    }
}
