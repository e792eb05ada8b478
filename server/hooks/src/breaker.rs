//! The breaker of a hook: after several consecutive failures, the hook is not called for a while. Then one call tries it.
//!
//! A state machine without I/O. The caller passes the time.

use std::time::Duration;

use tokio::time::Instant;

/// The state of a breaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BreakerState {
    /// The hook is called.
    Closed,
    /// One call tries the hook.
    HalfOpen,
    /// The hook is not called.
    Open,
}

impl BreakerState {
    /// Returns the stable name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::HalfOpen => "half_open",
            Self::Open => "open",
        }
    }
}

/// The breaker.
#[derive(Debug)]
pub(crate) struct Breaker {
    limit: u32,
    wait: Duration,
    failures: u32,
    /// The end of the time without calls. `None`: closed.
    until: Option<Instant>,
    /// The call that tries the hook has not ended.
    is_tried: bool,
}

/// A permitted call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Admission {
    /// The breaker is closed.
    Usual,
    /// The call tries the hook.
    Trial,
}

impl Breaker {
    /// Creates a closed breaker that opens after `limit` consecutive failures, for `wait`.
    pub(crate) fn new(limit: u32, wait: Duration) -> Self {
        Self { limit, wait, failures: 0, until: None, is_tried: false }
    }

    pub(crate) fn state(&self) -> BreakerState {
        match self.until {
            None => BreakerState::Closed,
            Some(_) if self.is_tried => BreakerState::HalfOpen,
            Some(_) => BreakerState::Open,
        }
    }

    /// The number of consecutive failures.
    pub(crate) fn failures(&self) -> u32 {
        self.failures
    }

    /// Reports whether a call is refused now.
    pub(crate) fn refuses(&self, now: Instant) -> bool {
        self.until.is_some_and(|until| self.is_tried || now < until)
    }

    /// Permits a call, whose end must be reported, or refuses it.
    pub(crate) fn admit(&mut self, now: Instant) -> Option<Admission> {
        if self.refuses(now) {
            return None;
        }
        if self.until.is_none() {
            return Some(Admission::Usual);
        }
        self.is_tried = true;
        Some(Admission::Trial)
    }

    /// The hook answered.
    pub(crate) fn succeeded(&mut self, admission: Admission) {
        // A call from before the opening says nothing about the hook now.
        if admission == Admission::Trial || self.until.is_none() {
            self.failures = 0;
            self.until = None;
            self.is_tried = false;
        }
    }

    /// The call failed.
    pub(crate) fn failed(&mut self, admission: Admission, now: Instant) {
        self.failures = self.failures.saturating_add(1);
        let is_trial = admission == Admission::Trial;
        if is_trial || (self.until.is_none() && self.failures >= self.limit) {
            self.until = Some(now + self.wait);
            self.is_tried = false;
        }
    }

    /// The call was cancelled before its end.
    pub(crate) fn cancelled(&mut self, admission: Admission) {
        if admission == Admission::Trial {
            self.is_tried = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAIT: Duration = Duration::from_secs(10);

    fn opened(now: Instant) -> Breaker {
        let mut breaker = Breaker::new(3, WAIT);
        for _ in 0..3 {
            let admission = breaker.admit(now).unwrap();
            breaker.failed(admission, now);
        }
        assert_eq!(breaker.state(), BreakerState::Open);
        breaker
    }

    #[test]
    fn it_opens_after_consecutive_failures_only() {
        let now = Instant::now();
        let mut breaker = Breaker::new(3, WAIT);
        for _ in 0..5 {
            for _ in 0..2 {
                let admission = breaker.admit(now).unwrap();
                breaker.failed(admission, now);
            }
            let admission = breaker.admit(now).unwrap();
            breaker.succeeded(admission);
            assert_eq!((breaker.state(), breaker.failures()), (BreakerState::Closed, 0));
        }
        assert!(opened(now).admit(now).is_none());
    }

    #[test]
    fn one_call_tries_the_hook_after_the_wait() {
        let now = Instant::now();
        let mut breaker = opened(now);
        assert!(breaker.admit(now + WAIT - Duration::from_millis(1)).is_none());
        let later = now + WAIT;
        assert_eq!(breaker.admit(later), Some(Admission::Trial));
        assert_eq!((breaker.state(), breaker.admit(later)), (BreakerState::HalfOpen, None));
        breaker.failed(Admission::Trial, later);
        assert_eq!((breaker.state(), breaker.admit(later)), (BreakerState::Open, None));
        assert_eq!(breaker.admit(later + WAIT), Some(Admission::Trial));
        breaker.succeeded(Admission::Trial);
        assert_eq!(breaker.admit(later + WAIT), Some(Admission::Usual));
    }

    #[test]
    fn a_cancelled_trial_is_repeated_and_calls_from_before_do_not_count() {
        let now = Instant::now();
        let mut breaker = opened(now);
        let later = now + WAIT;
        assert_eq!(breaker.admit(later), Some(Admission::Trial));
        breaker.succeeded(Admission::Usual);
        breaker.failed(Admission::Usual, later);
        assert_eq!(breaker.state(), BreakerState::HalfOpen);
        breaker.cancelled(Admission::Usual);
        assert!(breaker.admit(later).is_none());
        breaker.cancelled(Admission::Trial);
        assert_eq!(breaker.admit(later), Some(Admission::Trial));
    }
}
