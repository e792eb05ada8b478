//! The live output of one execution: two rings, the readers' own reads, and what is wanted of the
//! runner. Readers ask here, and the task that has the output stream ([`super::push`]) fills it.
//!
//! Nothing here waits or does I/O: one short lock, and two bells. No reader can make another wait: each
//! takes what is there, or asks and comes back when the bell rings.

use std::sync::{Mutex, MutexGuard, PoisonError};

use airlock_proto::domain::{ExecutionId, OutputStream, PushFromRunner, PushToRunner, RunnerId};
use tokio::{
    sync::{Notify, watch},
    time::Instant,
};

use super::{
    feed::Feed,
    limits::StreamLimits,
    reads::{Reads, Violation},
    registry::Registered,
    track::{Claim, Phase, Place},
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
    _registered: Registered,
    /// The latest record, read once for all readers.
    pub(super) feed: Feed,
    /// Rung for the task that has the output stream.
    pub(super) wake: Notify,
    bell: watch::Sender<()>,
    state: Mutex<State>,
    ahead_bytes: u64,
    catch_up_bytes: u64,
    claims_at_once: usize,
}

impl Hub {
    pub(super) fn new(id: ExecutionId, limits: &StreamLimits, registered: Registered) -> Self {
        Self {
            id,
            _registered: registered,
            feed: Feed::default(),
            wake: Notify::new(),
            bell: watch::Sender::new(()),
            state: Mutex::new(State::new(limits.ring_bytes)),
            ahead_bytes: limits.ahead_bytes,
            catch_up_bytes: limits.catch_up_bytes,
            // Both rings may follow at the same time.
            claims_at_once: limits.reads_at_once.saturating_sub(2),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Rings after every change that a waiting reader may be waiting for.
    pub(super) fn bell(&self) -> watch::Receiver<()> {
        self.bell.subscribe()
    }

    /// Counts a reader, unless there are `at_most` already.
    pub(super) fn enter(&self, at_most: usize) -> bool {
        let mut state = self.lock();
        let fits = state.readers < at_most;
        if fits {
            state.readers += 1;
        }
        fits
    }

    /// Forgets a reader.
    pub(super) fn leave(&self) {
        let mut state = self.lock();
        state.readers = state.readers.saturating_sub(1);
        if state.readers == 0 {
            self.wake.notify_one();
        }
    }

    /// Notes which runner has the output, and whether the execution has ended.
    pub(super) fn learn(&self, runner: Option<&RunnerId>, ended: bool) {
        let mut state = self.lock();
        if state.runner.as_ref() != runner {
            state.runner = runner.cloned();
        }
        if ended && state.ended.is_none() {
            state.ended = Some(Instant::now());
            // A read that follows has a time-out from now on.
            self.wake.notify_one();
        }
    }

    pub(super) fn runner(&self) -> Option<RunnerId> {
        self.lock().runner.clone()
    }

    /// The next step of the reader at `place`. True beside it: the reader has just fallen behind.
    pub(super) fn step(&self, place: &mut Place, now: Instant) -> (Step, bool) {
        self.step_by(State::step, place, now)
    }

    /// The next step of one who saves what the runner keeps of a stream that was cut.
    pub(super) fn step_of_spool(&self, place: &mut Place, now: Instant) -> Step {
        self.step_by(State::step_of_spool, place, now).0
    }

    fn step_by(
        &self,
        step: impl FnOnce(&mut State, &mut Place, Instant) -> Step,
        place: &mut Place,
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

    /// What is at the place now, for a reader that waits for nothing that is not written yet: at most
    /// `want` bytes are asked for, and with 0 only how long the stream is. The place stays where it is.
    /// `of_ring`: what was read live is as good as what is kept.
    pub(super) fn look(&self, place: &mut Place, want: u64, of_ring: bool) -> Seen {
        let mut state = self.lock();
        let seen = state.look(place, want, of_ring);
        if state.has_demand(self.ahead_bytes) {
            self.wake.notify_one();
        }
        seen
    }

    /// The first byte at or after the place that the ring holds, for one who saves what is left.
    pub(super) fn next_held(&self, place: &Place) -> Option<u64> {
        let mut state = self.lock();
        let ring = &state.track(place.stream).ring;
        (!ring.is_empty() && ring.tail() >= place.offset).then(|| ring.tail())
    }

    /// How much of the stream is known to be written.
    pub(super) fn known_end(&self, stream: OutputStream) -> u64 {
        self.lock().track(stream).known_end
    }

    /// Gives up what the reader at `place` had asked for itself.
    pub(super) fn release(&self, place: &mut Place) {
        if let Some(claim) = place.claim.take() {
            let mut state = self.lock();
            state.claims.remove(&claim);
            state.queue.retain(|waiting| *waiting != claim);
        }
    }

    /// Whether a task must be started to open an output stream; it is noted as started.
    pub(super) fn begin_driving(&self) -> bool {
        let mut state = self.lock();
        let begin = !state.driven && state.has_demand(self.ahead_bytes);
        state.driven |= begin;
        begin
    }

    /// Whether the task that drives has more to do; if not, it is noted as ended.
    pub(super) fn go_on_driving(&self) -> bool {
        let mut state = self.lock();
        state.driven = state.has_demand(self.ahead_bytes);
        if !state.driven && state.way == Way::Missing {
            // Whoever still wants it asks again, and then the runner is asked again.
            state.way = Way::Usable;
        }
        state.driven
    }

    /// Notes that the task that drives has ended, whatever there is to do.
    pub(super) fn end_driving(&self) {
        self.lock().driven = false;
    }

    /// Notes what became of the way to the runner. After [`Way::Retired`] nothing is kept here.
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

    /// Notes that no output stream could be had.
    pub(super) fn fail(&self) {
        self.lock().failures += 1;
        self.bell.send_replace(());
    }

    /// How often no output stream could be had.
    pub(super) fn failures(&self) -> u64 {
        self.lock().failures
    }

    /// The messages to be sent now: cancellations, credit for the rings, and as many of the readers'
    /// own reads as may be under way at once.
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

    /// Takes what the runner sent.
    pub(super) fn take(&self, message: PushFromRunner, now: Instant) -> Result<(), Violation> {
        let mut state = self.lock();
        let accepted = state.reads.accept(message, now)?;
        state.apply(accepted)?;
        drop(state);
        self.bell.send_replace(());
        Ok(())
    }

    /// Notes that the output stream ended: what was under way will not be answered.
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

    /// Whether the output stream is of no use just now: nobody reads, or nothing is wanted.
    pub(super) fn is_idle(&self) -> bool {
        let state = self.lock();
        state.readers == 0 || (state.reads.is_empty() && !state.has_demand(self.ahead_bytes))
    }

    pub(super) fn is_retired(&self) -> bool {
        self.lock().way == Way::Retired
    }

    /// When the longest silence began among the reads that must be answered.
    pub(super) fn silent_since(&self) -> Option<Instant> {
        let state = self.lock();
        state.reads.silent_since(state.ended)
    }

    /// What is kept here for readers, in bytes, with what each piece costs.
    pub(super) fn retained_bytes(&self) -> usize {
        let state = self.lock();
        let claims: usize = state.claims.values().map(Claim::cost).sum();
        state.stdout.ring.cost() + state.stderr.ring.cost() + claims
    }
}
