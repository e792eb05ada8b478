//! The part of a runner's link that the exchanges use. It only requests new exchange streams; the messages of
//! an exchange do not pass through it.

use airlock_domain::RunnerId;
use airlock_output::stream::LinkUnavailable;

/// The part of a runner's link that the exchanges use. The links implement it.
#[async_trait::async_trait]
pub trait ExchangeLink: Send + Sync {
    /// Asks the runner to open an `Exchange` stream with `ticket`. Returns after the request is sent;
    /// the caller waits for the stream.
    ///
    /// # Errors
    /// See [`LinkUnavailable`].
    async fn open_exchange(&self, runner: &RunnerId, ticket: &str) -> Result<(), LinkUnavailable>;
}
