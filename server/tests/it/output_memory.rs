//! Tests of the memory that a reader of stored output uses in the server, measured at the allocator.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use airlock_domain::{
    CommandSpec, ExecutionId, ExecutionState, Given, Mode, OutputState, OutputStream, RunnerId, SessionId,
};
use airlock_server::{
    outputs::Outputs,
    stream::{
        Amount, OutputLink, Pattern, ReadDone, ReadOutput, ReadPart, Search, Selection, StreamLimits,
        StreamParts, Streams, Unobserved,
    },
    unavailable::LinkUnavailable,
};
use airlock_store::{
    changes::Changes,
    record::{DecisionRecord, ExecutionRecord, ExecutionSpec, Micros, Verdict},
    sqlite::{SqliteOptions, SqliteStore},
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
    ExecutionRecord {
        id: ExecutionId::new(),
        version: 4,
        session_id: SessionId::new(),
        tenant: "one".to_owned(),
        principal: "p".to_owned(),
        request_id: None,
        request_hash: [0; 32],
        spec: ExecutionSpec {
            command: CommandSpec {
                text: b"true".to_vec(),
                directory: b"/workspace".to_vec(),
                timeout: Duration::from_secs(120),
                inline_limit: 30_000,
                ..CommandSpec::default()
            },
            given: Given::default(),
            background: false,
            yield_after: None,
            description: String::new(),
            wait_for_approval: false,
            mode: Mode::Default,
            allow_concurrent: false,
            dangerously_disable_sandbox: false,
            labels: BTreeMap::new(),
        },
        state: ExecutionState::Finished,
        link: None,
        decision: DecisionRecord {
            verdict: Verdict::Allow,
            reason_code: String::new(),
            reason_message: String::new(),
            reason_span: None,
            read_only: false,
            concurrency_safe: false,
            policy_version: Vec::new(),
            encoded: Vec::new(),
        },
        runner_id: None,
        runner_epoch: None,
        attempt: 1,
        owner_server: None,
        lease_until: Micros(0),
        approval_id: None,
        cancel_requested: false,
        backgrounded: None,
        output: OutputState::Stored,
        result: None,
        traceparent: String::new(),
        created: Micros(0),
        queued: Micros(0),
        started: None,
        ended: None,
    }
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
