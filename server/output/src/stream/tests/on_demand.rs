//! On-demand reads: they return the available data from any location, and do not wait for more.

use std::{sync::Arc, time::Duration};

use airlock_domain::{Cause, ExecutionId, ExecutionState, OutputState, OutputStream, PushFromRunner};
use futures::{StreamExt as _, TryStreamExt as _};
use tokio::time::{Instant, timeout};

use super::{
    runner::Trick,
    world::{Stderr, Stdout, World, patient, pattern},
};
use crate::{
    storage::Outputs,
    stream::{Amount, ReadDone, ReadOutput, ReadPart, ReadStream, Selection, StreamError, StreamLimits},
};

const MIB: usize = 1024 * 1024;
pub(super) const ALL: Selection = Selection::Range { offset: 0, length: None };

/// The result of a read, with zeros in place of gaps.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Read {
    pub(super) start: Option<u64>,
    pub(super) bytes: Vec<u8>,
    pub(super) gaps: Vec<(u64, u64)>,
    pub(super) done: ReadDone,
}

impl World {
    pub(super) async fn open(
        &self,
        id: ExecutionId,
        stream: OutputStream,
        selection: Selection,
    ) -> Result<ReadStream, StreamError> {
        let request = ReadOutput { stream, selection };
        let opened = self.streams.read_output(self.store.record(id), request);
        timeout(Duration::from_secs(60), opened).await.expect("no read waits without a limit")
    }

    pub(super) async fn parts(
        &self,
        id: ExecutionId,
        stream: OutputStream,
        selection: Selection,
    ) -> Result<Vec<ReadPart>, StreamError> {
        self.open(id, stream, selection).await?.try_collect().await
    }

    pub(super) async fn read(&self, id: ExecutionId, selection: Selection) -> Result<Read, StreamError> {
        Ok(gather(self.parts(id, Stdout, selection).await?))
    }
}

/// Checks that the parts are contiguous and that only the last one is the end.
pub(super) fn gather(parts: Vec<ReadPart>) -> Read {
    let mut read = Read::default();
    let count = parts.len();
    for (index, part) in parts.into_iter().enumerate() {
        let position = read.start.unwrap_or(0) + read.bytes.len() as u64;
        match part {
            ReadPart::Output { offset, data, .. } => {
                assert!(offset == *read.start.get_or_insert(offset) + read.bytes.len() as u64);
                assert!(!data.is_empty() && data.len() <= 32 * 1024);
                read.bytes.extend_from_slice(&data);
            }
            ReadPart::Gap { from, to, .. } => {
                let start = *read.start.get_or_insert(from);
                assert!(from == start + read.bytes.len() as u64 && from < to);
                read.bytes.resize((to - start) as usize, 0);
                read.gaps.push((from, to));
            }
            ReadPart::Done(done) => {
                assert_eq!(index + 1, count, "no message follows the end");
                assert!(read.start.is_none() || done.next_offset == position);
                read.done = done;
            }
            ReadPart::Line(line) => panic!("{line:?}"),
        }
    }
    read
}

/// A text, a number of lines, and the expected head and tail.
type HeadAndTail = (&'static [u8], u64, &'static [u8], &'static [u8]);

fn range(offset: u64, length: u64) -> Selection {
    Selection::Range { offset, length: Some(length) }
}

fn done(next_offset: u64, total: u64, complete: bool) -> ReadDone {
    ReadDone { next_offset, total, complete, ..ReadDone::default() }
}

#[tokio::test(start_paused = true)]
async fn a_running_commands_output_is_read_as_far_as_it_is_written() {
    let world = World::new();
    let id = world.run(false);
    let bytes = pattern(3 * MIB + 17);
    let total = bytes.len() as u64;
    world.write(id, Stdout, &bytes);
    let began = Instant::now();
    let all = world.read(id, ALL).await.unwrap();
    assert!(all.bytes == bytes);
    assert_eq!(all.done, done(total, total, false));
    assert!(began.elapsed() < Duration::from_secs(1), "the read waited for more");
    for (offset, length) in [(0, 1), (5, 0), (32_767, 2), (100_000, 600_000), (total - 1, 1), (total, 9)] {
        let read = world.read(id, range(offset, length)).await.unwrap();
        let end = (offset + length).min(total);
        assert!(read.bytes == bytes[offset as usize..end as usize], "{offset} {length}");
        assert_eq!(read.done, done(end, total, false));
    }
    world.write(id, Stdout, b"more");
    let tail = world.read(id, Selection::Tail(Amount::Bytes(6))).await.unwrap();
    assert_eq!((tail.start, &tail.bytes[2..]), (Some(total - 2), &b"more"[..]));
}

#[tokio::test(start_paused = true)]
async fn a_range_that_begins_past_the_end_is_told_where_the_end_is() {
    let world = World::new();
    let id = world.run(false);
    let asked = |selection| world.open(id, Stdout, selection);
    let past_end = |result: Result<ReadStream, StreamError>, end| {
        let error = result.err().expect("it is past the end");
        assert!(matches!(error, StreamError::PastEnd { asked: 101, end: e, .. } if e == end), "{error:?}");
    };
    past_end(asked(range(101, 1)).await, 0);
    world.write(id, Stdout, &[7; 100]);
    past_end(asked(range(101, 1)).await, 100);
    assert_eq!(world.read(id, range(100, 1)).await.unwrap().done, done(100, 100, false));
    world.finish(id);
    past_end(asked(range(101, 1)).await, 100);
    world.keep(id);
    world.until_output(id, OutputState::Stored).await;
    past_end(asked(range(101, 1)).await, 100);
    assert_eq!(world.read(id, range(100, 1)).await.unwrap().done, done(100, 100, true));
}

#[tokio::test(start_paused = true)]
async fn heads_and_tails_by_lines() {
    let cases: [HeadAndTail; 14] = [
        (b"", 3, b"", b""),
        (b"\n\n\n", 2, b"\n\n", b"\n\n"),
        (b"\n\n\n", 9, b"\n\n\n", b"\n\n\n"),
        (b"a\nb\nc\n", 1, b"a\n", b"c\n"),
        (b"a\nb\nc", 1, b"a\n", b"c"),
        (b"a\nb\nc", 2, b"a\nb\n", b"b\nc"),
        (b"a\nb\nc", 3, b"a\nb\nc", b"a\nb\nc"),
        (b"a\nb\nc\n", 3, b"a\nb\nc\n", b"a\nb\nc\n"),
        (b"a\nb\n", 0, b"", b""),
        (b"a\r\nb\r\n", 1, b"a\r\n", b"b\r\n"),
        (b"no newline", 1, b"no newline", b"no newline"),
        (b"\n", 1, b"\n", b"\n"),
        (b"x\n\n", 1, b"x\n", b"\n"),
        (b"\0\xff\n\xfe\n", 1, b"\0\xff\n", b"\xfe\n"),
    ];
    for (text, lines, head, tail) in cases {
        for stored in [false, true] {
            let world = World::new();
            let id = world.run(false);
            world.write(id, Stdout, text);
            if stored {
                world.finish(id);
                world.keep(id);
                world.until_output(id, OutputState::Stored).await;
            }
            let read = world.read(id, Selection::Head(Amount::Lines(lines))).await.unwrap();
            assert_eq!(read.bytes, head, "the first {lines} of {text:?}");
            assert_eq!(read.done, done(head.len() as u64, text.len() as u64, stored));
            let read = world.read(id, Selection::Tail(Amount::Lines(lines))).await.unwrap();
            assert_eq!(read.bytes, tail, "the last {lines} of {text:?}");
            assert_eq!(read.done, done(text.len() as u64, text.len() as u64, stored));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_tail_of_many_lines_is_found_over_many_blocks() {
    let world = World::new();
    let id = world.run(false);
    let numbers: Vec<u8> = (1..=300_000).flat_map(|number| format!("{number}\n").into_bytes()).collect();
    world.write(id, Stdout, &numbers);
    let before = world.runner.bytes_sent();
    let read = world.read(id, Selection::Tail(Amount::Lines(5))).await.unwrap();
    assert_eq!(read.bytes, b"299996\n299997\n299998\n299999\n300000\n");
    assert!(world.runner.bytes_sent() - before < MIB as u64, "only the end is read");
    let read = world.read(id, Selection::Tail(Amount::Lines(200_000))).await.unwrap();
    assert!(read.bytes.starts_with(b"100001\n") && numbers.ends_with(&read.bytes));
    let read = world.read(id, Selection::Head(Amount::Lines(200_000))).await.unwrap();
    assert!(read.bytes.ends_with(b"\n200000\n") && numbers.starts_with(&read.bytes));
    let read = world.read(id, Selection::Tail(Amount::Lines(1_000_000))).await.unwrap();
    assert!(read.bytes == numbers);
}

#[tokio::test(start_paused = true)]
async fn a_tail_goes_back_to_a_gap_and_shows_it() {
    let lines: Vec<u8> = b"0123456789abcde\n".repeat(100_000);
    // Gaps within a block, at the border of a block, across many blocks, at the beginning and at
    // the end.
    let total = lines.len() as u64;
    for (from, to) in [
        (total - 100_000, total - 1600),
        (total - 262_144, total - 262_144 + 16),
        (1600, total - 160),
        (1601, total - 163),
        (0, total - 160_000),
        (160_000, total),
    ] {
        let world = World::new();
        let id = world.run(false);
        world.write(id, Stdout, &lines);
        world.runner.spool(id, Stdout, |spool| spool.cuts = vec![(from, to)]);
        let held = (total - to) / 16;
        for stored in [false, true] {
            if stored {
                world.finish(id);
                world.keep(id);
                let output = if from == 0 { OutputState::Partial { from: to } } else { OutputState::Stored };
                world.until_output(id, output).await;
            }
            let read = world.read(id, Selection::Tail(Amount::Lines(held + 1000))).await.unwrap();
            assert_eq!((read.start, &read.gaps[..]), (Some(from), &[(from, to)][..]), "stored: {stored}");
            assert_eq!(read.bytes[(to - from) as usize..], lines[to as usize..]);
            if held > 1 {
                let read = world.read(id, Selection::Tail(Amount::Lines(held - 1))).await.unwrap();
                assert_eq!((read.gaps.len(), read.bytes.len() as u64), (0, (held - 1) * 16));
            }
            let read = world.read(id, Selection::Head(Amount::Bytes(from + 1))).await.unwrap();
            assert_eq!(read.gaps, [(from, from + 1)]);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_never_ran_is_empty_and_what_does_not_run_yet_is_not_complete() {
    let world = World::new();
    let waiting = world.run(false);
    world.store.step(waiting, ExecutionState::Queued, None);
    world.runner.go_away();
    for selection in [ALL, Selection::Tail(Amount::Lines(10)), Selection::Head(Amount::Bytes(10))] {
        let read = world.read(waiting, selection).await.unwrap();
        assert_eq!((read.bytes.len(), read.done), (0, done(0, 0, false)));
    }
    let denied = world.run(false);
    world.finish_as(denied, &Cause::QueueExpired);
    world.store.put_output(denied, OutputState::None, "server-1");
    assert_eq!(world.read(denied, ALL).await.unwrap().done, done(0, 0, true));
}

#[tokio::test(start_paused = true)]
async fn what_is_lost_is_a_gap() {
    let world = World::new();
    let id = world.run(false);
    world.write(id, Stdout, &[1; 1000]);
    world.finish(id);
    world.store.put_output(id, OutputState::Lost, "server-1");
    let read = world.read(id, ALL).await.unwrap();
    assert_eq!((&read.gaps[..], read.done), (&[(0, 1000)][..], done(1000, 1000, true)));
    let tail = world.read(id, Selection::Tail(Amount::Lines(3))).await.unwrap();
    assert_eq!(tail.gaps, [(0, 1000)]);
}

#[tokio::test(start_paused = true)]
async fn stderr_is_there_for_those_who_asked_for_it_apart() {
    let world = World::new();
    let together = world.run(false);
    let error = world.open(together, Stderr, ALL).await.err().unwrap();
    assert!(matches!(error, StreamError::NoStderr), "{error:?}");
    let apart = world.run(true);
    world.write(apart, Stdout, b"out");
    world.write(apart, Stderr, b"and err");
    let read = gather(world.parts(apart, Stderr, ALL).await.unwrap());
    assert_eq!((&read.bytes[..], read.done), (&b"and err"[..], done(7, 7, false)));
}

#[tokio::test(start_paused = true)]
async fn a_read_goes_on_over_the_move_to_the_storage_and_opens_it_once() {
    let shelf = Arc::new(super::shelf::MemoryShelf::default());
    let world = World::over(Arc::clone(&shelf) as _, StreamLimits::default());
    let id = world.run(false);
    let bytes = pattern(3 * MIB);
    world.write(id, Stdout, &bytes);
    let mut stream = world.open(id, Stdout, ALL).await.unwrap();
    let mut parts = vec![stream.next().await.unwrap().unwrap()];
    world.write(id, Stdout, b"too late for this read");
    world.finish(id);
    world.keep(id);
    world.until_output(id, OutputState::Stored).await;
    assert!(world.streams.retained_bytes() < 64 * 1024);
    parts.extend(stream.try_collect::<Vec<_>>().await.unwrap());
    let read = gather(parts);
    assert!(read.bytes == bytes);
    assert_eq!(read.done, done(bytes.len() as u64, bytes.len() as u64, false));
    assert_eq!(shelf.opened(), 1);
    let mut view = world.reader(id).await;
    view.read_all().await.unwrap();
    assert_eq!(shelf.opened(), 2, "a view opens it once too");
}

#[tokio::test(start_paused = true)]
async fn a_runner_that_is_away_is_waited_for_a_while_only() {
    let world = World::new();
    let id = world.run(false);
    world.write(id, Stdout, &pattern(MIB));
    world.runner.go_away();
    let error = world.open(id, Stdout, ALL).await.err().unwrap();
    assert!(matches!(error, StreamError::Unreachable { .. }), "{error:?}");
    world.runner.come_back();
    let mut stream = world.open(id, Stdout, ALL).await.unwrap();
    let first = stream.next().await.unwrap().unwrap();
    world.runner.cut_streams();
    let mut parts = vec![first];
    parts.extend(stream.try_collect::<Vec<_>>().await.unwrap());
    assert!(gather(parts).bytes == pattern(MIB));
    assert_eq!(world.streams.readers(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_runner_that_misbehaves_ends_a_read_in_time_and_invents_nothing() {
    let done = |offset, end, total| PushFromRunner::Done { read_id: 1, offset, end, total };
    let tricks = [
        Trick::Silence,
        // A gap past the end, a contradictory length, and a contradictory end.
        Trick::Say(vec![PushFromRunner::Gap { read_id: 1, from: 0, to: 5 }]),
        Trick::Say(vec![done(7, false, 100)]),
        Trick::Say(vec![done(50, true, 100)]),
    ];
    for trick in tricks {
        let world = World::new();
        let id = world.run(false);
        world.write(id, Stdout, &[1; 100]);
        world.runner.play(Some(trick));
        let error = world.open(id, Stdout, ALL).await.err().unwrap();
        assert!(matches!(error, StreamError::Unreachable { .. }), "{error:?}");
        world.runner.play(None);
        assert_eq!(world.read(id, ALL).await.unwrap().bytes, [1; 100]);
    }
}

#[tokio::test(start_paused = true)]
async fn the_tail_of_a_stream_that_is_far_shorter_than_was_said_is_not_looked_for_in_between() {
    let world = World::new();
    let id = world.run(false);
    world.write(id, Stdout, b"one\ntwo\n");
    let said = PushFromRunner::Done { read_id: 1, offset: u64::MAX, end: false, total: 1 << 60 };
    world.runner.play(Some(Trick::Say(vec![said])));
    let tail = world.open(id, Stdout, Selection::Tail(Amount::Lines(1)));
    let honest_again = async {
        // Behave correctly after the first stream was opened.
        while world.runner.opened() == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        world.runner.play(None);
        world.runner.cut_streams();
        std::future::pending::<()>().await;
    };
    let stream = tokio::select! {
        tail = tail => tail.unwrap(),
        () = honest_again => unreachable!(),
    };
    let read = gather(stream.try_collect().await.unwrap());
    assert_eq!(read.bytes, b"two\n");
    assert_eq!(read.done.total, 8);
}

#[tokio::test(start_paused = true)]
async fn reads_count_as_readers_and_a_dropped_one_leaves_nothing() {
    let limits = StreamLimits { readers_per_execution: 2, ..StreamLimits::default() };
    let world = World::with(limits);
    let id = world.run(false);
    world.write(id, Stdout, &pattern(MIB));
    let mut stopped = world.open(id, Stdout, ALL).await.unwrap();
    stopped.next().await.unwrap().unwrap();
    let _other = world.open(id, Stdout, ALL).await.unwrap();
    let error = world.open(id, Stdout, ALL).await.err().unwrap();
    assert!(matches!(error, StreamError::Exhausted { limit: "readers_per_execution", value: 2, .. }));
    drop(stopped);
    let held = world.streams.retained_bytes();
    assert!(held < 300 * 1024, "{held} bytes");
    // A stopped reader does not block other readers.
    assert!(world.read(id, ALL).await.unwrap().bytes == pattern(MIB));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_stops_says_so() {
    let world = World::new();
    let id = world.run(false);
    world.write(id, Stdout, &pattern(MIB));
    let mut stream = world.open(id, Stdout, ALL).await.unwrap();
    stream.next().await.unwrap().unwrap();
    world.streams.shut_down().await;
    let rest: Vec<_> = stream.collect().await;
    assert!(matches!(&rest[..], [.., Err(StreamError::Stopping)]), "{rest:?}");
}

#[tokio::test]
async fn a_line_of_many_chunks_in_a_folder_is_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let world = World::over(Arc::new(Outputs::local(folder.path()).unwrap()), patient());
    let id = world.run(false);
    let mut bytes = b"first\n".to_vec();
    bytes.resize(2 * MIB, b'x');
    world.write(id, Stdout, &bytes);
    world.finish(id);
    world.keep(id);
    world.until_output(id, OutputState::Stored).await;
    let read = world.read(id, Selection::Tail(Amount::Lines(1))).await.unwrap();
    assert_eq!((read.start, read.bytes.len()), (Some(6), 2 * MIB - 6));
    assert_eq!(world.read(id, Selection::Head(Amount::Lines(1))).await.unwrap().bytes, b"first\n");
}
