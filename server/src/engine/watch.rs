//! Watching many executions: the starts, backgroundings and ends of a tenant's or a session's, from the
//! store, each once.
//!
//! A watch costs no task and is only as fast as its reader. It holds the names of what comes next, a page
//! at most, and reads each record when it is its turn. What it must not do is decide what happened: the
//! store has it in order, and a hint only makes it look sooner.

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

/// The events of one watch. It ends only with an error, `UNAVAILABLE` when the server stops among them, and
/// can be dropped at any time.
pub type WatchStream = BoxStream<'static, Result<WatchEvent, ApiError>>;

/// How often the store is looked at without a hint.
const POLL: Duration = Duration::from_secs(1);
/// Between two looks, however many hints there are.
const PAUSE: Duration = Duration::from_millis(100);
/// Milestones that are read in one look.
const PAGE: u32 = 64;
/// A store that cannot be read for so long ends the watch.
const AWAY: Duration = Duration::from_secs(30);

struct Watch {
    core: Arc<Core>,
    hint: TenantWatch,
    query: MilestoneQuery,
    /// All up to here were looked at.
    seen: Place,
    /// Of the last event that was given out.
    given: Place,
    /// Looked at, and not given out yet.
    next: VecDeque<MilestoneRecord>,
    looked: Instant,
    failing_since: Option<Instant>,
    is_new: bool,
    _seat: WatchSeat,
}

impl Core {
    /// Opens a watch. Its first event says where it stands.
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
        // Before the store is looked at, so that nothing falls in between.
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

    /// Gives out what is next; where nothing is, looks whether there is more.
    async fn step(&mut self) -> Result<Option<WatchEvent>, ApiError> {
        let Some(next) = self.next.front().copied() else {
            return self.look().await.map(|()| None);
        };
        let record = self.core.store().execution(next.execution_id).await?;
        self.next.pop_front();
        self.given.sequence = next.sequence;
        // What is no longer there has nothing to be said of it.
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

    /// Returns when there may be more, but not too soon after the last look.
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
