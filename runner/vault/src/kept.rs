//! A kept value, and the time for which it may be used.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;
use zeroize::Zeroizing;

/// A time that ends, and the earlier moment from which on a successor is requested.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lifetime {
    /// `None`: it does not end.
    ends: Option<(Instant, Instant)>,
}

impl Lifetime {
    /// Begins a time now. A successor is requested after two thirds of it.
    pub(crate) fn new(length: Option<Duration>) -> Self {
        let ends = length.and_then(|length| {
            let now = Instant::now();
            Some((now.checked_add(length / 3 * 2)?, now.checked_add(length)?))
        });
        Self { ends }
    }

    /// Reports whether no successor is needed.
    pub(crate) fn is_fresh(self) -> bool {
        self.ends.is_none_or(|(renew, _)| Instant::now() < renew)
    }

    /// Reports whether the time has not ended.
    pub(crate) fn is_running(self) -> bool {
        self.ends.is_none_or(|(_, end)| Instant::now() < end)
    }
}

/// The value of one place. It has no `Debug` form.
#[derive(Default)]
pub(crate) struct Slot {
    kept: Mutex<Option<(Zeroizing<String>, Lifetime)>>,
    /// Held by the call that reads the value. Others wait for its result.
    pub(crate) turn: tokio::sync::Mutex<()>,
}

impl Slot {
    /// Returns the value, if it need not be read again.
    pub(crate) fn fresh(&self) -> Option<Zeroizing<String>> {
        self.value(Lifetime::is_fresh)
    }

    /// Returns the value, if its time has not ended.
    pub(crate) fn running(&self) -> Option<Zeroizing<String>> {
        self.value(Lifetime::is_running)
    }

    /// Keeps a value for this time.
    pub(crate) fn keep(&self, value: &Zeroizing<String>, time: Duration) {
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) =
            Some((value.clone(), Lifetime::new(Some(time))));
    }

    /// Drops the value.
    pub(crate) fn clear(&self) {
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn value(&self, is_usable: impl FnOnce(Lifetime) -> bool) -> Option<Zeroizing<String>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.as_ref().filter(|(_, time)| is_usable(*time)).map(|(value, _)| value.clone())
    }
}
