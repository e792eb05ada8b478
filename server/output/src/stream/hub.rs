//! The live output of one execution: two rings, individual reads of slow readers, and the demand for
//! data from the runner. Readers ask here, and the task that owns the output stream ([`super::push`])
//! supplies the data.
//!
//! Nothing here waits or does I/O: there is one short lock and two notifiers. No reader can block another. Each takes
//! the available data, or registers its demand and retries after a notification.

use std::sync::{Mutex, MutexGuard, PoisonError};

use airlock_domain::{ExecutionId, OutputStream, PushFromRunner, PushToRunner, RunnerId};
use tokio::{
    sync::{Notify, watch},
    time::Instant,
};

use super::{
    facts::Feed,
    limits::StreamLimits,
    reads::{Reads, Violation},
    registry::Registered,
    track::{Claim, Phase, ReaderPosition},
};

mod state;

mod look;

use state::State;
pub(super) use {
    look::Seen,
    state::{Step, Way},
};

/// The live output of one execution.
#[derive(Debug)]
pub(super) struct Hub {
    pub(super) id: ExecutionId,
    _registered: Registered<Self>,
    /// The latest record, read once for all readers.
    pub(super) feed: Feed,
    /// Notifies the task that owns the output stream.
    pub(super) wake: Notify,
    bell: watch::Sender<()>,
    state: Mutex<State>,
    ahead_bytes: u64,
    catch_up_bytes: u64,
    claims_at_once: usize,
}

impl Hub {
    pub(super) fn new(id: ExecutionId, limits: &StreamLimits, registered: Registered<Self>) -> Self {
        Self {
            id,
            _registered: registered,
            feed: Feed::default(),
            wake: Notify::new(),
            bell: watch::Sender::new(()),
            state: Mutex::new(State::new(limits.ring_bytes)),
            ahead_bytes: limits.ahead_bytes,
            catch_up_bytes: limits.catch_up_bytes,
            // Two reads are reserved for the rings.
            claims_at_once: limits.reads_at_once.saturating_sub(2),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a receiver that is notified after every change that a waiting reader may be interested
    /// in.
    pub(super) fn bell(&self) -> watch::Receiver<()> {
        self.bell.subscribe()
    }

    /// Registers a reader, unless there are `at_most` already. Returns whether it did.
    pub(super) fn enter(&self, at_most: usize) -> bool {
        let mut state = self.lock();
        let fits = state.readers < at_most;
        if fits {
            state.readers += 1;
        }
        fits
    }

    /// Removes a reader.
    pub(super) fn leave(&self) {
        let mut state = self.lock();
        state.readers = state.readers.saturating_sub(1);
        if state.readers == 0 {
            self.wake.notify_one();
        }
    }

    /// Records which runner has the output, and whether the execution has ended.
    pub(super) fn learn(&self, runner: Option<&RunnerId>, ended: bool) {
        let mut state = self.lock();
        if state.runner.as_ref() != runner {
            state.runner = runner.cloned();
        }
        if ended && state.ended.is_none() {
            state.ended = Some(Instant::now());
            // A read that follows new output has a timeout from now on.
            self.wake.notify_one();
        }
    }

    pub(super) fn runner(&self) -> Option<RunnerId> {
        self.lock().runner.clone()
    }

    /// Returns the next step of the reader at `place`, and whether the reader has just fallen behind
    /// the ring.
    pub(super) fn step(&self, place: &mut ReaderPosition, now: Instant) -> (Step, bool) {
        self.step_by(State::step, place, now)
    }

    /// Returns the next step of the task that copies a stream with a gap from the runner.
    pub(super) fn step_of_spool(&self, place: &mut ReaderPosition, now: Instant) -> Step {
        self.step_by(State::step_of_spool, place, now).0
    }

    fn step_by(
        &self,
        step: impl FnOnce(&mut State, &mut ReaderPosition, Instant) -> Step,
        place: &mut ReaderPosition,
        now: Instant,
    ) -> (Step, bool) {
        let mut state = self.lock();
        let waiting = state.queue.len();
        let step = step(&mut state, place, now);
        let fell_behind = state.queue.len() > waiting;
        if state.has_demand(self.ahead_bytes) || !state.cancels.is_empty() {
            self.wake.notify_one();
        }
        if let Step::Piece(piece) = &step {
            place.offset = piece.end();
        }
        (step, fell_behind)
    }

    /// Returns the data that is available at `place`, without waiting for bytes that are not written yet. Requests at
    /// most `want` bytes; 0 requests the length of the stream only. Does not move `place`. `of_ring` permits data of
    /// the ring.
    pub(super) fn look(&self, place: &mut ReaderPosition, want: u64, of_ring: bool) -> Seen {
        let mut state = self.lock();
        let seen = state.look(place, want, of_ring);
        if state.has_demand(self.ahead_bytes) {
            self.wake.notify_one();
        }
        seen
    }

    /// Returns the first offset at or after `place` that the ring holds, for copying the remaining data.
    pub(super) fn next_held(&self, place: &ReaderPosition) -> Option<u64> {
        let mut state = self.lock();
        let ring = &state.track(place.stream).ring;
        (!ring.is_empty() && ring.tail() >= place.offset).then(|| ring.tail())
    }

    /// Returns the number of bytes of the stream that are known to be written.
    pub(super) fn known_end(&self, stream: OutputStream) -> u64 {
        self.lock().track(stream).known_end
    }

    /// Cancels the individual read of the reader at `place`.
    pub(super) fn release(&self, place: &mut ReaderPosition) {
        if let Some(claim) = place.claim.take() {
            let mut state = self.lock();
            state.claims.remove(&claim);
            state.queue.retain(|waiting| *waiting != claim);
        }
    }

    /// Returns whether the caller must start a task that opens an output stream, and marks it as
    /// started.
    pub(super) fn begin_driving(&self) -> bool {
        let mut state = self.lock();
        let begin = !state.driven && state.has_demand(self.ahead_bytes);
        state.driven |= begin;
        begin
    }

    /// Returns whether the driving task has more to do, and otherwise marks it as ended.
    pub(super) fn go_on_driving(&self) -> bool {
        let mut state = self.lock();
        state.driven = state.has_demand(self.ahead_bytes);
        if !state.driven && state.way == Way::Missing {
            // A reader that still needs data registers its demand again, and the runner is asked again.
            state.way = Way::Usable;
        }
        state.driven
    }

    /// Marks the driving task as ended, even if there is more to do.
    pub(super) fn end_driving(&self) {
        self.lock().driven = false;
    }

    /// Sets the state of the connection to the runner. After [`Way::Retired`] no data is kept here.
    pub(super) fn set_way(&self, way: Way) {
        let mut state = self.lock();
        if state.way != Way::Retired {
            state.way = way;
        }
        match state.way {
            Way::Usable => {}
            Way::Missing => state.give_up_queue(),
            Way::Retired => {
                state.let_go();
                self.wake.notify_one();
            }
        }
        drop(state);
        self.bell.send_replace(());
    }

    /// Records a failed attempt to open an output stream.
    pub(super) fn fail(&self) {
        self.lock().failures += 1;
        self.bell.send_replace(());
    }

    /// Returns the number of failed attempts to open an output stream.
    pub(super) fn failures(&self) -> u64 {
        self.lock().failures
    }

    /// Returns the messages to send now: cancellations, credit for the rings, and as many individual
    /// reads as may be in progress at once.
    pub(super) fn plan(&self, now: Instant) -> Result<Vec<PushToRunner>, Violation> {
        let mut state = self.lock();
        if let Some(violation) = state.fault.take() {
            return Err(violation);
        }
        let mut messages = std::mem::take(&mut state.cancels);
        for stream in [OutputStream::Stdout, OutputStream::Stderr] {
            messages.extend(state.follow(stream, self.ahead_bytes, now));
        }
        while state.reads.of_claims() < self.claims_at_once {
            let Some(claim) = state.queue.pop_front() else { break };
            messages.extend(state.serve(claim, self.catch_up_bytes, now));
        }
        Ok(messages)
    }

    /// Processes a message of the runner.
    pub(super) fn take(&self, message: PushFromRunner, now: Instant) -> Result<(), Violation> {
        let mut state = self.lock();
        let accepted = state.reads.accept(message, now)?;
        state.apply(accepted)?;
        drop(state);
        self.bell.send_replace(());
        Ok(())
    }

    /// Records that the output stream ended. Reads in progress will not be answered.
    pub(super) fn cut(&self) {
        let mut state = self.lock();
        state.reads = Reads::default();
        state.cancels.clear();
        state.fault = None;
        state.stdout.follow = None;
        state.stderr.follow = None;
        for claim in state.claims.values_mut().filter(|claim| claim.phase == Phase::UnderWay) {
            claim.phase = Phase::UNANSWERED;
        }
        drop(state);
        self.bell.send_replace(());
    }

    /// Returns whether the output stream is not needed now, because there are no readers or no demand.
    pub(super) fn is_idle(&self) -> bool {
        let state = self.lock();
        state.readers == 0 || (state.reads.is_empty() && !state.has_demand(self.ahead_bytes))
    }

    pub(super) fn is_retired(&self) -> bool {
        self.lock().way == Way::Retired
    }

    /// Returns the start of the longest silence of the reads that the runner must answer.
    pub(super) fn silent_since(&self) -> Option<Instant> {
        let state = self.lock();
        state.reads.silent_since(state.ended)
    }

    /// Returns the memory that is held for readers, in bytes, including the overhead of each piece.
    pub(super) fn retained_bytes(&self) -> usize {
        let state = self.lock();
        let claims: usize = state.claims.values().map(Claim::cost).sum();
        state.stdout.ring.cost() + state.stderr.ring.cost() + claims
    }
}
