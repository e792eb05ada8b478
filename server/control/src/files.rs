//! File operations: each runs as an exchange with the session's runner, and the runner's response is checked
//! against the request. The services authorize the caller.

mod lists;
mod page;
mod quarantine;
mod transfer;

use airlock_domain::{
    BoundFile, EditPreview, ExchangeFromRunner, ExchangeOrder, FileInfo, Grant, RunnerId, SessionId,
};

use self::page::can_be;
use crate::{
    api::ApiError,
    approval::FileLook,
    exchange::{Exchanges, Violation},
    model::Principal,
};

pub use lists::{Entry, Listed, diff, list};
pub use quarantine::{list_quarantine, quarantined, restore_quarantine};
pub use transfer::{Download, DownloadPart, Parts, download, upload};

pub use page::TOKEN_BYTES;
pub use quarantine::ID_BYTES as QUARANTINE_ID_BYTES;

/// Describes one file. Dropping the future ends the exchange. This applies to all functions of this module.
///
/// # Errors
/// Returns the runner's refusal, `Exhausted` or `Unavailable`.
pub async fn stat(
    exchanges: &Exchanges,
    who: &Principal,
    runner: &RunnerId,
    session_id: SessionId,
    path: Vec<u8>,
) -> Result<FileInfo, ApiError> {
    let order = ExchangeOrder::Stat { session_id, path };
    let mut exchange = exchanges.open(who, runner, order).await?;
    let found = match exchange.hear().await {
        Ok(ExchangeFromRunner::File(info)) if can_be(&info) => Ok(info),
        Ok(ExchangeFromRunner::File(_)) => Err(exchange.misbehaved(Violation::BadEntry)),
        Ok(_) => Err(exchange.misbehaved(Violation::WrongKind)),
        Err(error) => Err(error),
    };
    exchange.settled(found)
}

#[async_trait::async_trait]
impl FileLook for Exchanges {
    async fn look(
        &self,
        tenant: &str,
        runner: &RunnerId,
        session_id: SessionId,
        paths: Vec<Vec<u8>>,
    ) -> Result<Vec<BoundFile>, ApiError> {
        let who = server_itself(tenant);
        let order = ExchangeOrder::Digests { session_id, paths: paths.clone() };
        let mut exchange = self.open(&who, runner, order).await?;
        let found = match exchange.hear().await {
            Ok(ExchangeFromRunner::Digests(files)) if files.iter().map(|file| &file.path).eq(&paths) => {
                Ok(files)
            }
            Ok(ExchangeFromRunner::Digests(_)) => Err(exchange.misbehaved(Violation::BadEntry)),
            Ok(_) => Err(exchange.misbehaved(Violation::WrongKind)),
            Err(error) => Err(error),
        };
        exchange.settled(found)
    }

    async fn preview(&self, tenant: &str, runner: &RunnerId, grant: Grant) -> Result<EditPreview, ApiError> {
        let edit = grant.decided.edit.clone();
        let order = ExchangeOrder::Preview(Box::new(grant));
        let mut exchange = self.open(&server_itself(tenant), runner, order).await?;
        let found = match exchange.hear().await {
            Ok(ExchangeFromRunner::Previewed(preview)) if edit.is_some_and(|edit| preview.is_of(&edit)) => {
                Ok(preview)
            }
            Ok(ExchangeFromRunner::Previewed(_)) => Err(exchange.misbehaved(Violation::BadEntry)),
            Ok(_) => Err(exchange.misbehaved(Violation::WrongKind)),
            Err(error) => Err(error),
        };
        exchange.settled(found)
    }
}

/// Returns the server itself as the caller of an exchange, which counts towards the tenant's limit.
fn server_itself(tenant: &str) -> Principal {
    Principal {
        name: "airlock".to_owned(),
        tenant: tenant.to_owned(),
        roles: Vec::new(),
        profiles: Vec::new(),
        peer: String::new(),
    }
}
