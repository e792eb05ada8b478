//! One open exchange: its messages, its time limits and its outcome.

use std::{future::Future, sync::Arc};

use airlock_domain::{ExchangeFailure, ExchangeFromRunner, ExchangeOrder, ExchangeToRunner, RunnerId};
use futures::StreamExt as _;
use tokio::{
    sync::mpsc,
    time::{sleep, timeout},
};

use super::{
    account::{Account, RETRY},
    fault::ClientFault,
    limits::ExchangeLimits,
    link::{ExchangeBroken, Incoming, Opened, Violation},
    observe::ExchangeOutcome,
    refusal,
    state::{Exchanges, Inner},
};
use crate::{api::ApiError, model::Principal};

/// The reason code of an exchange in which the client was idle for too long.
const IDLE: &str = "TRANSFER_IDLE";

/// The reason code of a forwarded connection without traffic.
const FORWARD_IDLE: &str = "FORWARD_IDLE";

/// An open exchange with an order. Dropping it ends the exchange.
pub struct Exchange {
    pub(super) inner: Arc<Inner>,
    pub(super) to: mpsc::Sender<ExchangeToRunner>,
    pub(super) from: Incoming,
    pub(super) account: Account,
}

impl Exchange {
    /// Returns the limits of this exchange.
    pub(crate) fn limits(&self) -> &ExchangeLimits {
        &self.inner.limits
    }

    /// Returns the next message of the runner other than a refusal.
    ///
    /// # Errors
    /// The runner's refusal, or `Unavailable` if the runner disconnects or sends nothing in time, or if
    /// the server stops.
    pub(crate) async fn hear(&mut self) -> Result<ExchangeFromRunner, ApiError> {
        let wait = self.inner.limits.exchange_answer_wait;
        tokio::select! {
            biased;
            () = self.inner.cancel.cancelled() => Err(self.stopping()),
            heard = self.from.next() => self.read(heard),
            () = sleep(wait) => Err(self.silent()),
        }
    }

    pub(super) fn read(
        &mut self,
        heard: Option<Result<ExchangeFromRunner, ExchangeBroken>>,
    ) -> Result<ExchangeFromRunner, ApiError> {
        match heard {
            Some(Ok(ExchangeFromRunner::Failed(failed))) => {
                if failed.failure == ExchangeFailure::Internal {
                    tracing::warn!(runner = %self.account.runner, "a runner reported an internal error in an exchange");
                }
                Err(refusal::refused(failed))
            }
            Some(Ok(message)) => Ok(message),
            Some(Err(ExchangeBroken::Unreadable(_))) => Err(self.misbehaved(Violation::Unreadable)),
            Some(Err(ExchangeBroken::Cut(_))) | None => Err(self.cut()),
        }
    }

    /// Runs `work` unless the server stops first.
    pub(crate) async fn until_stopped<T>(&mut self, work: impl Future<Output = T>) -> Result<T, ApiError> {
        tokio::select! {
            biased;
            () = self.inner.cancel.cancelled() => Err(self.stopping()),
            value = work => Ok(value),
        }
    }

    /// Counts transferred bytes.
    pub(crate) fn passed(&mut self, bytes: usize) {
        self.account.passed(bytes as u64);
    }

    /// Records the outcome and returns `result` unchanged. An exchange that is dropped without this call
    /// counts as abandoned by its client.
    pub(crate) fn settled<T>(&mut self, result: Result<T, ApiError>) -> Result<T, ApiError> {
        self.account.settle(match &result {
            Ok(_) => ExchangeOutcome::Done,
            Err(ApiError::ClientStream(ClientFault::Gone)) => ExchangeOutcome::Left,
            Err(ApiError::Unavailable { reason: IDLE | FORWARD_IDLE, .. }) => ExchangeOutcome::Left,
            Err(ApiError::Unavailable { .. }) => ExchangeOutcome::Cut,
            Err(ApiError::Internal(_)) => ExchangeOutcome::Misbehaved,
            Err(_) => ExchangeOutcome::Refused,
        });
        result
    }

    /// Logs a protocol violation of the runner for the operator, and returns an internal error for the
    /// client.
    pub(crate) fn misbehaved(&self, violation: Violation) -> ApiError {
        let (runner, kind) = (&self.account.runner, self.account.kind.name());
        tracing::warn!(%runner, kind, %violation, "a runner violated the protocol of an exchange");
        ApiError::Internal(format!(
            "runner `{runner}` violated the protocol of an exchange ({kind}): {violation}"
        ))
    }

    /// Returns the error for a client that was idle for too long.
    pub(crate) fn idle(&self) -> ApiError {
        let seconds = self.inner.limits.transfer_idle.as_secs();
        let message = format!("no data was sent or received for {seconds} s; {}", self.account.way_on());
        ApiError::Unavailable { reason: IDLE, message, retry_after: RETRY }
    }

    /// Returns the error for a forwarded connection without traffic.
    pub(super) fn forward_idle(&self) -> ApiError {
        let seconds = self.inner.limits.forward_idle.as_secs();
        let message = format!("no byte was transferred for {seconds} s; {}", self.account.way_on());
        ApiError::Unavailable { reason: FORWARD_IDLE, message, retry_after: RETRY }
    }

    pub(super) fn stopping(&self) -> ApiError {
        self.account.stopping()
    }

    pub(super) fn silent(&self) -> ApiError {
        let seconds = self.inner.limits.exchange_answer_wait.as_secs();
        self.account.unreachable(&format!("the runner did not respond for {seconds} s"))
    }

    pub(super) fn cut(&self) -> ApiError {
        self.account.unreachable("the connection to the runner was lost")
    }
}

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
