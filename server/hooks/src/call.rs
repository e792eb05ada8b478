//! The calls of one method of a hook: their limit, their turns and their breaker.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use airlock_control::hooks::HookReply;
use airlock_domain::HookOutcome;
use airlock_limits::slots::{Slot, Slots};
use tokio::time::{Instant, timeout_at};

use crate::{
    breaker::{Admission, Breaker, BreakerState},
    options::{HookObserver, HookOptions, Method},
};

/// The calls of one method.
pub(crate) struct Lane {
    hook: String,
    method: Method,
    slots: Slots,
    breaker: Mutex<Breaker>,
    observer: Arc<dyn HookObserver>,
}

/// A permitted call. Dropping it without an end cancels the call.
pub(crate) struct Call<'a> {
    lane: &'a Lane,
    admission: Option<Admission>,
    _slot: Slot,
}

impl Lane {
    pub(crate) fn new(
        hook: &str,
        method: Method,
        options: &HookOptions,
        observer: Arc<dyn HookObserver>,
    ) -> Self {
        observer.breaker(hook, method, BreakerState::Closed);
        Self {
            hook: hook.to_owned(),
            method,
            slots: Slots::new(options.in_flight),
            breaker: Mutex::new(Breaker::new(options.breaker_failures, options.breaker_wait)),
            observer,
        }
    }

    /// Waits for the turn of a call of this tenant, until the deadline at most.
    ///
    /// # Errors
    /// The breaker is open, or the turn did not come in time.
    pub(crate) async fn begin(&self, tenant: &str, deadline: Instant) -> Result<Call<'_>, HookReply> {
        // A question does not wait for its turn only to be refused.
        if self.breaker().refuses(Instant::now()) {
            return Err(self.refusal());
        }
        let Ok(Ok(slot)) = timeout_at(deadline, self.slots.take(tenant)).await else {
            let reason = "too many calls to the hook were in progress until the deadline".to_owned();
            return Err(HookReply { outcome: HookOutcome::Busy, reason });
        };
        let admission =
            self.changing(|breaker| breaker.admit(Instant::now())).ok_or_else(|| self.refusal())?;
        Ok(Call { lane: self, admission: Some(admission), _slot: slot })
    }

    /// Records the end of a call, or that it was refused.
    pub(crate) fn observe(&self, outcome: HookOutcome, time: Duration) {
        self.observer.called(&self.hook, self.method, outcome, time);
    }

    fn refusal(&self) -> HookReply {
        let failures = self.breaker().failures();
        let reason = format!("the hook was not called, because {failures} calls in a row failed");
        HookReply { outcome: HookOutcome::Unavailable, reason }
    }

    /// Changes the breaker, and reports a new state.
    fn changing<T>(&self, change: impl FnOnce(&mut Breaker) -> T) -> T {
        let mut breaker = self.breaker();
        let before = breaker.state();
        let result = change(&mut breaker);
        let after = breaker.state();
        // Reported under the lock, so that reports are in order.
        if before != after {
            self.observer.breaker(&self.hook, self.method, after);
            let (hook, method, state) = (&self.hook, self.method.name(), after.name());
            match after {
                BreakerState::Open => tracing::warn!(hook, method, "the breaker of a hook is open"),
                BreakerState::Closed | BreakerState::HalfOpen => {
                    tracing::info!(hook, method, state, "the breaker of a hook has changed");
                }
            }
        }
        result
    }

    fn breaker(&self) -> MutexGuard<'_, Breaker> {
        self.breaker.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Call<'_> {
    /// The hook responded, whatever its response is.
    pub(crate) fn succeeded(mut self) {
        if let Some(admission) = self.admission.take() {
            self.lane.changing(|breaker| breaker.succeeded(admission));
        }
    }

    /// The call failed. Returns whether the breaker is open now.
    pub(crate) fn failed(mut self) -> bool {
        let Some(admission) = self.admission.take() else { return false };
        self.lane.changing(|breaker| {
            breaker.failed(admission, Instant::now());
            breaker.state() == BreakerState::Open
        })
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        if let Some(admission) = self.admission.take() {
            self.lane.changing(|breaker| breaker.cancelled(admission));
        }
    }
}
