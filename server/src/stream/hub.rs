//! The live output of one execution: two rings, the readers' own reads, and what is wanted of the
//! runner. Readers ask here, and the task that has the output stream ([`super::push`]) fills it.
//!
//! Nothing here waits or does I/O: one short lock, and two bells. No reader can make another wait: each
//! takes what is there, or asks and comes back when the bell rings.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Mutex, MutexGuard, PoisonError},
};

use airlock_proto::domain::{ExecutionId, OutputStream, PushFromRunner, PushToRunner, RunnerId};
use tokio::{
    sync::{Notify, watch},
    time::Instant,
};

use super::{
    feed::Feed,
    limits::StreamLimits,
    reads::{Accepted, Reads, Target, Violation},
    registry::Registered,
    ring::{Find, Piece},
    track::{Claim, Phase, Place, Track},
};

/// What became of the way to the runner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// There is an output stream, or there can be one.
    Usable,
    /// The runner holds nothing for this execution.
    Missing,
    /// The output is in the storage, or was given up; the store says which.
    Retired,
}

/// What a reader gets when it asks.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The next piece; the reader's place is already after it.
    Piece(Piece),
    /// Nothing yet: ask again when the bell has rung, or at the next poll.
    Wait,
    /// The reader is at the end of the stream.
    End,
    /// The reader is past the end of the stream, which is here.
    PastEnd(u64),
    /// Nothing to be had here: look into the store.
    Elsewhere(Way),
}

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

#[derive(Debug)]
struct State {
    stdout: Track,
    stderr: Track,
    claims: HashMap<u64, Claim>,
    /// Claims that wait for a read of their own, in the order in which they came.
    queue: VecDeque<u64>,
    latest_claim: u64,
    reads: Reads,
    cancels: Vec<PushToRunner>,
    fault: Option<Violation>,
    way: Way,
    runner: Option<RunnerId>,
    readers: usize,
    failures: u64,
    ended: Option<Instant>,
    driven: bool,
}

impl Hub {
    pub(super) fn new(id: ExecutionId, limits: &StreamLimits, registered: Registered) -> Self {
        let state = State {
            stdout: Track::new(limits.ring_bytes),
            stderr: Track::new(limits.ring_bytes),
            claims: HashMap::new(),
            queue: VecDeque::new(),
            latest_claim: 0,
            reads: Reads::default(),
            cancels: Vec::new(),
            fault: None,
            way: Way::Usable,
            runner: None,
            readers: 0,
            failures: 0,
            ended: None,
            driven: false,
        };
        Self {
            id,
            _registered: registered,
            feed: Feed::default(),
            wake: Notify::new(),
            bell: watch::Sender::new(()),
            state: Mutex::new(state),
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
        let mut state = self.lock();
        let waiting = state.queue.len();
        let step = state.step(place, now);
        let fell_behind = state.queue.len() > waiting;
        if state.has_demand(self.ahead_bytes) || !state.cancels.is_empty() {
            self.wake.notify_one();
        }
        if let Step::Piece(piece) = &step {
            place.offset = piece.end();
        }
        (step, fell_behind)
    }

    /// The first byte at or after the place that the ring holds, for one who saves what is left.
    pub(super) fn next_held(&self, place: &Place) -> Option<u64> {
        let mut state = self.lock();
        let ring = &state.track(place.stream).ring;
        (!ring.is_empty() && ring.tail() >= place.offset).then(|| ring.tail())
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
            claim.phase = Phase::Over { empty: false };
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

impl State {
    fn track(&mut self, stream: OutputStream) -> &mut Track {
        match stream {
            OutputStream::Stdout => &mut self.stdout,
            OutputStream::Stderr => &mut self.stderr,
        }
    }

    fn step(&mut self, place: &mut Place, now: Instant) -> Step {
        if let Some(step) = self.step_of_claim(place, now) {
            return step;
        }
        let way = self.way;
        let track = self.track(place.stream);
        match track.length {
            Some(length) if place.offset == length => return Step::End,
            Some(length) if place.offset > length => return Step::PastEnd(length),
            _ => {}
        }
        track.place_ring(place.offset);
        match track.ring.find(place.offset) {
            Find::Held(piece) => {
                track.want(piece.end());
                Step::Piece(piece)
            }
            _ if way != Way::Usable => Step::Elsewhere(way),
            Find::Head => {
                track.want(place.offset);
                Step::Wait
            }
            Find::Ahead if place.offset <= track.known_end => {
                self.move_ring(place.stream, place.offset);
                Step::Wait
            }
            Find::Ahead | Find::Behind if place.rests(now) => Step::Wait,
            Find::Ahead => self.claim(place, true),
            Find::Behind => self.claim(place, false),
        }
    }

    /// What the reader's own read gave, while it has one.
    fn step_of_claim(&mut self, place: &mut Place, now: Instant) -> Option<Step> {
        let claim = self.claims.get_mut(&place.claim?)?;
        if let Some(piece) = claim.pieces.pop_front() {
            return Some(Step::Piece(piece));
        }
        let Phase::Over { empty } = claim.phase else { return Some(Step::Wait) };
        let probe = claim.probe;
        if let Some(id) = place.claim.take() {
            self.claims.remove(&id);
        }
        if empty {
            self.found_nothing(place, probe, now);
        }
        None
    }

    /// The runner has nothing at the place yet, nor is it the end.
    fn found_nothing(&mut self, place: &mut Place, probe: bool, now: Instant) {
        place.rest(now);
        let track = self.track(place.stream);
        if track.ring.tail() <= place.offset {
            return;
        }
        if track.ring.is_empty() {
            // Somebody placed the ring further on than the command has written: a cursor that was
            // made up, or one from before the runner's host lost the latest bytes.
            place.rest_over();
            self.move_ring(place.stream, place.offset);
        } else if !probe {
            self.fault = Some(Violation::WentBack);
        }
    }

    /// Begins the ring anew at `offset`.
    fn move_ring(&mut self, stream: OutputStream, offset: u64) {
        let track = self.track(stream);
        track.ring.reset(offset);
        track.wanted = Some(offset);
        if let Some(read_id) = track.follow.take() {
            let cancel = self.reads.cancel(read_id);
            self.cancels.extend(cancel);
        }
    }

    fn claim(&mut self, place: &mut Place, probe: bool) -> Step {
        self.latest_claim += 1;
        self.claims.insert(self.latest_claim, Claim::new(place, probe));
        self.queue.push_back(self.latest_claim);
        place.claim = Some(self.latest_claim);
        Step::Wait
    }

    fn has_demand(&self, ahead: u64) -> bool {
        let wanted = !self.queue.is_empty() || self.stdout.lacks(ahead) || self.stderr.lacks(ahead);
        self.readers > 0 && self.way != Way::Retired && (wanted || self.fault.is_some())
    }

    fn follow(&mut self, stream: OutputStream, ahead: u64, now: Instant) -> Option<PushToRunner> {
        let track = self.track(stream);
        if !track.lacks(ahead) {
            return None;
        }
        let head = track.ring.head();
        let credit = track.wanted?.max(head).saturating_add(ahead) - head;
        let (read_id, message) = self.reads.begin(Target::Ring, stream, head, credit.min(ahead), now);
        self.track(stream).follow = Some(read_id);
        Some(message)
    }

    fn serve(&mut self, id: u64, credit: u64, now: Instant) -> Option<PushToRunner> {
        let claim = self.claims.get_mut(&id)?;
        claim.phase = Phase::UnderWay;
        let (_, message) = self.reads.begin(Target::Claim(id), claim.stream, claim.offset, credit, now);
        Some(message)
    }

    fn apply(&mut self, accepted: Accepted) -> Result<(), Violation> {
        match accepted {
            Accepted::Late => Ok(()),
            Accepted::Piece { target, stream, piece } => {
                self.track(stream).reach(piece.end())?;
                match target {
                    Target::Ring => self.track(stream).ring.push(piece),
                    // A reader that has gone wants it no more.
                    Target::Claim(id) => {
                        if let Some(claim) = self.claims.get_mut(&id) {
                            claim.pieces.push_back(piece);
                        }
                    }
                }
                Ok(())
            }
            Accepted::Done { target, stream, start, reached, end } => {
                match target {
                    Target::Ring => self.track(stream).follow = None,
                    Target::Claim(id) => {
                        if let Some(claim) = self.claims.get_mut(&id) {
                            claim.phase = Phase::Over { empty: reached <= start && !end };
                        }
                    }
                }
                if end { self.track(stream).end_at(reached) } else { Ok(()) }
            }
        }
    }

    /// Sends those who wait for a read of their own back to ask again.
    fn give_up_queue(&mut self) {
        for id in std::mem::take(&mut self.queue) {
            if let Some(claim) = self.claims.get_mut(&id) {
                claim.phase = Phase::Over { empty: false };
            }
        }
    }

    fn let_go(&mut self) {
        self.stdout.let_go();
        self.stderr.let_go();
        self.claims = HashMap::new();
        self.queue = VecDeque::new();
    }
}
