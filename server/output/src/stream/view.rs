//! A reader's view of an execution: its header, the changes since its cursor, and the end.
//!
//! A view is a state machine without a task: it makes progress when it is polled. The location of the output
//! (the runner, the storage, or lost) is determined by the latest record for each piece. A view therefore
//! continues when the output moves from the runner to the storage.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use airlock_domain::{BackgroundedBy, ExecutionState, OutputStream, cursor::Cursor};
use airlock_store::{
    STATE_CHANGES_AT_ONCE, StoreError,
    changes::ChangeWatch,
    record::{ExecutionRecord, StateChange},
};
use futures::{FutureExt, StreamExt, stream, stream::BoxStream};
use tokio::{
    sync::watch,
    time::{Instant, sleep_until, timeout},
};

use super::{
    error::StreamError,
    event::{AttachFrom, Event, EventKind},
    facts::Facts,
    lane::Lane,
    progress::Pace,
    reader::ReaderRegistration,
    ring::Piece,
    state::{Inner, Streams},
};

struct View {
    registration: ReaderRegistration,
    watch: ChangeWatch,
    bell: watch::Receiver<()>,
    cursor: Cursor,
    /// The header, until it is delivered.
    header: Option<Box<ExecutionRecord>>,
    facts: Facts,
    /// The changes of state that are not delivered yet.
    pending: VecDeque<StateChange>,
    /// The version up to which changes were read from the store.
    history: u64,
    lanes: Vec<Lane>,
    /// The index of the lane to look at first.
    turn: usize,
    /// Whether the view was opened after the end. It then returns the kept output, not the output of live readers.
    late: bool,
    /// Whether the view ends when the command moves to the background.
    in_foreground: bool,
    /// The version of the move to the background.
    left_foreground: Option<u64>,
    pace: Pace,
    /// When the store was last read.
    looked: Option<Instant>,
    /// Whether the store must be read again at once.
    hinted: bool,
    failing_since: Option<Instant>,
    closed: bool,
}

/// The kind of caller of a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Viewer {
    /// The call that started the execution. The view ends at once if the execution starts in the background.
    Starter,
    /// Any other call.
    Reader,
}

/// The events of one view. It reads nothing before it is polled, buffers at most one catch-up read, and can be
/// dropped at any time. Its last item is [`EventKind::Finished`],
/// [`EventKind::Backgrounded`] or an error.
pub type EventStream = BoxStream<'static, Result<Event, StreamError>>;

impl Streams {
    /// Opens a view of an execution. It returns the header, then every change of state and every byte of output
    /// after `from`, and then the closing event. Each item is returned exactly once, with a cursor to resume from.
    ///
    /// The view ends with an error, or when the server stops. After `UNAVAILABLE`, clients attach again with the
    /// last cursor.
    ///
    /// # Errors
    /// `Exhausted` if there are too many readers; `OutOfRange` if `from` is past the end of a finished output;
    /// `Unavailable` while the server stops.
    pub async fn attach(
        &self,
        execution: ExecutionRecord,
        from: AttachFrom,
    ) -> Result<EventStream, StreamError> {
        open(&self.inner, execution, from, Viewer::Reader)
    }

    /// Opens a view from the beginning for the call that started the execution. If the execution starts in the
    /// background, the view closes at once with `Backgrounded`, unless the execution has finished.
    ///
    /// # Errors
    /// See [`Streams::attach`].
    pub async fn attach_starter(&self, execution: ExecutionRecord) -> Result<EventStream, StreamError> {
        let from = AttachFrom::Offsets { stdout: 0, stderr: 0 };
        open(&self.inner, execution, from, Viewer::Starter)
    }
}

/// Opens a view. See [`Streams::attach`].
fn open(
    inner: &Arc<Inner>,
    record: ExecutionRecord,
    from: AttachFrom,
    viewer: Viewer,
) -> Result<EventStream, StreamError> {
    let cursor = match from {
        AttachFrom::Cursor(cursor) => cursor,
        AttachFrom::Offsets { stdout, stderr } => Cursor { epoch: None, version: 0, stdout, stderr },
    };
    let facts = Facts::of(&record);
    for stream in [OutputStream::Stdout, OutputStream::Stderr] {
        facts.check_range(stream, cursor.offset(stream))?;
    }
    let registration = ReaderRegistration::take(inner, &record)?;
    let watch = inner.changes.watch(record.id);
    let leaves_at_once = viewer == Viewer::Starter && record.backgrounded == Some(BackgroundedBy::Request);
    let mut view = View::new(registration, watch, record, facts, cursor);
    // The first version is already in the background, which ends a foreground view.
    view.in_foreground |= leaves_at_once;
    let events = stream::unfold(Some(view), |view| async move {
        let mut view = view?;
        match view.next().await {
            Ok(event) => Some((Ok(event?), Some(view))),
            Err(error) => Some((Err(error), None)),
        }
    });
    Ok(events.boxed())
}

impl View {
    fn new(
        registration: ReaderRegistration,
        watch: ChangeWatch,
        record: ExecutionRecord,
        facts: Facts,
        cursor: Cursor,
    ) -> Self {
        let lane = |stream| Lane::new(stream, cursor.offset(stream));
        let mut lanes = vec![lane(OutputStream::Stdout)];
        if record.spec.command.separate_stderr {
            lanes.push(lane(OutputStream::Stderr));
        }
        Self {
            bell: registration.hub.bell(),
            registration,
            watch,
            cursor,
            late: facts.finished,
            in_foreground: record.backgrounded.is_none(),
            left_foreground: None,
            header: Some(Box::new(record)),
            pace: Pace::new((cursor.stdout, cursor.stderr) == (0, 0)),
            facts,
            pending: VecDeque::new(),
            history: cursor.version,
            lanes,
            turn: 0,
            looked: None,
            hinted: true,
            failing_since: None,
            closed: false,
        }
    }

    /// Returns the next event, or `None` after the closing event. Dropping the future loses no event.
    async fn next(&mut self) -> Result<Option<Event>, StreamError> {
        if self.closed {
            return Ok(None);
        }
        if let Some(record) = self.header.take() {
            return Ok(Some(Event { cursor: self.cursor, kind: EventKind::Opened(record) }));
        }
        let mut waits_since = None;
        loop {
            if self.registration.inner.cancel.is_cancelled() {
                return Err(StreamError::Stopping);
            }
            self.look_at_store().await?;
            if let Some(change) = self.pending.pop_front() {
                self.cursor.version = change.version;
                return Ok(Some(Event { cursor: self.cursor, kind: EventKind::StateChanged(change) }));
            }
            if let Some(version) = self.left_foreground
                && let Some(event) = self.leave(version).await?
            {
                return Ok(Some(event));
            }
            if let Some(event) = self.progress().await {
                return Ok(Some(event));
            }
            self.bell.mark_unchanged();
            if let Some(event) = self.read_output().await? {
                return Ok(Some(event));
            }
            if self.is_complete() {
                return self.finish().await.map(Some);
            }
            if !self.hinted {
                self.wait(&mut waits_since).await?;
            }
        }
    }

    /// Closes the view of a command that moved to the background and still runs. Does not wait for output
    /// that is not delivered; clients resume from the cursor. If the command has ended meanwhile, the view
    /// delivers its end instead.
    async fn leave(&mut self, version: u64) -> Result<Option<Event>, StreamError> {
        let (inner, hub) = (&self.registration.inner, &self.registration.hub);
        let record = hub.feed.record(inner.store.as_ref(), hub.id, Instant::now()).await?;
        if record.state == ExecutionState::Finished {
            self.in_foreground = false;
            self.left_foreground = None;
            self.hinted = true;
            return Ok(None);
        }
        self.closed = true;
        self.cursor.version = version;
        let kind = EventKind::Backgrounded(Box::new(ExecutionRecord::clone(&record)));
        Ok(Some(Event { cursor: self.cursor, kind }))
    }

    /// Returns a progress event if one is due.
    async fn progress(&mut self) -> Option<Event> {
        let now = Instant::now();
        self.pace.learn(&self.facts, now);
        self.pace.next().filter(|next| now >= *next)?;
        let (inner, hub) = (&self.registration.inner, &self.registration.hub);
        // Without the store's clock there is no event.
        if let Some(started) = self.pace.asks_for_clock()
            && let Ok(clock) = inner.store.now().await
        {
            let elapsed = clock.0.saturating_sub(started.0).try_into().unwrap_or(0);
            self.pace.runs_for(Duration::from_micros(elapsed), now);
        }
        let known = self.lanes.iter().map(|lane| hub.known_end(lane.place.stream)).sum();
        let given = self.lanes.iter().map(|lane| lane.place.offset).sum();
        let kind = EventKind::Progress(self.pace.tell(known, given, now)?);
        Some(Event { cursor: self.cursor, kind })
    }

    /// Returns whether everything except the closing event was delivered.
    fn is_complete(&self) -> bool {
        self.facts.finished
            && !self.hinted
            && self.history >= self.facts.version
            && self.lanes.iter().all(|lane| lane.done)
    }

    async fn finish(&mut self) -> Result<Event, StreamError> {
        let inner = &self.registration.inner;
        let hub = &self.registration.hub;
        let record = hub.feed.record(inner.store.as_ref(), hub.id, Instant::now()).await?;
        self.closed = true;
        self.cursor.version = record.version;
        self.cursor.epoch = record.runner_epoch;
        Ok(Event {
            cursor: self.cursor,
            kind: EventKind::Finished(Box::new(ExecutionRecord::clone(&record))),
        })
    }

    /// Waits for a possible change. If the output of a finished execution does not arrive in time, the view ends with
    /// an error. The reader can attach again. An unconfirmed end is never reported.
    async fn wait(&mut self, waits_since: &mut Option<Instant>) -> Result<(), StreamError> {
        let now = Instant::now();
        let limits = &self.registration.inner.limits;
        if self.facts.finished
            && now >= waits_since.get_or_insert(now).checked_add(limits.unreachable_wait).unwrap_or(now)
        {
            return Err(StreamError::Unreachable { retry_after: limits.poll });
        }
        let poll_at = self.looked.unwrap_or(now) + limits.poll;
        let wake_at = self.pace.next().map_or(poll_at, |next| next.min(poll_at));
        tokio::select! {
            () = self.registration.inner.cancel.cancelled() => {}
            () = self.watch.changed() => self.hinted = true,
            // The registration holds the hub, so this cannot fail.
            _ = self.bell.changed() => {}
            () = sleep_until(wake_at) => {}
        }
        Ok(())
    }

    /// Reads changes from the store after a hint or at the poll interval. An unavailable store does not end
    /// the view at once, because the command and its output continue.
    async fn look_at_store(&mut self) -> Result<(), StreamError> {
        let now = Instant::now();
        let poll = self.registration.inner.limits.poll;
        self.hinted |= self.watch.changed().now_or_never().is_some();
        let due = self.looked.is_none_or(|looked| now >= looked + poll);
        if !self.hinted && !due {
            return Ok(());
        }
        let not_before = if self.hinted { now } else { now.checked_sub(poll).unwrap_or(now) };
        self.hinted = false;
        self.looked = Some(now);
        // A store that does not answer must not delay the command's output.
        let news = timeout(poll, self.take_news(not_before)).await;
        match news.unwrap_or_else(|_| Err(StoreError::Unavailable("no answer".to_owned()).into())) {
            Ok(()) => self.failing_since = None,
            Err(error) if error.is_store_away() => {
                let since = *self.failing_since.get_or_insert(now);
                if now >= since + self.registration.inner.limits.unreachable_wait {
                    return Err(error);
                }
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    async fn take_news(&mut self, not_before: Instant) -> Result<(), StreamError> {
        let (inner, hub) = (&self.registration.inner, &self.registration.hub);
        let record = hub.feed.record(inner.store.as_ref(), hub.id, not_before).await?;
        let mut more = false;
        if record.version > self.history {
            let changes = inner.store.state_changes(hub.id, self.history).await?;
            more = changes.len() >= STATE_CHANGES_AT_ONCE;
            for change in changes {
                if self.in_foreground && change.backgrounded_by.is_some() {
                    self.left_foreground = Some(change.version);
                    break;
                }
                self.history = self.history.max(change.version);
                // The end is delivered as the closing event, which needs the complete record.
                if change.state == ExecutionState::Finished {
                    more |= record.state != ExecutionState::Finished;
                } else {
                    self.pending.push_back(change);
                }
            }
            if !more && self.left_foreground.is_none() {
                self.history = self.history.max(record.version);
            }
        }
        self.hinted |= more;
        self.facts = Facts::of(&record);
        self.cursor.epoch = record.runner_epoch;
        hub.learn(record.runner_id.as_ref(), self.facts.finished);
        Ok(())
    }

    async fn read_output(&mut self) -> Result<Option<Event>, StreamError> {
        let lanes = self.lanes.len();
        for turn in 0..lanes {
            let index = (self.turn + turn) % lanes;
            let Some(lane) = self.lanes.get_mut(index) else { continue };
            if let Some(piece) = lane.look(&self.registration, &self.facts, self.late).await? {
                self.turn = index + 1;
                return Ok(self.give(index, piece));
            }
        }
        Ok(None)
    }

    /// Creates the event and moves the reader forward.
    fn give(&mut self, index: usize, piece: Piece) -> Option<Event> {
        let place = &mut self.lanes.get_mut(index)?.place;
        let stream = place.stream;
        place.offset = piece.end();
        self.cursor.set_offset(stream, place.offset);
        let observer = &self.registration.inner.observer;
        let kind = match piece {
            Piece::Data { offset, data } => {
                observer.bytes_out(data.len() as u64);
                self.pace.gave(index, &data);
                EventKind::Output { stream, offset, data }
            }
            Piece::Gap { from, to } => {
                observer.bytes_missing(to - from);
                self.pace.passed_over();
                EventKind::Gap { stream, from, to }
            }
        };
        Some(Event { cursor: self.cursor, kind })
    }
}

impl Drop for View {
    fn drop(&mut self) {
        for lane in &mut self.lanes {
            self.registration.hub.release(&mut lane.place);
        }
    }
}
