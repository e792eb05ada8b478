//! The accounting of one exchange: its slot, its observation and the record of its end.

use std::{sync::Arc, time::Duration};

use airlock_domain::{ExchangeOrder, ExecutionId, RunnerId, SessionId};

use super::{
    limits::ExchangeSlot,
    observe::{ExchangeKind, ExchangeOutcome},
    state::Inner,
};
use crate::{api::ApiError, model::Principal};

/// The retry delay for clients after a failed exchange.
pub(super) const RETRY: Duration = Duration::from_secs(1);

/// The accounting of one exchange: its slot, and the data of its final log line.
pub(super) struct Account {
    inner: Arc<Inner>,
    pub(super) kind: ExchangeKind,
    pub(super) runner: RunnerId,
    subject: Subject,
    tenant: String,
    principal: String,
    outcome: ExchangeOutcome,
    bytes: u64,
    _slot: ExchangeSlot,
}

/// The session or execution that the exchange is about.
enum Subject {
    Session(SessionId),
    Execution(ExecutionId),
}

impl Account {
    pub(super) fn open(
        inner: &Arc<Inner>,
        who: &Principal,
        runner: &RunnerId,
        order: &ExchangeOrder,
    ) -> Result<Self, ApiError> {
        let slot = inner.slots.take(&who.tenant, order, &inner.limits)?;
        let kind = ExchangeKind::from(order);
        inner.observer.exchange_opened(kind);
        Ok(Self {
            inner: inner.clone(),
            kind,
            runner: runner.clone(),
            subject: Subject::of(order),
            tenant: who.tenant.clone(),
            principal: who.name.clone(),
            outcome: ExchangeOutcome::Left,
            bytes: 0,
            _slot: slot,
        })
    }

    pub(super) fn passed(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_add(bytes);
        self.inner.observer.exchange_bytes(self.kind, bytes);
    }

    pub(super) fn settle(&mut self, outcome: ExchangeOutcome) {
        self.outcome = outcome;
    }

    /// Returns the error for a runner that cannot be reached now.
    pub(super) fn unreachable(&self, problem: &str) -> ApiError {
        let message = format!("{problem}; {}", self.way_on());
        ApiError::Unavailable { reason: "RUNNER_UNREACHABLE", message, retry_after: RETRY }
    }

    pub(super) fn stopping(&self) -> ApiError {
        let message = format!("the server is shutting down; {}", self.way_on());
        ApiError::Unavailable { reason: "SHUTTING_DOWN", message, retry_after: RETRY }
    }

    /// Returns how the client can continue or retry.
    pub(super) fn way_on(&self) -> &'static str {
        match self.kind {
            ExchangeKind::Upload | ExchangeKind::Download => "continue with the same transfer_id",
            ExchangeKind::Stdin => "continue from the accepted offset",
            ExchangeKind::Forward => "connect again",
            ExchangeKind::Stat
            | ExchangeKind::List
            | ExchangeKind::Diff
            | ExchangeKind::Quarantine
            | ExchangeKind::Restore
            | ExchangeKind::Digests
            | ExchangeKind::Preview => "try again",
        }
    }

    /// Logs one line per transfer. The audit records forwarded connections, and no other transfers.
    fn log(&self) {
        if !self.kind.is_transfer() {
            return;
        }
        let (session, execution) = match self.subject {
            Subject::Session(id) => (Some(id.to_string()), None),
            Subject::Execution(id) => (None, Some(id.to_string())),
        };
        tracing::info!(
            session,
            execution,
            tenant = self.tenant,
            principal = self.principal,
            runner = %self.runner,
            kind = self.kind.name(),
            outcome = self.outcome.name(),
            bytes = self.bytes,
            "a transfer has ended"
        );
    }
}

impl Subject {
    fn of(order: &ExchangeOrder) -> Self {
        match order {
            ExchangeOrder::Upload(order) => Self::Session(order.session_id),
            ExchangeOrder::Download(order) => Self::Session(order.session_id),
            ExchangeOrder::Stat { session_id, .. }
            | ExchangeOrder::Restore { session_id, .. }
            | ExchangeOrder::Forward { session_id, .. }
            | ExchangeOrder::Digests { session_id, .. } => Self::Session(*session_id),
            ExchangeOrder::Preview(grant) => Self::Session(grant.session_id),
            ExchangeOrder::Quarantine(order) => Self::Session(order.session_id),
            ExchangeOrder::List(order) => Self::Session(order.session_id),
            ExchangeOrder::Diff(order) => Self::Session(order.session_id),
            ExchangeOrder::Stdin { execution_id, .. } => Self::Execution(*execution_id),
        }
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        self.inner.observer.exchange_ended(self.kind, self.outcome);
        self.log();
    }
}
