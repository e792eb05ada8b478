//! Reads of 64 MiB of output, live and stored: any range, head, tail and search. The command does not run again, memory
//! is bounded, and offsets are the same as in a view.

#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

use std::collections::BTreeMap;

use airlock_client::{
    Client, From, OutputPiece, Selection,
    v1::{self, OutputStream},
};
use airlock_tests::{
    process::Process,
    reader::{read, run, spec_in},
    site::Site,
};
use memchr::{memchr, memchr_iter, memmem};

const SIZE: usize = 64 << 20;
/// The additional memory that a server or runner may use.
const MEMORY: u64 = 24 << 20;

/// A script that writes the same text and binary data each time: numbered lines, and after every sixteenth
/// a block of all bytes without line feeds.
const WRITER: &str = r#"
import sys
block = bytes(b for b in range(256) if b != 10) * 16
out, n, size = bytearray(), 0, 64 << 20
while len(out) < size:
    n += 1
    out += block + b"\n" if n % 16 == 0 else b"line %d of the output\n" % n
sys.stdout.buffer.write(out[:size])
sys.stdout.flush()
"#;

fn expected() -> Vec<u8> {
    let block: Vec<u8> = (0..=255_u8).filter(|byte| *byte != b'\n').collect::<Vec<_>>().repeat(16);
    let (mut out, mut n) = (Vec::with_capacity(SIZE + 4096), 0);
    while out.len() < SIZE {
        n += 1;
        if n % 16 == 0 {
            out.extend_from_slice(&block);
            out.push(b'\n');
        } else {
            out.extend(format!("line {n} of the output\n").into_bytes());
        }
    }
    out.truncate(SIZE);
    out
}

struct Fixture {
    client: Client,
    session: String,
    server: Process,
    runner: Process,
    _site: Site,
}

impl Fixture {
    async fn new() -> Self {
        let site = Site::new();
        let (server, runner) = (site.server(&[]), site.runner(&[]));
        let client = site.ready().await;
        let created = client.create_session(v1::SessionServiceCreateRequest::default()).await.unwrap();
        Self { client, session: created.session_id, server, runner, _site: site }
    }

    fn memory(&self) -> [u64; 2] {
        [self.server.memory(), self.runner.memory()]
    }

    async fn bytes(&self, id: &str, selection: Selection) -> (u64, Vec<u8>) {
        let mut reader = self.client.read_output(id, OutputStream::Stdout, selection.clone());
        let (mut first, mut bytes) = (None, Vec::new());
        while let Some(piece) = reader.next().await.unwrap_or_else(|error| panic!("{selection:?}: {error}")) {
            match piece {
                OutputPiece::Bytes { offset, data } => {
                    let first = *first.get_or_insert(offset);
                    assert_eq!(offset, first + bytes.len() as u64, "{selection:?}");
                    bytes.extend_from_slice(&data);
                }
                OutputPiece::Done(done) => assert_eq!(done.total, SIZE as u64, "{selection:?}"),
                other => panic!("{selection:?}: {other:?}"),
            }
        }
        (first.unwrap_or_default(), bytes)
    }

    async fn lines(&self, id: &str, search: v1::OutputSearch) -> (Vec<v1::OutputLine>, v1::OutputDone) {
        let mut reader = self.client.read_output(id, OutputStream::Stdout, Selection::Search(search));
        let (mut lines, mut end) = (Vec::new(), None);
        while let Some(piece) = reader.next().await.unwrap() {
            match piece {
                OutputPiece::Line(line) => lines.push(line),
                OutputPiece::Done(done) => end = Some(done),
                other => panic!("{other:?}"),
            }
        }
        (lines, end.unwrap())
    }

    async fn is_right(&self, id: &str, expected: &[u8]) {
        self.ranges_are_right(id, expected).await;
        self.edges_are_right(id, expected).await;
        self.searches_are_right(id, expected).await;
    }

    async fn ranges_are_right(&self, id: &str, expected: &[u8]) {
        let mut random = 0x2545_f491_4f6c_dd1d_u64;
        for round in 0..40 {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let offset = usize::try_from(random % SIZE as u64).unwrap();
            let length = usize::try_from((random >> 32) % 300_000).unwrap() + usize::from(round % 3 == 0);
            let (first, bytes) = self
                .bytes(id, Selection::Range { offset: offset as u64, length: length.max(1) as u64 })
                .await;
            let end = (offset + length.max(1)).min(SIZE);
            assert_eq!(first, offset as u64);
            assert!(bytes == expected[offset..end], "{length} bytes from {offset}");
        }
        let (_, all) = self.bytes(id, Selection::All).await;
        assert!(all == expected, "all of the output");
        let past = Selection::Range { offset: SIZE as u64 + 1, length: 1 };
        let error = self.client.read_output(id, OutputStream::Stdout, past).next().await.unwrap_err();
        let rejection = error.rejection().unwrap();
        assert_eq!(rejection.metadata.get("end"), Some(&SIZE.to_string()), "{rejection:?}");
    }

    async fn edges_are_right(&self, id: &str, expected: &[u8]) {
        for lines in [1, 10, 1000, 200_000] {
            let (first, head) = self.bytes(id, Selection::HeadLines(lines as u64)).await;
            let end = ends(expected).nth(lines - 1).unwrap();
            assert!(first == 0 && head == expected[..end], "the first {lines} lines");
            let (first, tail) = self.bytes(id, Selection::TailLines(lines as u64)).await;
            // The last line has no line feed, because it is cut at 64 MiB.
            let begin = ends(expected).nth_back(lines - 1).unwrap();
            assert!(first == begin as u64 && tail == expected[begin..], "the last {lines} lines");
        }
        for bytes in [1, 4096, 100_001] {
            assert!(self.bytes(id, Selection::HeadBytes(bytes as u64)).await.1 == expected[..bytes]);
            assert!(self.bytes(id, Selection::TailBytes(bytes as u64)).await.1 == expected[SIZE - bytes..]);
        }
    }

    async fn searches_are_right(&self, id: &str, expected: &[u8]) {
        let search = |pattern: &str| v1::OutputSearch { pattern: pattern.to_owned(), ..Default::default() };
        let (lines, done) = self.lines(id, search("^line [0-9]*7777 of")).await;
        let wanted: BTreeMap<u64, &[u8]> = (1_u64..)
            .zip(lines_of(expected))
            .filter(|(_, line)| line.starts_with(b"line ") && memmem::find(line, b"7777 of ").is_some())
            .collect();
        assert!(wanted.len() > 2, "{} lines match", wanted.len());
        let found: BTreeMap<u64, &[u8]> = lines.iter().map(|line| (line.number, &line.data[..])).collect();
        assert_eq!(found, wanted);
        for line in &lines {
            let offset = usize::try_from(line.offset).unwrap();
            assert!(expected[offset..].starts_with(&line.data), "the offset of line {}", line.number);
        }
        assert_eq!((done.matches, done.more), (wanted.len() as u64, false));
        let binary = search(r"\x00\x01\x02");
        let (lines, done) = self.lines(id, v1::OutputSearch { max_matches: 3, ..binary.clone() }).await;
        assert_eq!((lines.len(), done.more), (3, true));
        assert!(lines.iter().all(|line| line.data.len() == 255 * 16), "binary lines are whole");
        let (more, _) =
            self.lines(id, v1::OutputSearch { max_matches: 1, offset: done.next_offset, ..binary }).await;
        assert!(more[0].offset > lines[2].offset, "it continues where it stopped");
        let (none, done) = self.lines(id, search("nothing is like this")).await;
        assert!(none.is_empty() && done.matches == 0);
    }
}

/// Returns the offsets after each line feed.
fn ends(bytes: &[u8]) -> impl DoubleEndedIterator<Item = usize> + '_ {
    memchr_iter(b'\n', bytes).map(|index| index + 1)
}

/// Returns the lines without their line feeds.
fn lines_of(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let begins = std::iter::once(0).chain(ends(bytes));
    begins.map(|begin| {
        let rest = &bytes[begin..];
        &rest[..memchr(b'\n', rest).unwrap_or(rest.len())]
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn any_part_of_64_mib_is_read_live_and_stored_in_bounded_memory() {
    let fixture = Fixture::new().await;
    let expected = expected();
    let before = fixture.memory();
    let spec = spec_in(&fixture.session, &format!("python3 -c '{WRITER}'; sleep 600"));
    let id = fixture.client.start(spec).await.unwrap().execution_id;
    let mut view = fixture.client.attach(&id, From::Beginning);
    let mut seen = 0;
    while seen < SIZE {
        if let Some(v1::event::Event::Output(output)) = view.next().await.unwrap().unwrap().event {
            assert_eq!(output.offset, seen as u64);
            assert!(
                output.data == expected[seen..seen + output.data.len()],
                "the view shows the written bytes"
            );
            seen += output.data.len();
        }
    }
    drop(view);
    fixture.is_right(&id, &expected).await;
    fixture.client.cancel(&id).await.unwrap();
    let stored = async {
        while fixture.client.execution(&id).await.unwrap().output_state() != v1::OutputState::Stored {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(airlock_tests::site::PATIENCE, stored).await.unwrap();
    fixture.is_right(&id, &expected).await;
    for (after, before) in fixture.memory().into_iter().zip(before) {
        assert!(after < before + MEMORY, "{before} bytes before, {after} after");
    }
    // A view from an offset and a read from it return the same bytes.
    let offset = SIZE as u64 - 5000;
    let from = From::Offsets { stdout: offset, stderr: 0 };
    let mut tail = Vec::new();
    let mut view = fixture.client.attach(&id, from);
    while let Some(event) = view.next().await.unwrap() {
        if let Some(v1::event::Event::Output(output)) = event.event {
            tail.extend_from_slice(&output.data);
        }
    }
    assert!(tail == expected[SIZE - 5000..]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cut_in_the_middle_is_the_same_gap_for_every_reader() {
    let fixture = Fixture::new().await;
    // 80 MiB, of which the first and the last 32 are kept.
    let story =
        run(&fixture.client, spec_in(&fixture.session, "yes 0123456 | head -c 83886080")).await.unwrap();
    let (cut, total) = (16 << 20, 80 << 20);
    assert_eq!(story.stdout.len() as u64 + story.missing, total, "a fast reader may have received all of it");
    let id = story.end.unwrap().execution_id;
    let mut reader = fixture.client.read_output(&id, OutputStream::Stdout, Selection::All);
    let (mut position, mut gaps) = (0, Vec::new());
    while let Some(piece) = reader.next().await.unwrap() {
        match piece {
            OutputPiece::Bytes { offset, data } => {
                assert_eq!(offset, position);
                position += data.len() as u64;
            }
            OutputPiece::Gap { from, to } => {
                assert_eq!(from, position);
                gaps.push((from, to));
                position = to;
            }
            OutputPiece::Done(done) => assert_eq!((done.total, done.complete), (total, true)),
            OutputPiece::Line(line) => panic!("{line:?}"),
        }
    }
    assert_eq!((position, gaps), (total, vec![(32 << 20, 48 << 20)]));
    let view = read(fixture.client.attach(&id, From::Beginning)).await.unwrap();
    assert_eq!(view.missing, cut, "a view of the stored output has the same gap");
    // Lines after the gap have no number, because the number of lines in the gap is unknown.
    let search = v1::OutputSearch { pattern: "0123456".to_owned(), ..Default::default() };
    let after = v1::OutputSearch { offset: 47 << 20, max_matches: 2, ..search.clone() };
    let mut reader = fixture.client.read_output(&id, OutputStream::Stdout, Selection::Search(after));
    let mut numbers = Vec::new();
    while let Some(piece) = reader.next().await.unwrap() {
        if let OutputPiece::Line(line) = piece {
            numbers.push(line.number);
        }
    }
    assert_eq!(numbers, [0, 0]);
}
