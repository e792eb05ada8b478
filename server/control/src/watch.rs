//! Watches on many executions: the starts, moves to the background and ends in a tenant or session, read
//! from the store, each exactly once.
//!
//! A watch has no task and reads at its reader's pace. It buffers at most one page of milestones, and reads each record
//! just before delivery. It must not derive events itself: the store has the ordered milestones, and a hint only
//! triggers an earlier read.

mod position;

use std::{collections::VecDeque, sync::Arc, time::Duration};

use airlock_limits::shares::{Full, Share, Shares};
use airlock_store::{
    MilestoneQuery, Store,
    changes::{Changes, TenantWatch},
    record::MilestoneRecord,
};
use futures::{
    StreamExt as _,
    stream::{self, BoxStream},
};
use tokio::time::{Instant, sleep_until};

use self::position::WatchPosition;
use crate::{
    api::{ApiError, WatchEvent, WatchExecutions},
    limits::ServiceLimits,
    model::Principal,
    shared::{Lifecycle, exhausted, no_such_session},
};

/// The events of one watch. It ends only with an error, for example `UNAVAILABLE` when the server stops,
/// and can be dropped at any time.
pub type WatchStream = BoxStream<'static, Result<WatchEvent, ApiError>>;

/// The interval at which the store is read without a hint.
const POLL: Duration = Duration::from_secs(1);
/// The minimum interval between two reads, regardless of hints.
const PAUSE: Duration = Duration::from_millis(100);
/// The number of milestones per read.
const PAGE: u32 = 64;
/// The time after which a watch ends if the store is unavailable.
const AWAY: Duration = Duration::from_secs(30);

/// The watches on executions.
pub struct Watches {
    store: Arc<dyn Store>,
    changes: Changes,
    lifecycle: Lifecycle,
    limits: ServiceLimits,
    open: WatchSlots,
}

struct Watch {
    store: Arc<dyn Store>,
    lifecycle: Lifecycle,
    hint: TenantWatch,
    query: MilestoneQuery,
    /// The position up to which milestones were read.
    seen: WatchPosition,
    /// The position of the last delivered event.
    given: WatchPosition,
    /// The milestones that were read and not delivered yet.
    next: VecDeque<MilestoneRecord>,
    looked: Instant,
    failing_since: Option<Instant>,
    is_new: bool,
    _slot: WatchSlot,
}

impl Watches {
    /// Creates the state without any watch.
    pub(crate) fn new(
        store: Arc<dyn Store>,
        changes: Changes,
        lifecycle: Lifecycle,
        limits: ServiceLimits,
    ) -> Self {
        Self { store, changes, lifecycle, limits, open: WatchSlots::default() }
    }

    /// Streams the starts, moves to the background and ends of the executions of the tenant or of one session. The
    /// first event contains the initial cursor.
    ///
    /// # Errors
    /// `NotFound` for the session, `Invalid` and `CursorOutOfRange` for the cursor, `Exhausted`, `Unavailable`.
    pub async fn open(&self, who: &Principal, request: WatchExecutions) -> Result<WatchStream, ApiError> {
        self.lifecycle.check_running()?;
        if let Some(id) = request.session_id {
            let session = self.store.session(id).await?;
            session.filter(|session| session.tenant == who.tenant).ok_or_else(|| no_such_session(id))?;
        }
        let limits = &self.limits;
        let slot = self.open.take(&who.tenant, limits.watches, limits.watches_per_tenant)?;
        // Subscribe before reading the store, so that no event is missed.
        let hint = self.changes.watch_tenant(&who.tenant);
        let query = MilestoneQuery { tenant: who.tenant.clone(), session_id: request.session_id };
        let now = self.store.milestones(&query, 0, 0).await?;
        let position = match &request.cursor {
            Some(cursor) => WatchPosition::resume(cursor, &now)?,
            None => WatchPosition::latest(&now),
        };
        let watch = Watch {
            store: self.store.clone(),
            lifecycle: self.lifecycle.clone(),
            hint,
            query,
            seen: position,
            given: position,
            next: VecDeque::new(),
            looked: Instant::now(),
            failing_since: None,
            is_new: true,
            _slot: slot,
        };
        let events = stream::unfold(Some(watch), |watch| async move {
            let mut watch = watch?;
            match watch.next().await {
                Ok(event) => Some((Ok(event), Some(watch))),
                Err(error) => Some((Err(error), None)),
            }
        });
        Ok(events.boxed())
    }
}

impl Watch {
    async fn next(&mut self) -> Result<WatchEvent, ApiError> {
        if std::mem::take(&mut self.is_new) {
            return Ok(WatchEvent { cursor: self.given.encode(), what: None });
        }
        loop {
            self.lifecycle.check_running()?;
            match self.step().await {
                Ok(Some(event)) => return Ok(event),
                Ok(None) => self.failing_since = None,
                Err(error @ ApiError::Unavailable { .. }) => {
                    let now = Instant::now();
                    if now >= *self.failing_since.get_or_insert(now) + AWAY {
                        return Err(error);
                    }
                }
                Err(error) => return Err(error),
            }
            if self.next.is_empty() || self.failing_since.is_some() {
                self.wait().await;
            }
        }
    }

    /// Delivers the next event, or reads more milestones if the buffer is empty.
    async fn step(&mut self) -> Result<Option<WatchEvent>, ApiError> {
        let Some(next) = self.next.front().copied() else {
            return self.look().await.map(|()| None);
        };
        let record = self.store.execution(next.execution_id).await?;
        self.next.pop_front();
        self.given.sequence = next.sequence;
        // A record that no longer exists has no event.
        let Some(record) = record else { return Ok(None) };
        self.failing_since = None;
        let what = Some((next.milestone, Box::new(record)));
        Ok(Some(WatchEvent { cursor: self.given.encode(), what }))
    }

    async fn look(&mut self) -> Result<(), ApiError> {
        self.looked = Instant::now();
        let found = self.store.milestones(&self.query, self.seen.sequence, PAGE).await?;
        self.seen.check(&found)?;
        let is_all = found.found.len() < PAGE as usize;
        let last = found.found.last().map(|last| last.sequence);
        self.seen.sequence = if is_all { found.latest } else { last.unwrap_or(found.latest) };
        self.next.extend(found.found);
        Ok(())
    }

    /// Waits for a hint or the poll interval, but keeps the minimum interval between reads.
    async fn wait(&mut self) {
        let stopped = self.lifecycle.stopped();
        tokio::pin!(stopped);
        tokio::select! {
            () = &mut stopped => return,
            () = self.hint.changed() => {}
            () = sleep_until(self.looked + POLL) => return,
        }
        tokio::select! {
            () = stopped => {}
            () = sleep_until(self.looked + PAUSE) => {}
        }
    }
}

/// One watch, counted until it is dropped.
type WatchSlot = Share<String>;

/// The open watches, by tenant.
#[derive(Debug, Clone, Default)]
pub(crate) struct WatchSlots(Shares<String>);

impl WatchSlots {
    /// Registers a watch within both limits.
    ///
    /// # Errors
    /// `Exhausted` with the name of the limit.
    fn take(&self, tenant: &str, at_most: u32, per_tenant: u32) -> Result<WatchSlot, ApiError> {
        let taken = self.0.take(tenant.to_owned(), at_most as usize, per_tenant as usize);
        taken.map_err(|full| match full {
            Full::All => exhausted("watches", u64::from(at_most)),
            Full::Own => exhausted("watches_per_tenant", u64::from(per_tenant)),
        })
    }
}
