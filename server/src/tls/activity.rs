//! The activity of a connection: the number of open calls, and the time since the last one.

use std::{
    future::Future as _,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use tokio::time::{Instant, Sleep, sleep_until};

/// The calls of one connection. A cheap handle; all clones share the same state.
#[derive(Debug, Clone)]
pub(crate) struct Activity(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    open: usize,
    /// The time of the latest start or end of a call.
    changed: Instant,
}

/// An open call. It ends on drop.
#[derive(Debug)]
pub(crate) struct OpenCall(Activity);

impl Activity {
    pub(super) fn new() -> Self {
        Self(Arc::new(Mutex::new(State { open: 0, changed: Instant::now() })))
    }

    pub(crate) fn begin(&self) -> OpenCall {
        let mut state = self.lock();
        state.open += 1;
        state.changed = Instant::now();
        OpenCall(self.clone())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for OpenCall {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.open = state.open.saturating_sub(1);
        state.changed = Instant::now();
    }
}

/// Detects a connection that has been idle for too long.
#[derive(Debug)]
pub(super) struct IdleLimit {
    most: Duration,
    activity: Activity,
    timer: Pin<Box<Sleep>>,
}

impl IdleLimit {
    pub(super) fn new(most: Duration, activity: Activity) -> Self {
        Self { most, activity, timer: Box::pin(sleep_until(Instant::now() + most)) }
    }

    /// Reports whether no call has been open for the maximum time. Wakes the task when this may be the case.
    pub(super) fn is_over(&mut self, cx: &mut Context<'_>) -> bool {
        while self.timer.as_mut().poll(cx) == Poll::Ready(()) {
            let now = Instant::now();
            let state = self.activity.lock();
            let until = if state.open > 0 { now + self.most } else { state.changed + self.most };
            drop(state);
            if until <= now {
                return true;
            }
            self.timer.as_mut().reset(until);
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;

    const MOST: Duration = Duration::from_secs(60);

    #[tokio::test(start_paused = true)]
    async fn a_connection_is_idle_once_no_call_was_open_for_so_long() {
        let activity = Activity::new();
        let mut limit = IdleLimit::new(MOST, activity.clone());
        let call = activity.begin();
        tokio::time::sleep(10 * MOST).await;
        assert!(!poll_fn(|cx| Poll::Ready(limit.is_over(cx))).await, "a call is open");
        drop(call);
        let ended = Instant::now();
        poll_fn(|cx| if limit.is_over(cx) { Poll::Ready(()) } else { Poll::Pending }).await;
        assert!(ended.elapsed() >= MOST && ended.elapsed() < 2 * MOST, "{:?}", ended.elapsed());
    }
}
