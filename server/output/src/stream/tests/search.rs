//! Searches of live and stored output.

use std::sync::Arc;

use airlock_domain::{ExecutionId, OutputState};
use futures::StreamExt as _;

use super::world::{Stdout, World, patient};
use crate::{
    storage::Outputs,
    stream::{OutputLine, Pattern, ReadDone, ReadPart, Search, Selection},
};

const CHUNK: usize = 32 * 1024;

pub(super) fn search(pattern: &str, change: impl FnOnce(&mut Search)) -> Selection {
    let mut search = Search {
        pattern: Pattern::new(pattern, false, false).unwrap(),
        invert: false,
        before: 0,
        after: 0,
        max_matches: 1000,
        offset: 0,
    };
    change(&mut search);
    Selection::Search(search)
}

/// The result of a search.
#[derive(Debug, Default)]
struct Found {
    lines: Vec<OutputLine>,
    gaps: Vec<(u64, u64)>,
    done: ReadDone,
}

impl World {
    async fn search(&self, id: ExecutionId, selection: Selection) -> Found {
        let mut found = Found::default();
        for part in self.parts(id, Stdout, selection).await.unwrap() {
            match part {
                ReadPart::Line(line) => found.lines.push(line),
                ReadPart::Gap { from, to, .. } => found.gaps.push((from, to)),
                ReadPart::Done(done) => found.done = done,
                ReadPart::Output { .. } => panic!("a search returns lines"),
            }
        }
        found
    }
}

async fn stored(folder: &tempfile::TempDir, bytes: &[u8], cut: Option<(u64, u64)>) -> (World, ExecutionId) {
    let world = World::over(Arc::new(Outputs::local(folder.path()).unwrap()), patient());
    let id = world.run(false);
    world.write(id, Stdout, bytes);
    world.runner.spool(id, Stdout, |spool| spool.cuts = cut.into_iter().collect());
    world.finish(id);
    world.keep(id);
    world.until_output(id, OutputState::Stored).await;
    (world, id)
}

#[tokio::test]
async fn a_match_is_found_wherever_a_chunk_ends_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let word = b"needle\r";
    for split in 0..=word.len() + 2 {
        let mut bytes = b"line\n".repeat(CHUNK / 5);
        bytes.truncate(CHUNK - split - 1);
        let number = bytes.iter().filter(|byte| **byte == b'\n').count() as u64 + 2;
        bytes.push(b'\n');
        let offset = bytes.len() as u64;
        bytes.extend_from_slice(word);
        bytes.extend_from_slice(b"\nlast");
        let live = World::with(patient());
        let running = live.run(false);
        live.write(running, Stdout, &bytes);
        let (world, id) = stored(&folder, &bytes, None).await;
        for (world, id) in [(&live, running), (&world, id)] {
            let found = world.search(id, search("ne+dle", |_| {})).await;
            let [line] = &found.lines[..] else { panic!("{split}: {found:?}") };
            assert_eq!((line.offset, &line.data[..], line.number), (offset, &word[..], number));
            assert_eq!(line.matches, [(0, 6)]);
        }
    }
}

#[tokio::test]
async fn a_gap_stands_in_its_place_and_ends_what_is_known_of_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let bytes: Vec<u8> = (1..=50_000).flat_map(|number| format!("line {number:05}\n").into_bytes()).collect();
    let (from, to) = (1000 * 11 + 4, 40_000 * 11 + 7);
    let (world, id) = stored(&folder, &bytes, Some((from, to))).await;
    let found = world.search(id, search("0$", |search| search.max_matches = 100_000)).await;
    assert_eq!(found.gaps, [(from, to)]);
    let (before, after): (Vec<_>, Vec<_>) = found.lines.iter().partition(|line| line.offset < from);
    assert_eq!(before.len(), 100);
    assert!(before.iter().all(|line| line.number * 11 == line.offset + 11));
    assert_eq!(after.len(), 1000);
    assert!(after.iter().all(|line| line.number == 0));
    // The lines at the gap are shown as far as they are held.
    let found = world.search(id, search("^line \\d+$", |search| search.invert = true)).await;
    let [first, last] = &found.lines[..] else { panic!("{found:?}") };
    assert_eq!((first.offset, &first.data[..], first.truncated), (1000 * 11, &b"line"[..], true));
    assert_eq!((last.offset, &last.data[..], last.truncated), (to, &b"001"[..], false));
}

#[tokio::test(start_paused = true)]
async fn a_search_that_stopped_is_gone_on_with_and_gives_each_match_once() {
    let world = World::new();
    let id = world.run(false);
    let bytes: Vec<u8> = (1..=10_000).flat_map(|number| format!("{number}\n").into_bytes()).collect();
    world.write(id, Stdout, &bytes);
    let mut offset = 0;
    let mut matched = Vec::new();
    loop {
        let found = world
            .search(
                id,
                search("7", |search| {
                    (search.offset, search.max_matches) = (offset, 97);
                    (search.before, search.after) = (2, 3);
                }),
            )
            .await;
        let lines = found.lines.iter().filter(|line| !line.context);
        matched.extend(lines.map(|line| String::from_utf8(line.data.to_vec()).unwrap()));
        assert!(found.done.matches <= 97 && found.done.total == bytes.len() as u64);
        offset = found.done.next_offset;
        if !found.done.more {
            break;
        }
    }
    let expected: Vec<String> =
        (1..=10_000).map(|number: u32| number.to_string()).filter(|number| number.contains('7')).collect();
    assert_eq!(matched, expected);
    assert_eq!(offset, bytes.len() as u64);
}

#[tokio::test(start_paused = true)]
async fn a_line_that_is_not_finished_is_looked_at_again_until_it_matches() {
    let world = World::new();
    let id = world.run(false);
    world.write(id, Stdout, b"ready\nPass");
    let found = world.search(id, search("Password:", |_| {})).await;
    assert_eq!((found.lines.len(), found.done.next_offset, found.done.total), (0, 6, 10));
    world.write(id, Stdout, b"word: ");
    let found = world.search(id, search("Password:", |search| search.offset = 6)).await;
    assert_eq!((found.lines.len(), found.done.next_offset), (1, 16));
    assert!(!found.done.more && !found.done.complete);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_worst_pattern_ends_with_its_reader_and_holds_up_no_other() {
    let world = World::with(patient());
    let (id, other) = (world.run(false), world.run(false));
    // Lines of the maximum length that never match, and where every match attempt is long.
    let letters = (0..8 << 20_u32).map(|at: u32| match at {
        at if at % (64 * 1024) == 0 => b'\n',
        at if at.wrapping_mul(0x9E37_79B1) >> 31 == 0 => b'a',
        _ => b'b',
    });
    world.write(id, Stdout, &letters.collect::<Vec<u8>>());
    world.write(other, Stdout, &b"quick\n".repeat(10_000));
    let mut slow = Vec::new();
    for _ in 0..4 {
        let mut stream = world.open(id, Stdout, search("[ab]*a[ab]{200}z", |_| {})).await.unwrap();
        slow.push(tokio::spawn(async move { stream.next().await }));
    }
    let found = world.search(other, search("^quick$", |search| search.max_matches = 100_000)).await;
    assert_eq!(found.done.matches, 10_000);
    assert!(slow.iter().all(|task| !task.is_finished()), "the searches have not finished half");
    slow.iter().for_each(tokio::task::JoinHandle::abort);
    for task in slow {
        let _ended = task.await;
    }
    assert_eq!(world.streams.readers(), 0);
    // No search continues without its reader.
    world.streams.shut_down().await;
}
