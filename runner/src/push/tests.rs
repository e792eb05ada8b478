//! Tests of the pull protocol with correct, slow and hostile servers.

use std::time::Duration;

use airlock_domain::{
    ExecutionId, OutputStream,
    limits::{CHUNK_BYTES, READS_AT_ONCE},
};
use bytes::Bytes;
use tokio::task::JoinHandle;
use tokio_stream::wrappers::ReceiverStream;

use super::*;
use crate::spool::{Spools, Writers};

/// The timeout of each wait.
const PATIENCE: Duration = Duration::from_secs(120);

struct Fixture {
    _dir: tempfile::TempDir,
    spools: Spools,
    id: ExecutionId,
    writers: Option<Writers>,
    to_runner: Option<mpsc::Sender<PushToRunner>>,
    from_runner: mpsc::Receiver<PushFromRunner>,
    task: JoinHandle<PushEnd>,
}

impl Fixture {
    fn new(separate_stderr: bool) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let spools = Spools::open(dir.path(), 1 << 30).unwrap();
        let id = ExecutionId::new();
        let (spool, writers) = spools.create(id, 256 << 10, separate_stderr, 30_000).unwrap();
        let (to_runner, incoming) = mpsc::channel(64);
        let (outgoing, from_runner) = mpsc::channel(4);
        let task = tokio::spawn(serve(spool, ReceiverStream::new(incoming), outgoing));
        let (writers, to_runner) = (Some(writers), Some(to_runner));
        Self { _dir: dir, spools, id, writers, to_runner, from_runner, task }
    }

    fn write(&mut self, bytes: &[u8]) {
        self.writers.as_mut().unwrap().stdout.write(bytes).unwrap();
    }

    async fn read(&self, read_id: u32, offset: u64, max_bytes: u64, follow: bool) {
        let stream = OutputStream::Stdout;
        let read = PushToRunner::Read { read_id, stream, offset, max_bytes, follow };
        self.to_runner.as_ref().unwrap().send(read).await.unwrap();
    }

    async fn next(&mut self) -> PushFromRunner {
        tokio::time::timeout(PATIENCE, self.from_runner.recv()).await.unwrap().unwrap()
    }

    async fn end(self) -> PushEnd {
        tokio::time::timeout(PATIENCE, self.task).await.unwrap().unwrap()
    }
}

fn chunk(read_id: u32, offset: u64, data: &'static [u8]) -> PushFromRunner {
    PushFromRunner::Chunk { read_id, offset, data: Bytes::from_static(data) }
}

fn done(read_id: u32, offset: u64, end: bool, total: u64) -> PushFromRunner {
    PushFromRunner::Done { read_id, offset, end, total }
}

#[tokio::test]
async fn a_following_read_gets_bytes_as_they_come_and_then_the_end() {
    let mut it = Fixture::new(false);
    it.read(1, 0, 1000, true).await;
    it.write(b"hello ");
    assert_eq!(it.next().await, chunk(1, 0, b"hello "));
    it.write(b"world");
    assert_eq!(it.next().await, chunk(1, 6, b"world"));
    it.writers = None;
    assert_eq!(it.next().await, done(1, 11, true, 11));
    it.to_runner = None;
    assert!(matches!(it.end().await, PushEnd::Closed));
}

#[tokio::test]
async fn a_plain_read_ends_at_what_there_is_and_credit_is_kept_to() {
    let mut it = Fixture::new(false);
    it.write(b"0123456789");
    it.read(1, 2, 100, false).await;
    assert_eq!(it.next().await, chunk(1, 2, b"23456789"));
    assert_eq!(it.next().await, done(1, 10, false, 10));
    it.read(2, 2, 3, true).await;
    assert_eq!(it.next().await, chunk(2, 2, b"234"));
    assert_eq!(it.next().await, done(2, 5, false, 10));
    it.read(3, 7, 0, true).await;
    assert_eq!(it.next().await, done(3, 7, false, 10));
    // A read without credit asks for the length of the stream and whether it can grow.
    it.read(4, u64::MAX, 0, false).await;
    assert_eq!(it.next().await, done(4, u64::MAX, false, 10));
    it.writers = None;
    it.read(5, u64::MAX, 0, false).await;
    assert_eq!(it.next().await, done(5, 10, true, 10));
}

#[tokio::test]
async fn small_writes_are_put_together() {
    let mut it = Fixture::new(false);
    it.read(1, 0, 1 << 20, true).await;
    it.write(b"x");
    assert_eq!(it.next().await, chunk(1, 0, b"x"));
    for _ in 0..1000 {
        it.write(b"y");
    }
    it.writers = None;
    let mut chunks = 0;
    while !matches!(it.next().await, PushFromRunner::Done { .. }) {
        chunks += 1;
    }
    assert!(chunks < 100, "{chunks} chunks for 1000 bytes");
}

#[tokio::test]
async fn the_cut_middle_is_a_gap_and_costs_no_credit() {
    let mut it = Fixture::new(false);
    let half = 128_u64 << 10;
    it.write(&vec![7; 1 << 20]);
    it.writers = None;
    it.read(1, half - 10, 30, true).await;
    assert!(matches!(it.next().await, PushFromRunner::Chunk { data, .. } if data.len() == 10));
    let to = (1 << 20) - half;
    assert_eq!(it.next().await, PushFromRunner::Gap { read_id: 1, from: half, to });
    assert!(
        matches!(it.next().await, PushFromRunner::Chunk { data, offset, .. } if data.len() == 20 && offset == to)
    );
    assert_eq!(it.next().await, done(1, to + 20, false, 1 << 20));
}

#[tokio::test]
async fn reads_take_turns() {
    let mut it = Fixture::new(false);
    it.write(&vec![1; 200 << 10]);
    for id in 0..READS_AT_ONCE as u32 {
        it.read(id, 0, 64 << 10, false).await;
    }
    let mut seen = [0_u32; READS_AT_ONCE];
    for _ in 0..3 * READS_AT_ONCE {
        match it.next().await {
            PushFromRunner::Chunk { read_id, data, .. } => {
                assert!(data.len() <= CHUNK_BYTES);
                seen[read_id as usize] += 1;
            }
            PushFromRunner::Done { read_id, .. } => assert_eq!(seen[read_id as usize], 2),
            other => panic!("{other:?}"),
        }
        let (most, least) = (seen.iter().max().unwrap(), seen.iter().min().unwrap());
        assert!(most - least <= 2, "{seen:?}");
    }
}

#[tokio::test]
async fn a_stopped_server_does_not_hold_up_the_writer() {
    let mut it = Fixture::new(false);
    it.read(1, 0, u64::MAX, true).await;
    // Fill the queue of a server that does not read.
    while it.from_runner.capacity() > 0 {
        it.write(&vec![3; 100_000]);
        tokio::task::yield_now().await;
    }
    // No other task runs on this thread: a wait here would never end.
    for _ in 0..100 {
        it.write(&vec![3; 100_000]);
    }
    assert_eq!(it.from_runner.capacity(), 0, "no server has read");
    it.to_runner = None;
    assert!(matches!(it.end().await, PushEnd::Closed));
}

#[tokio::test]
async fn absurd_offsets_wait_or_end_and_harm_nobody() {
    let mut it = Fixture::new(false);
    it.write(b"abc");
    it.read(1, u64::MAX, u64::MAX, true).await;
    it.read(2, u64::MAX - 1, 5, false).await;
    assert_eq!(it.next().await, done(2, u64::MAX - 1, false, 3));
    it.to_runner.as_ref().unwrap().send(PushToRunner::Cancel { read_id: 77 }).await.unwrap();
    it.writers = None;
    assert_eq!(it.next().await, done(1, 3, true, 3));
}

#[tokio::test]
async fn too_many_reads_or_one_id_twice_close_the_stream() {
    let it = Fixture::new(false);
    for id in 0..=READS_AT_ONCE as u32 {
        it.read(id, 0, 10, true).await;
    }
    assert!(matches!(it.end().await, PushEnd::Protocol(_)));
    let it = Fixture::new(false);
    it.read(4, 0, 10, true).await;
    it.read(4, 0, 10, true).await;
    assert!(matches!(it.end().await, PushEnd::Protocol(_)));
}

#[tokio::test]
async fn stderr_that_is_not_apart_is_empty_and_a_deleted_spool_closes_the_stream() {
    let mut it = Fixture::new(false);
    let stream = OutputStream::Stderr;
    let read = PushToRunner::Read { read_id: 9, stream, offset: 0, max_bytes: 10, follow: true };
    it.to_runner.as_ref().unwrap().send(read).await.unwrap();
    assert_eq!(it.next().await, done(9, 0, true, 0));
    it.read(1, 0, 10, true).await;
    it.spools.remove(&it.id).unwrap();
    assert!(matches!(it.end().await, PushEnd::Removed));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_of_what_is_cut_while_it_is_written_gets_bytes_behind_each_gap() {
    let dir = tempfile::tempdir().unwrap();
    let spools = Spools::open(dir.path(), 1 << 30).unwrap();
    let (spool, mut writers) = spools.create(ExecutionId::new(), 4 << 20, false, 30_000).unwrap();
    let (to_runner, incoming) = mpsc::channel(64);
    let (outgoing, mut from_runner) = mpsc::channel(4);
    let task = tokio::spawn(serve(spool, ReceiverStream::new(incoming), outgoing));
    let writing = tokio::task::spawn_blocking(move || {
        for _ in 0..1024 {
            writers.stdout.write(&[b'x'; 64 << 10]).unwrap();
        }
    });
    let stream = OutputStream::Stdout;
    let read = PushToRunner::Read { read_id: 1, stream, offset: 0, max_bytes: 1 << 30, follow: true };
    to_runner.send(read).await.unwrap();
    let (mut chunks, mut gaps, mut at) = (0_u64, 0_u64, 0);
    loop {
        match tokio::time::timeout(PATIENCE, from_runner.recv()).await.unwrap().unwrap() {
            PushFromRunner::Chunk { offset, data, .. } => {
                assert_eq!(offset, at);
                at += data.len() as u64;
                chunks += 1;
            }
            PushFromRunner::Gap { from, to, .. } => {
                assert_eq!(from, at);
                at = to;
                gaps += 1;
                // The limit of the server; see its `GAPS_PER_READ`.
                assert!(gaps <= chunks + 16, "{gaps} gaps with {chunks} chunks");
            }
            PushFromRunner::Done { offset, end, .. } => {
                assert!(end && offset == 64 << 20, "{offset}");
                break;
            }
            PushFromRunner::Hello { .. } => panic!("no server asked for its identity"),
        }
    }
    writing.await.unwrap();
    drop(to_runner);
    assert!(matches!(task.await.unwrap(), PushEnd::Closed));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_of_output_that_is_deleted_meanwhile_gets_no_gap() {
    let dir = tempfile::tempdir().unwrap();
    let spools = Arc::new(Spools::open(dir.path(), 1 << 30).unwrap());
    for _ in 0..200 {
        let id = ExecutionId::new();
        let (spool, mut writers) = spools.create(id, 4 << 20, false, 30_000).unwrap();
        writers.stdout.write(&[b'x'; 512 << 10]).unwrap();
        drop(writers);
        let (to_runner, incoming) = mpsc::channel(64);
        let (outgoing, mut from_runner) = mpsc::channel(4);
        let task = tokio::spawn(serve(spool, ReceiverStream::new(incoming), outgoing));
        let (stream, max_bytes) = (OutputStream::Stdout, 1 << 30);
        let read = PushToRunner::Read { read_id: 1, stream, offset: 0, max_bytes, follow: false };
        to_runner.send(read).await.unwrap();
        let removing = tokio::task::spawn_blocking({
            let spools = Arc::clone(&spools);
            move || spools.remove(&id).unwrap()
        });
        while let Some(answer) = tokio::time::timeout(PATIENCE, from_runner.recv()).await.unwrap() {
            match answer {
                PushFromRunner::Chunk { .. } => {}
                PushFromRunner::Done { offset, .. } if offset == 512 << 10 => break,
                other => panic!("the bytes are stored elsewhere, and it answers {other:?}"),
            }
        }
        removing.await.unwrap();
        assert!(matches!(task.await.unwrap(), PushEnd::Removed));
    }
}
