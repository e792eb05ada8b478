//! Tests of reads with random servers and streams: when a read is served, and how many bytes it may send.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::output::{Layout, Look};

#[test]
fn the_first_bytes_are_not_held_back_and_a_whole_chunk_never_is() {
    let sent = Duration::from_secs(1);
    let ready = |last_sent, total| {
        let stream = OutputStream::Stdout;
        let read =
            Read { id: 1, stream, offset: 10, credit: 1 << 20, follow: true, last_sent, held: Vec::new() };
        read.ready(StreamState { total, complete: false })
    };
    assert_eq!(ready(None, 10), Ready::WhenItGrows);
    assert_eq!(ready(None, 11), Ready::Now);
    assert_eq!(ready(Some(sent), 11), Ready::At(sent + COALESCE));
    assert_eq!(ready(Some(sent), 10 + CHUNK_BYTES as u64), Ready::Now);
}

/// One thing that happens.
#[derive(Debug, Clone, Copy)]
enum Move {
    Read { id: u32, offset: u64, credit: u64, follow: bool },
    Cancel(u32),
    Write(u64),
    End,
    Serve,
    Wait,
}

fn any_move() -> impl Strategy<Value = Move> {
    let read = (0_u32..20, 0_u64..80_000, 0_u64..80_000, any::<bool>());
    prop_oneof![
        3 => read.prop_map(|(id, offset, credit, follow)| Move::Read { id, offset, credit, follow }),
        1 => (0_u32..20).prop_map(Move::Cancel),
        4 => (0_u64..40_000).prop_map(Move::Write),
        1 => Just(Move::End),
        8 => Just(Move::Serve),
        1 => Just(Move::Wait),
    ]
}

/// A read, as the server sees it.
#[derive(Debug, Clone, Copy)]
struct Seen {
    at: u64,
    credit: u64,
}

/// A stream that keeps its first and last bytes, and one server.
struct Stream {
    reads: Reads<Duration>,
    layout: Layout,
    state: StreamState,
    now: Duration,
    seen: BTreeMap<u32, Seen>,
}

impl Stream {
    fn find(&self, offset: u64, max: usize) -> (Piece, Vec<u8>) {
        match self.layout.look(self.state, offset, max) {
            Look::End => (Piece::End(self.state), Vec::new()),
            Look::Bytes(len) => (Piece::Data(vec![0; len]), Vec::new()),
            Look::Gap { to } => match self.layout.look(self.state, to, max) {
                Look::Bytes(len) => (Piece::Gap { to }, vec![0; len]),
                Look::Gap { .. } | Look::End => (Piece::Gap { to }, Vec::new()),
            },
        }
    }

    fn serve(&mut self) {
        let none = StreamState { total: 0, complete: true };
        if self.reads.next(self.now, self.state, none) != Next::Serve {
            return;
        }
        let (_, need) = self.reads.front().unwrap();
        let found = match need {
            Need::State => Found::State(self.state),
            Need::Nothing => Found::Before,
            Need::Piece { offset, max } => {
                assert!((1..=CHUNK_BYTES).contains(&max));
                let (piece, behind) = self.find(offset, max);
                Found::Piece(piece, behind)
            }
        };
        match self.reads.answer(found, self.now) {
            None => {}
            Some(PushFromRunner::Hello { .. }) => panic!("a read is not answered with Hello"),
            Some(PushFromRunner::Chunk { read_id, offset, data }) => {
                let seen = self.seen.get_mut(&read_id).unwrap();
                assert_eq!(offset, seen.at, "no byte is skipped or sent twice");
                assert!(!data.is_empty() && data.len() <= CHUNK_BYTES);
                seen.at += data.len() as u64;
                seen.credit = seen.credit.checked_sub(data.len() as u64).expect("within the credit");
                assert!(seen.at <= self.state.total);
            }
            Some(PushFromRunner::Gap { read_id, from, to }) => {
                let seen = self.seen.get_mut(&read_id).unwrap();
                assert_eq!(from, seen.at);
                assert!(to > from && to <= self.state.total);
                seen.at = to;
            }
            Some(PushFromRunner::Done { read_id, offset, end, total }) => {
                let seen = self.seen.remove(&read_id).unwrap();
                assert_eq!(total, self.state.total);
                assert_eq!(end, self.state.complete && seen.at >= total);
                assert_eq!(offset, if end { total } else { seen.at });
            }
        }
    }

    fn make(&mut self, next: Move) {
        match next {
            Move::Read { id, offset, credit, follow } => {
                let stream = OutputStream::Stdout;
                let message = PushToRunner::Read { read_id: id, stream, offset, max_bytes: credit, follow };
                let is_valid = self.seen.len() < READS_AT_ONCE && !self.seen.contains_key(&id);
                assert_eq!(self.reads.take(&message).is_ok(), is_valid);
                if is_valid {
                    self.seen.insert(id, Seen { at: offset, credit });
                }
            }
            Move::Cancel(id) => {
                self.reads.take(&PushToRunner::Cancel { read_id: id }).unwrap();
                self.seen.remove(&id);
            }
            Move::Write(_) | Move::End if self.state.complete => {}
            Move::Write(bytes) => self.state.total += bytes,
            Move::End => self.state.complete = true,
            Move::Serve => self.serve(),
            Move::Wait => self.now += COALESCE,
        }
    }
}

proptest! {
    #[test]
    fn a_read_gets_each_byte_or_its_gap_once_within_its_credit(
        cap in 1_u64..100_000,
        moves in proptest::collection::vec(any_move(), 0..120),
    ) {
        let mut stream = Stream {
            reads: Reads::default(),
            layout: Layout::for_cap(cap),
            state: StreamState::default(),
            now: Duration::ZERO,
            seen: BTreeMap::new(),
        };
        moves.into_iter().for_each(|next| stream.make(next));
        // Every read ends once its stream has ended, and no read waits for another.
        stream.state.complete = true;
        for _ in 0..10_000 {
            stream.serve();
        }
        prop_assert!(stream.seen.is_empty(), "{:?}", stream.seen);
    }
}
