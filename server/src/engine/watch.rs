//! Watches on many executions: the starts, moves to the background and ends in a tenant or session, read
//! from the store, each exactly once.
//!
//! A watch has no task and reads at its reader's pace. It buffers at most one page of milestones, and reads
//! each record just before delivery. It must not decide what happened: the store has the ordered
//! milestones, and a hint only triggers an earlier read.

mod place;
mod room;

use std::{collections::VecDeque, sync::Arc, time::Duration};

use futures::{StreamExt as _, stream, stream::BoxStream};
use tokio::time::{Instant, sleep_until};

pub(crate) use self::room::WatchRoom;
use self::{place::Place, room::WatchSeat};
use super::Core;
use crate::{
    api::{ApiError, WatchEvent, WatchExecutions},
    changes::TenantWatch,
    model::{MilestoneRecord, Principal},
    store::MilestoneQuery,
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
/// How long the store may be unavailable before the watch ends.
const AWAY: Duration = Duration::from_secs(30);

struct Watch {
    core: Arc<Core>,
    hint: TenantWatch,
    query: MilestoneQuery,
    /// The position up to which milestones were read.
    seen: Place,
    /// The position of the last delivered event.
    given: Place,
    /// The milestones that were read and not delivered yet.
    next: VecDeque<MilestoneRecord>,
    looked: Instant,
    failing_since: Option<Instant>,
    is_new: bool,
    _seat: WatchSeat,
}

impl Core {
    /// Opens a watch. Its first event contains the initial cursor.
    pub(super) async fn watch(
        self: &Arc<Self>,
        who: &Principal,
        request: WatchExecutions,
    ) -> Result<WatchStream, ApiError> {
        self.check_running()?;
        if let Some(id) = request.session_id {
            self.session(who, id).await?;
        }
        let limits = &self.parts.limits;
        let seat = self.watches.take(&who.tenant, limits.watches, limits.watches_per_tenant)?;
        // Subscribe before reading the store, so that no event is missed.
        let hint = self.parts.changes.watch_tenant(&who.tenant);
        let query = MilestoneQuery { tenant: who.tenant.clone(), session_id: request.session_id };
        let now = self.store().milestones(&query, 0, 0).await?;
        let place = match &request.cursor {
            Some(cursor) => Place::resume(cursor, &now)?,
            None => Place::latest(&now),
        };
        let watch = Watch {
            core: self.clone(),
            hint,
            query,
            seen: place,
            given: place,
            next: VecDeque::new(),
            looked: Instant::now(),
            failing_since: None,
            is_new: true,
            _seat: seat,
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
            self.core.check_running()?;
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
        let record = self.core.store().execution(next.execution_id).await?;
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
        let found = self.core.store().milestones(&self.query, self.seen.sequence, PAGE).await?;
        self.seen.check(&found)?;
        let is_all = found.found.len() < PAGE as usize;
        let last = found.found.last().map(|last| last.sequence);
        self.seen.sequence = if is_all { found.latest } else { last.unwrap_or(found.latest) };
        self.next.extend(found.found);
        Ok(())
    }

    /// Waits for a hint or the poll interval, but keeps the minimum interval between reads.
    async fn wait(&mut self) {
        let stopped = self.core.stop.cancelled();
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
