//! Copies the output of finished executions from the runner into the storage, and records the result. Then tells the
//! runner to forget the job.
//!
//! Views and copies do not wait for each other. Output that a runner no longer has is recorded as lost, never as
//! the end of the output.

use std::{
    sync::{Arc, MutexGuard, PoisonError},
    time::Duration,
};

use airlock_domain::{ExecutionId, ExecutionState, OutputState, OutputStream};
use airlock_store::{
    ExecutionQuery, OutputBy, PageQuery, StoreError,
    record::{ExecutionRecord, Micros},
};
use tokio::{
    sync::Notify,
    time::{Instant, sleep, timeout, timeout_at},
};

use super::{
    error::StreamError,
    facts::Facts,
    hub::{Step, Way},
    reader::ReaderRegistration,
    ring::Piece,
    shelf::{GAPS_MOST, ShelfError, ShelfWriter},
    state::{Inner, Streams},
    storing::{Entry, SlotOwner, StoringMap},
    track::ReaderPosition,
};

/// The time limit for releasing the lease of an output when the server stops.
const HAND_OVER: Duration = Duration::from_secs(1);
/// The page size in [`Inner::resume_storing`].
const PAGE: u32 = 500;

/// The reason why an output is not in the storage yet.
#[derive(Debug, thiserror::Error)]
enum KeepError {
    #[error("its runner is unreachable")]
    Unreachable,
    #[error("it arrived too slowly")]
    TooSlow,
    #[error("another server stores it, or has stored it")]
    Deposed,
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Shelf(#[from] ShelfError),
}

/// Statistics of a copy.
#[derive(Debug, Default)]
struct Survey {
    bytes: u64,
    /// Whether the runner lost output before the copy, or had more gaps than can be kept.
    cut_short: bool,
    /// The first offset of stdout, if it is not 0.
    stdout_from: Option<u64>,
}

impl Survey {
    fn output(&self) -> OutputState {
        match self.stdout_from {
            _ if self.cut_short && self.bytes == 0 => OutputState::Lost,
            Some(from) => OutputState::Partial { from },
            None if self.cut_short => OutputState::Partial { from: 0 },
            None => OutputState::Stored,
        }
    }

    fn note(&mut self, stream: OutputStream, piece: &Piece) {
        match piece {
            Piece::Data { data, .. } => self.bytes += data.len() as u64,
            Piece::Gap { from: 0, to } if stream == OutputStream::Stdout => self.stdout_from = Some(*to),
            Piece::Gap { .. } => {}
        }
    }
}

impl Streams {
    /// Resumes the copying of outputs that was incomplete when the server last stopped. Call it once, at the start.
    /// It returns when every copy is queued.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn resume_storing(&self) -> Result<(), StreamError> {
        self.inner.resume_storing().await
    }

    /// Copies the output that the runner holds into the storage, records the result in the store, and then tells the
    /// runner to forget the job. `record` is `FINISHED` and its runner is connected. For an execution that became
    /// `RUNNER_LOST` by a timeout, call it when the runner reconnects, even if the runner no longer has the job.
    ///
    /// Returns at once and works in a task of its own. It may be called again for the same execution.
    pub fn keep(&self, record: &ExecutionRecord) {
        self.inner.keep(record);
    }
}

/// The task that copies an output. Its entry is removed when the task ends.
struct Storing {
    id: ExecutionId,
    inner: Arc<Inner>,
    again: Arc<Notify>,
}

impl Drop for Storing {
    fn drop(&mut self) {
        self.inner.storing().remove(&self.id);
        self.inner.observer.storing_ended();
    }
}

impl Inner {
    fn storing(&self) -> MutexGuard<'_, StoringMap> {
        self.storing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts to copy the output of a finished execution, or triggers a retry if a task exists.
    fn keep(self: &Arc<Self>, record: &ExecutionRecord) {
        if self.cancel.is_cancelled() {
            return;
        }
        let (id, runner) = (record.id, record.runner_id.clone());
        let again = Arc::new(Notify::new());
        {
            let mut storing = self.storing();
            if let Some(entry) = storing.get(&id) {
                entry.again.notify_one();
                return;
            }
            let of_runner = storing.values().filter(|entry| entry.runner == runner).count();
            if storing.len() >= self.limits.storing_waiting
                || of_runner >= self.limits.storing_waiting_per_runner
            {
                tracing::warn!(execution_id = %id, "too many outputs wait to be stored; this one is stored later");
                return;
            }
            storing.insert(id, Entry { runner, again: Arc::clone(&again) });
        }
        self.observer.storing_began();
        let task = Storing { id, inner: Arc::clone(self), again };
        self.tasks.spawn(async move {
            tokio::select! {
                () = task.inner.cancel.cancelled() => task.hand_over().await,
                () = task.run() => {}
            }
        });
    }

    /// Starts to copy the output of every finished execution that is not stored yet.
    pub(super) async fn resume_storing(self: &Arc<Self>) -> Result<(), StreamError> {
        let query = ExecutionQuery { unstored: true, ..ExecutionQuery::default() };
        let mut page = PageQuery { size: PAGE, token: None };
        loop {
            let found = self.store.executions(&query, &page).await?;
            for record in found.items {
                self.keep(&record);
            }
            page.token = match found.next {
                Some(token) => Some(token),
                None => return Ok(()),
            };
        }
    }
}

impl Storing {
    async fn run(&self) {
        let limits = &self.inner.limits;
        let began = Instant::now();
        let mut wait = limits.retry_first;
        while let Err(error) = self.settle().await {
            tracing::debug!(execution_id = %self.id, %error, "the output is not stored yet");
            if began.elapsed() >= limits.store_retry_for {
                tracing::warn!(execution_id = %self.id, %error, "output not stored; retrying when its runner reconnects");
                return;
            }
            tokio::select! {
                () = sleep(wait) => {}
                () = self.again.notified() => {}
            }
            wait = (wait * 2).min(limits.store_retry_most);
        }
    }

    async fn settle(&self) -> Result<(), KeepError> {
        let Some(record) = self.inner.store.execution(self.id).await? else { return Ok(()) };
        if record.state != ExecutionState::Finished {
            return Ok(());
        }
        if matches!(record.output, OutputState::Live | OutputState::Storing) {
            let whose = SlotOwner { runner: record.runner_id.clone(), tenant: record.tenant.clone() };
            let _slot = self.inner.storing_slots.acquire(whose).await;
            if !self.renew().await? {
                // Another server stores the output and will tell the runner, or the output is already stored.
                return Ok(());
            }
            tokio::select! {
                biased;
                copied = timeout(self.time_for(&record), self.copy(&record)) => match copied {
                    Err(_) => return Err(KeepError::TooSlow),
                    Ok(Err(KeepError::Deposed)) => return Ok(()),
                    Ok(copied) => copied?,
                },
                lost = self.keep_lease() => return lost,
            }
        }
        if let Some(runner) = &record.runner_id
            && let Err(error) = self.inner.link.forget_job(runner, self.id).await
        {
            // The runner reports the job when it reconnects, and is then told again.
            tracing::debug!(execution_id = %self.id, %error, "runner not told to remove the job; retrying when it reconnects");
        }
        Ok(())
    }

    /// Returns the time limit of the copy. It is bounded, because the size is the runner's claim.
    fn time_for(&self, record: &ExecutionRecord) -> Duration {
        let limits = &self.inner.limits;
        let kept = record.result.as_ref().map_or(0, |result| {
            let written = result.stdout_bytes.saturating_add(result.stderr_bytes);
            written.saturating_sub(result.stdout_cut_bytes).saturating_sub(result.stderr_cut_bytes)
        });
        let for_bytes = Duration::from_secs(kept.checked_div(limits.storing_rate).unwrap_or_default());
        limits.storing_time.saturating_add(for_bytes).min(limits.storing_time_most)
    }

    /// Acquires or renews the lease of this output. Returns false if another server holds it or the output is
    /// stored.
    async fn renew(&self) -> Result<bool, StoreError> {
        let lease = Micros::default().after(self.inner.limits.storing_lease).0;
        self.inner.store.take_storing(self.id, &self.inner.server_id, lease).await
    }

    /// Renews the lease until another server has taken over, which it can do only if this server failed to renew.
    async fn keep_lease(&self) -> Result<(), KeepError> {
        loop {
            sleep(self.inner.limits.storing_lease / 3).await;
            match self.renew().await {
                Ok(true) | Err(StoreError::Unavailable(_)) => {}
                Ok(false) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Releases the lease, so that another server can store the output at once.
    async fn hand_over(&self) {
        let handed = self.inner.store.take_storing(self.id, &self.inner.server_id, 0);
        if !matches!(timeout(HAND_OVER, handed).await, Ok(Ok(_))) {
            tracing::debug!(execution_id = %self.id, "lease not released; another server stores the output when it expires");
        }
    }

    async fn copy(&self, record: &ExecutionRecord) -> Result<(), KeepError> {
        let registration = ReaderRegistration::of_server(&self.inner, self.id);
        registration.hub.learn(record.runner_id.as_ref(), true);
        let mut writer = self.inner.shelf.begin(self.id).await?;
        let mut survey = Survey::default();
        let facts = Facts::of(record);
        self.copy_stream(&registration, writer.as_mut(), OutputStream::Stdout, &facts, &mut survey).await?;
        if record.spec.command.separate_stderr {
            self.copy_stream(&registration, writer.as_mut(), OutputStream::Stderr, &facts, &mut survey)
                .await?;
        }
        writer.finish().await?;
        let output = survey.output();
        self.say(output).await?;
        if output == OutputState::Stored {
            self.inner.observer.stored(survey.bytes);
        } else {
            tracing::warn!(execution_id = %self.id, ?output, "the runner no longer had the complete output");
            self.inner.observer.lost();
        }
        // This follows the update of the store, so that a redirected view finds the new location there.
        registration.hub.set_way(Way::Retired);
        Ok(())
    }

    async fn say(&self, output: OutputState) -> Result<(), KeepError> {
        let by = OutputBy::Keeper(&self.inner.server_id);
        if !self.inner.store.set_output(self.id, output, by).await? {
            return Err(KeepError::Deposed);
        }
        self.inner.changes.notify(self.id);
        Ok(())
    }

    /// Copies one stream. `facts` contains its length in case the runner no longer has it.
    async fn copy_stream(
        &self,
        registration: &ReaderRegistration,
        writer: &mut dyn ShelfWriter,
        stream: OutputStream,
        facts: &Facts,
        survey: &mut Survey,
    ) -> Result<(), KeepError> {
        let hub = &registration.hub;
        let mut bell = hub.bell();
        let mut reader = Reader { registration, place: ReaderPosition::new(stream, 0) };
        let mut gaps = Gaps::default();
        let failures = hub.failures();
        let mut patience = Instant::now() + self.inner.limits.unreachable_wait;
        loop {
            bell.mark_unchanged();
            let now = Instant::now();
            let step = match facts.ring_is_spool(stream) {
                true => hub.step(&mut reader.place, now).0,
                false => hub.step_of_spool(&mut reader.place, now),
            };
            let piece = match step {
                Step::Piece(piece) => piece,
                Step::End | Step::PastEnd(_) => return Ok(()),
                Step::Elsewhere(_) => {
                    let from = reader.place.offset;
                    let next = hub.next_held(&reader.place).unwrap_or(facts.length(stream));
                    survey.cut_short |= next > from || facts.may_be_past_end;
                    if next <= from {
                        return Ok(());
                    }
                    reader.place.offset = next;
                    Piece::Gap { from, to: next }
                }
                Step::Wait => {
                    self.inner.drive(hub);
                    let rung = timeout_at(patience, bell.changed()).await;
                    if rung.is_err() || hub.failures() > failures {
                        return Err(KeepError::Unreachable);
                    }
                    continue;
                }
            };
            if survey.bytes == 0 {
                self.say(OutputState::Storing).await?;
            }
            let (piece, is_rest) = gaps.bound(piece, || facts.length(stream).max(hub.known_end(stream)));
            survey.cut_short |= is_rest;
            survey.note(stream, &piece);
            writer.write(stream, piece).await?;
            if is_rest {
                tracing::warn!(execution_id = %self.id, "the runner reports too many gaps; the rest of the stream is stored as one gap");
                return Ok(());
            }
            patience = Instant::now() + self.inner.limits.unreachable_wait;
        }
    }
}

/// The gaps of a stream so far. Adjacent gaps count as one.
#[derive(Default)]
struct Gaps {
    count: usize,
    end: Option<u64>,
}

impl Gaps {
    /// Returns the piece to store, and whether it is the last. The last permitted gap extends to the end of the
    /// stream.
    fn bound(&mut self, piece: Piece, end: impl FnOnce() -> u64) -> (Piece, bool) {
        let Piece::Gap { from, to } = piece else { return (piece, false) };
        if self.end != Some(from) {
            self.count += 1;
        }
        self.end = Some(to);
        match self.count >= GAPS_MOST {
            true => (Piece::Gap { from, to: end().max(to) }, true),
            false => (piece, false),
        }
    }
}

/// Cancels the individual read when it is dropped.
struct Reader<'a> {
    registration: &'a ReaderRegistration,
    place: ReaderPosition,
}

impl Drop for Reader<'_> {
    fn drop(&mut self) {
        self.registration.hub.release(&mut self.place);
    }
}
