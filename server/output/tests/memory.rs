//! Tests of the memory that a reader of stored output uses, measured at the allocator. nextest runs each test in a
//! process of its own, because the allocations of the whole process are counted.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::Arc;

use airlock_domain::{ExecutionId, ExecutionState, OutputState, OutputStream, RunnerId};
use airlock_output::{
    storage::Outputs,
    stream::{
        Amount, LinkUnavailable, OutputLink, Pattern, ReadDone, ReadOutput, ReadPart, Search, Selection,
        StreamLimits, StreamParts, Streams, Unobserved,
    },
};
use airlock_store::{
    changes::Changes,
    record::ExecutionRecord,
    sqlite::{SqliteOptions, SqliteStore},
    testing::records,
};
use bytes::Bytes;
use futures::TryStreamExt as _;
use peak_alloc::PeakAlloc;
use tokio_util::sync::CancellationToken;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

const TOTAL: u64 = 64 << 20;
const MOST: usize = 1 << 20;
const ALL: Selection = Selection::Range { offset: 0, length: None };

/// Stored output needs no runner.
struct NoRunner;

#[async_trait::async_trait]
impl OutputLink for NoRunner {
    async fn open_output(&self, _: &RunnerId, _: ExecutionId, _: &str) -> Result<(), LinkUnavailable> {
        Err(LinkUnavailable::NotConnected)
    }

    async fn forget_job(&self, _: &RunnerId, _: ExecutionId) -> Result<(), LinkUnavailable> {
        Err(LinkUnavailable::NotConnected)
    }
}

fn stored() -> ExecutionRecord {
    ExecutionRecord { output: OutputState::Stored, ..records::record(ExecutionState::Finished) }
}

struct World {
    streams: Streams,
    outputs: Arc<Outputs>,
    _folder: tempfile::TempDir,
}

impl World {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let outputs = Arc::new(Outputs::local(&folder.path().join("outputs")).unwrap());
        let store = SqliteStore::open(&folder.path().join("db"), SqliteOptions::default()).await.unwrap();
        let streams = Streams::new(StreamParts {
            store,
            outputs: outputs.clone(),
            link: Arc::new(NoRunner),
            changes: Changes::default(),
            server_id: "server-1".to_owned(),
            limits: StreamLimits::default(),
            observer: Arc::new(Unobserved),
            cancel: CancellationToken::new(),
        });
        Self { streams, outputs, _folder: folder }
    }

    /// Stores 64 MiB that repeat `text`.
    async fn store(&self, text: &[u8]) -> ExecutionRecord {
        let record = stored();
        let mut writer = self.outputs.writer(record.id).await.unwrap();
        let block = Bytes::from(text.repeat((1 << 20) / text.len()));
        let mut offset = 0;
        while offset < TOTAL {
            let left = usize::try_from(TOTAL - offset).unwrap().min(block.len());
            writer.append(OutputStream::Stdout, offset, block.slice(..left)).await.unwrap();
            offset += left as u64;
        }
        writer.finish().await.unwrap();
        record
    }

    /// Reads and drops each part at once. Returns the peak memory.
    async fn read(&self, record: &ExecutionRecord, selection: Selection) -> (usize, u64, ReadDone) {
        let record = record.clone();
        MEMORY.reset_peak_usage();
        let before = MEMORY.current_usage();
        let request = ReadOutput { stream: OutputStream::Stdout, selection };
        let mut parts = self.streams.read_output(record, request).await.unwrap();
        let (mut bytes, mut end) = (0, ReadDone::default());
        while let Some(part) = parts.try_next().await.unwrap() {
            match part {
                ReadPart::Output { data, .. } => bytes += data.len() as u64,
                ReadPart::Line(line) => bytes += line.data.len() as u64,
                ReadPart::Gap { .. } => panic!("no output was cut"),
                ReadPart::Done(done) => end = done,
            }
        }
        (MEMORY.peak_usage().saturating_sub(before), bytes, end)
    }
}

fn search(pattern: &str, context: u32) -> Selection {
    Selection::Search(Search {
        pattern: Pattern::new(pattern, false, false).unwrap(),
        invert: false,
        before: context,
        after: context,
        max_matches: 100_000,
        offset: 0,
    })
}

#[tokio::test]
async fn sixty_four_mebibytes_are_read_and_searched_within_one() {
    let world = World::new().await;
    let lines = world.store(b"a line like many others, 48 bytes with its end.\n").await;
    let newlines = world.store(b"\n").await;
    let one_line = world.store(b"x").await;
    let long = world.store(&[vec![b'y'; 60_000], b"\n".to_vec()].concat()).await;
    let reads = [
        (&lines, ALL, TOTAL),
        (&lines, Selection::Tail(Amount::Lines(10)), 480),
        (&lines, Selection::Tail(Amount::Lines(1_000_000)), 48_000_000),
        (&lines, Selection::Head(Amount::Lines(1_000_000)), 48_000_000),
        (&newlines, Selection::Tail(Amount::Lines(1_000_000)), 1_000_000),
        (&one_line, Selection::Tail(Amount::Lines(1)), TOTAL),
        (&one_line, search("x$", 0), 64 * 1024),
        (&lines, search("nowhere", 100), 0),
        (&lines, search("many.*end", 100), 4_700_000),
        (&newlines, search("^$", 0), 0),
        (&long, search("z", 100), 0),
        (&long, search("(y|z)+y$", 1), TOTAL),
    ];
    for (index, (record, selection, expected)) in reads.into_iter().enumerate() {
        let (held, bytes, done) = world.read(record, selection).await;
        assert!(held < MOST, "{held} bytes were held by read {index}");
        assert!(bytes.abs_diff(expected) < 64 * 1024, "{bytes} bytes were returned by read {index}");
        assert_eq!((done.total, done.complete), (TOTAL, true));
    }
    world.streams.shut_down().await;
}
