//! The state of [`super`] as one value. Plain data, without lock or notifier.

use std::collections::{HashMap, VecDeque};

use airlock_domain::{OutputStream, PushToRunner, RunnerId};
use tokio::time::Instant;

use crate::stream::{
    reads::{Accepted, Reads, Target, Violation},
    ring::{Find, Piece},
    track::{Claim, Phase, ReaderPosition, Track},
};

/// The state of the connection to the runner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::stream) enum Way {
    /// An output stream is open or can be opened.
    Usable,
    /// The runner holds no output of this execution.
    Missing,
    /// The output is stored or lost; the store states which.
    Retired,
}

/// The result of a reader's request.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::stream) enum Step {
    /// The next piece. The reader's place has already moved past it.
    Piece(Piece),
    /// No data yet. Ask again after a notification or at the next poll.
    Wait,
    /// The reader is at the end of the stream.
    End,
    /// The reader is past the end of the stream, which is at this offset.
    PastEnd(u64),
    /// No data is available here. The store has the new location.
    Elsewhere(Way),
}

/// The data and the demand of one execution's output.
#[derive(Debug)]
pub(super) struct State {
    pub(super) stdout: Track,
    pub(super) stderr: Track,
    pub(super) claims: HashMap<u64, Claim>,
    /// Claims that wait for an individual read, in order of arrival.
    pub(super) queue: VecDeque<u64>,
    pub(super) latest_claim: u64,
    pub(super) reads: Reads,
    pub(super) cancels: Vec<PushToRunner>,
    pub(super) fault: Option<Violation>,
    pub(super) way: Way,
    pub(super) runner: Option<RunnerId>,
    pub(super) readers: usize,
    pub(super) failures: u64,
    pub(super) ended: Option<Instant>,
    pub(super) driven: bool,
}

impl State {
    pub(super) fn new(ring_bytes: usize) -> Self {
        Self {
            stdout: Track::new(ring_bytes),
            stderr: Track::new(ring_bytes),
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
        }
    }

    pub(super) fn track(&mut self, stream: OutputStream) -> &mut Track {
        match stream {
            OutputStream::Stdout => &mut self.stdout,
            OutputStream::Stderr => &mut self.stderr,
        }
    }

    pub(super) fn step(&mut self, place: &mut ReaderPosition, now: Instant) -> Step {
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
            Find::Ahead => {
                self.claim(place, true, u64::MAX);
                Step::Wait
            }
            Find::Behind => {
                self.claim(place, false, u64::MAX);
                Step::Wait
            }
        }
    }

    /// Works like [`State::step`], for a caller that needs the data of the spool. The ring is used only for data that
    /// the runner no longer has.
    pub(super) fn step_of_spool(&mut self, place: &mut ReaderPosition, now: Instant) -> Step {
        if let Some(step) = self.step_of_claim(place, now) {
            return step;
        }
        let is_over = self.track(place.stream).length.is_some_and(|length| place.offset >= length);
        if self.way != Way::Usable || is_over {
            return self.step(place, now);
        }
        if !place.rests(now) {
            self.claim(place, false, u64::MAX);
        }
        Step::Wait
    }

    /// Returns the result of the reader's individual read, if there is one.
    fn step_of_claim(&mut self, place: &mut ReaderPosition, now: Instant) -> Option<Step> {
        let claim = self.claims.get_mut(&place.claim?)?;
        if let Some(piece) = claim.pieces.pop_front() {
            return Some(Step::Piece(piece));
        }
        let Phase::Over { empty, .. } = claim.phase else { return Some(Step::Wait) };
        let probe = claim.probe;
        if let Some(id) = place.claim.take() {
            self.claims.remove(&id);
        }
        if empty {
            self.found_nothing(place, probe, now);
        }
        None
    }

    /// Handles an answer without data before the end of the stream.
    fn found_nothing(&mut self, place: &mut ReaderPosition, probe: bool, now: Instant) {
        place.rest(now);
        let track = self.track(place.stream);
        if track.ring.tail() <= place.offset {
            return;
        }
        if track.ring.is_empty() {
            // The ring was placed past the written bytes. The cursor was forged, or the host of the runner lost
            // the latest bytes.
            place.rest_over();
            self.move_ring(place.stream, place.offset);
        } else if !probe {
            self.fault = Some(Violation::WentBack);
        }
    }

    /// Resets the ring to `offset`.
    fn move_ring(&mut self, stream: OutputStream, offset: u64) {
        let track = self.track(stream);
        track.ring.reset(offset);
        track.wanted = Some(offset);
        if let Some(read_id) = track.follow.take() {
            let cancel = self.reads.cancel(read_id);
            self.cancels.extend(cancel);
        }
    }

    /// Queues an individual read for the reader at `place`.
    pub(super) fn claim(&mut self, place: &mut ReaderPosition, probe: bool, want: u64) {
        self.latest_claim += 1;
        self.claims.insert(self.latest_claim, Claim::new(place, probe, want));
        self.queue.push_back(self.latest_claim);
        place.claim = Some(self.latest_claim);
    }

    pub(super) fn has_demand(&self, ahead: u64) -> bool {
        let wanted = !self.queue.is_empty() || self.stdout.lacks(ahead) || self.stderr.lacks(ahead);
        self.readers > 0 && self.way != Way::Retired && (wanted || self.fault.is_some())
    }

    pub(super) fn follow(&mut self, stream: OutputStream, ahead: u64, now: Instant) -> Option<PushToRunner> {
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

    pub(super) fn serve(&mut self, id: u64, credit: u64, now: Instant) -> Option<PushToRunner> {
        let claim = self.claims.get_mut(&id)?;
        claim.phase = Phase::UnderWay;
        let (_, message) =
            self.reads.begin(Target::Claim(id), claim.stream, claim.offset, credit.min(claim.want), now);
        Some(message)
    }

    pub(super) fn apply(&mut self, accepted: Accepted) -> Result<(), Violation> {
        match accepted {
            Accepted::Late => Ok(()),
            Accepted::Piece { target, stream, piece } => {
                self.track(stream).reach(piece.end())?;
                match target {
                    Target::Ring => self.track(stream).ring.push(piece),
                    // The reader may have been dropped.
                    Target::Claim(id) => {
                        if let Some(claim) = self.claims.get_mut(&id) {
                            claim.pieces.push_back(piece);
                        }
                    }
                }
                Ok(())
            }
            Accepted::Done { target, stream, start, reached, end, total } => {
                match target {
                    Target::Ring => self.track(stream).follow = None,
                    Target::Claim(id) => {
                        if let Some(claim) = self.claims.get_mut(&id) {
                            let empty = reached <= start && !end;
                            claim.phase = Phase::Over { empty, total: Some(total) };
                        }
                    }
                }
                if end { self.track(stream).end_at(reached) } else { Ok(()) }
            }
        }
    }

    /// Ends all queued individual reads, so that their readers ask again.
    pub(super) fn give_up_queue(&mut self) {
        for id in std::mem::take(&mut self.queue) {
            if let Some(claim) = self.claims.get_mut(&id) {
                claim.phase = Phase::UNANSWERED;
            }
        }
    }

    pub(super) fn let_go(&mut self) {
        self.stdout.let_go();
        self.stderr.let_go();
        self.claims = HashMap::new();
        self.queue = VecDeque::new();
    }
}
