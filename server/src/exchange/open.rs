//! The start of an exchange: count it, request it, and wait for the runner.

use airlock_domain::{ExchangeOrder, ExchangeToRunner, RunnerId};
use tokio::time::timeout;

use super::{
    account::Account,
    messages::Opened,
    observe::ExchangeOutcome,
    running::Exchange,
    state::{Exchanges, Inner},
};
use crate::{api::ApiError, model::Principal};

impl Exchanges {
    /// Opens an exchange with a runner and sends the order. Dropping the future cancels the request.
    ///
    /// # Errors
    /// `Exhausted` if too many exchanges are open; `Unavailable` if the runner cannot be reached or does
    /// not connect in time, or if the server stops.
    pub(crate) async fn open(
        &self,
        who: &Principal,
        runner: &RunnerId,
        order: ExchangeOrder,
    ) -> Result<Exchange, ApiError> {
        let inner = &self.inner;
        let mut account = Account::open(inner, who, runner, &order)?;
        let opened = tokio::select! {
            biased;
            () = inner.cancel.cancelled() => Err(account.stopping()),
            opened = inner.ask(&account) => opened,
        };
        let Opened { from, to } = opened.inspect_err(|_| account.settle(ExchangeOutcome::Cut))?;
        // The channel is empty and has room. The send fails only if the runner has disconnected; the
        // next read reports that.
        drop(to.try_send(ExchangeToRunner::Order(order)));
        Ok(Exchange { inner: inner.clone(), to, from, account })
    }
}

impl Inner {
    async fn ask(&self, account: &Account) -> Result<Opened, ApiError> {
        let (ticket, opened) = self.tickets.issue((), account.runner.clone());
        let asked = self.link.open_exchange(&account.runner, ticket.text()).await;
        asked.map_err(|error| account.unreachable(&error.to_string()))?;
        match timeout(self.limits.exchange_open_wait, opened).await {
            Ok(Ok(opened)) => Ok(opened),
            Ok(Err(_)) | Err(_) => Err(account.unreachable("the runner did not open an exchange in time")),
        }
    }
}
