//! Requests the digests of the files that a command would run from the session's runner.

use airlock_domain::{BoundFile, ExchangeFromRunner, ExchangeOrder, RunnerId, SessionId};

use crate::{
    api::ApiError,
    approval::FileLook,
    exchange::{Exchanges, Violation},
    model::Principal,
};

#[async_trait::async_trait]
impl FileLook for Exchanges {
    async fn look(
        &self,
        tenant: &str,
        runner: &RunnerId,
        session_id: SessionId,
        paths: Vec<Vec<u8>>,
    ) -> Result<Vec<BoundFile>, ApiError> {
        // The server itself is the caller, but the exchange counts towards the tenant's limit.
        let who = Principal {
            name: "airlock".to_owned(),
            tenant: tenant.to_owned(),
            roles: Vec::new(),
            profiles: Vec::new(),
            peer: String::new(),
        };
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
}
