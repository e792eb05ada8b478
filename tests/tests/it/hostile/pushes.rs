//! A runner that lies on an output stream: with tickets of other executions, and with bytes that were
//! not requested. No reader receives a wrong byte, and the correct output arrives afterwards.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use airlock_client::From;
use airlock_domain::limits::CHUNK_BYTES;
use airlock_proto::{
    runner_v1::{
        self as wire, JobPhase, connect_request::Message as Up, push_output_request::Message as PushUp,
    },
    v1,
};
use airlock_tests::{
    process::until,
    reader::{Story, exit_code, spec},
    site::PATIENCE,
};
use bytes::Bytes;
use tokio::task::JoinHandle;
use tonic::{Code, Status};
use tonic_types::StatusExt as _;

use crate::hostile::{
    fake_runner::{FakePush, FakeRunner, exited},
    fixture::Fixture,
};

/// The correct output of the command.
const TRUTH: &[u8] = b"the truth, the whole truth and nothing but the truth\n";

fn reason(status: &Status) -> String {
    status.get_error_details().error_info().map(|info| info.reason.clone()).unwrap_or_default()
}

fn output_hello(runner_id: &str, execution_id: &str, ticket: &str) -> PushUp {
    PushUp::Hello(wire::OutputHello {
        runner_id: runner_id.to_owned(),
        execution_id: execution_id.to_owned(),
        ticket: ticket.to_owned(),
        missing: false,
    })
}

/// A lying runner with one execution, and a reader of that execution.
struct Stage {
    fixture: Fixture,
    runner: FakeRunner,
    job: wire::StartJob,
    reader: JoinHandle<Story>,
    /// The number of bytes that the reader has received.
    shown: Arc<AtomicUsize>,
}

impl Stage {
    async fn new() -> Self {
        let fixture = Fixture::new().await;
        let mut runner = FakeRunner::linked(&fixture).await;
        let spec = v1::ExecutionSpec { base: "only-here".to_owned(), ..spec("true") };
        let id = fixture.client.start(spec).await.unwrap().execution_id;
        let shown = Arc::new(AtomicUsize::default());
        let reader = {
            let (mut events, shown) = (fixture.client.attach(id, From::Beginning), Arc::clone(&shown));
            tokio::spawn(async move {
                let mut story = Story::default();
                while let Some(event) = events.next().await.unwrap() {
                    story.take(event);
                    shown.store(story.stdout.len(), Ordering::Relaxed);
                }
                story
            })
        };
        let job = runner.takes_one().await;
        Self { fixture, runner, job, reader, shown }
    }

    fn id(&self) -> String {
        self.job.execution_id.clone()
    }

    /// Opens a valid output stream, and returns it with the first requested read.
    async fn push(&mut self) -> (FakePush, wire::Read) {
        push(&mut self.runner, &self.job.execution_id).await
    }

    /// Reports the end and sends the correct output; the reader must receive exactly that.
    async fn the_truth_arrives(mut self) {
        let report = wire::JobReport {
            result: Some(exited(0, TRUTH.len() as u64)),
            ..self.runner.report(&self.id(), self.job.attempt, JobPhase::Ended)
        };
        self.runner.say(Up::Job(report)).await;
        let id = self.id();
        let telling = async {
            loop {
                let (mut push, mut read) = push(&mut self.runner, &id).await;
                loop {
                    answer_truly(&push, &read).await;
                    match push.read().await {
                        Some(next) => read = next,
                        None => break,
                    }
                }
            }
        };
        let story = tokio::select! {
            story = &mut self.reader => story.unwrap(),
            never = telling => never,
        };
        assert_eq!(String::from_utf8_lossy(&story.stdout), String::from_utf8_lossy(TRUTH));
        assert_eq!((story.stderr.len(), story.missing), (0, 0));
        assert_eq!(exit_code(&story.end.unwrap()), Some(0));
        drop(self.runner);
        self.fixture.alone_with_its_runner().await;
        self.fixture.runs_on().await;
    }
}

/// See [`Stage::push`].
async fn push(runner: &mut FakeRunner, execution_id: &str) -> (FakePush, wire::Read) {
    loop {
        let ticket = runner.ticket(execution_id).await;
        // The ticket may have expired by now. Then there is another one.
        if let Ok(mut push) = runner.push(Some(output_hello("runner-2", execution_id, &ticket))).await
            && let Some(read) = push.read().await
        {
            return (push, read);
        }
    }
}

/// Answers one read as an honest runner does.
async fn answer_truly(push: &FakePush, read: &wire::Read) {
    let truth = if read.stream() == v1::OutputStream::Stdout { TRUTH } else { b"" };
    let from = usize::try_from(read.offset).unwrap().min(truth.len());
    let length = usize::try_from(read.max_bytes).unwrap().min(truth.len() - from);
    if length > 0 {
        let data = Bytes::copy_from_slice(&truth[from..from + length]);
        push.say(PushUp::Chunk(wire::OutputChunk { read_id: read.read_id, offset: read.offset, data })).await;
    }
    let done = wire::ReadDone {
        read_id: read.read_id,
        offset: (from + length) as u64,
        end: from + length == truth.len(),
        total: truth.len() as u64,
    };
    push.say(PushUp::Done(done)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tickets_open_one_stream_of_one_execution_to_one_runner() {
    let mut stage = Stage::new().await;
    let id = stage.id();
    let unknown = "01900000-0000-7000-8000-000000000000";
    let malformed = (Code::InvalidArgument, "MALFORMED_MESSAGE");
    let not_known = (Code::FailedPrecondition, "TICKET_UNKNOWN");
    let cases = [
        ("no ticket", Some(output_hello("runner-2", &id, "")), not_known),
        ("a guess", Some(output_hello("runner-2", &id, "00000000000040008000000000000000")), not_known),
        ("a long guess", Some(output_hello("runner-2", &id, &"t".repeat(500_000))), not_known),
        (
            "another runner's name",
            Some(output_hello("runner-1", &id, "t")),
            (Code::PermissionDenied, "FORBIDDEN"),
        ),
        ("no runner", Some(output_hello("", &id, "t")), malformed),
        ("no execution", Some(output_hello("runner-2", "../..", "t")), malformed),
        ("a chunk first", Some(PushUp::Chunk(wire::OutputChunk::default())), malformed),
        ("an end first", Some(PushUp::Done(wire::ReadDone::default())), malformed),
        ("nothing first", None, malformed),
    ];
    for (what, hello, (code, expected)) in cases {
        let status = match stage.runner.push(hello).await {
            Err(status) => status,
            Ok(push) => push.end().await,
        };
        assert_eq!((status.code(), reason(&status).as_str()), (code, expected), "{what}: {status:?}");
    }
    let ticket = stage.runner.ticket(&id).await;
    let other = stage.runner.push(Some(output_hello("runner-2", unknown, &ticket))).await.err().unwrap();
    assert_eq!(
        (other.code(), reason(&other).as_str()),
        (Code::PermissionDenied, "TICKET_OF_ANOTHER"),
        "{other:?}"
    );
    let good = stage.runner.push(Some(output_hello("runner-2", &id, &ticket))).await;
    let good = good
        .unwrap_or_else(|status| panic!("control: attempts of others have not used the limit: {status:?}"));
    let used = stage.runner.push(Some(output_hello("runner-2", &id, &ticket))).await.err().unwrap();
    assert_eq!(
        (used.code(), reason(&used).as_str()),
        (Code::FailedPrecondition, "TICKET_UNKNOWN"),
        "{used:?}"
    );
    drop(good);
    Box::pin(stage.the_truth_arrives()).await;
}

/// A lie in response to a read.
type Lie = fn(&wire::Read) -> Vec<PushUp>;

fn chunk(read: &wire::Read, offset: u64, length: usize) -> PushUp {
    let data = Bytes::from(vec![b'!'; length]);
    PushUp::Chunk(wire::OutputChunk { read_id: read.read_id, offset, data })
}

fn gap(read: &wire::Read, from: u64, to: u64) -> PushUp {
    PushUp::Gap(wire::OutputGap { read_id: read.read_id, from, to })
}

fn done(read: &wire::Read, offset: u64, end: bool) -> PushUp {
    PushUp::Done(wire::ReadDone { read_id: read.read_id, offset, end, total: offset })
}

/// Each violates the protocol in its first message, so none of its bytes may be delivered.
const LIES: [(&str, Lie); 14] = [
    ("a chunk nobody asked for", |read| {
        vec![chunk(&wire::Read { read_id: read.read_id + 1000, ..*read }, 0, 10)]
    }),
    ("a chunk of read 0", |read| vec![chunk(&wire::Read { read_id: 0, ..*read }, 0, 10)]),
    ("a later offset", |read| vec![chunk(read, read.offset + 1, 10)]),
    ("the last offset", |read| vec![chunk(read, u64::MAX, 10)]),
    ("an empty chunk", |read| vec![chunk(read, read.offset, 0)]),
    ("a chunk over its size", |read| vec![chunk(read, read.offset, CHUNK_BYTES + 1)]),
    ("a chunk far over its size", |read| vec![chunk(read, read.offset, 900_000)]),
    ("a gap from nowhere", |read| vec![gap(read, read.offset + 1, read.offset + 5)]),
    ("a gap backwards", |read| vec![gap(read, read.offset, read.offset)]),
    ("an end of an unknown read", |read| vec![done(&wire::Read { read_id: 77_777, ..*read }, 0, true)]),
    ("an end elsewhere", |read| vec![done(read, read.offset + 1, true)]),
    ("an end at the last offset", |read| vec![done(read, u64::MAX, false)]),
    ("a second hello", |_| vec![output_hello("runner-2", "01900000-0000-7000-8000-000000000000", "t")]),
    ("the end of a waiting read that is none", |read| vec![done(read, read.offset, false)]),
];

#[tokio::test(flavor = "multi_thread")]
async fn bytes_that_were_not_asked_for_end_their_stream_and_no_reader_sees_them() {
    let mut stage = Stage::new().await;
    for (what, lie) in LIES {
        let (push, read) = stage.push().await;
        for message in lie(&read) {
            push.say(message).await;
        }
        // The status may be OK, because the server need not give such a runner a reason.
        let status = push.end().await;
        assert!(matches!(status.code(), Code::Ok | Code::InvalidArgument), "{what}: {status:?}");
        assert!(!stage.reader.is_finished(), "{what}: its reader is not affected");
    }
    Box::pin(stage.the_truth_arrives()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn more_bytes_than_there_was_credit_for_end_the_stream() {
    let mut stage = Stage::new().await;
    let (push, read) = stage.push().await;
    assert!(read.max_bytes >= 1 && read.follow, "{read:?}");
    // Bytes within the credit count as the command's output and are delivered; they cannot be
    // verified. Bytes beyond the credit end the stream.
    let mut sent = 0;
    while sent <= read.max_bytes + 4 * CHUNK_BYTES as u64 {
        let length = CHUNK_BYTES as u64;
        let message = chunk(&read, read.offset + sent, CHUNK_BYTES);
        let message = wire::PushOutputRequest { message: Some(message) };
        if tokio::time::timeout(PATIENCE, push.outgoing.send(message)).await.unwrap().is_err() {
            break;
        }
        sent += length;
    }
    let status = push.end().await;
    assert!(matches!(status.code(), Code::Ok | Code::InvalidArgument), "{status:?}");
    // The runner has only damaged its own command.
    let Stage { fixture, runner, job, reader, .. } = stage;
    fixture.client.cancel(&job.execution_id).await.unwrap();
    reader.abort();
    drop(runner);
    fixture.alone_with_its_runner().await;
    fixture.runs_on().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_of_the_wrong_size_end_the_stream_with_its_reason() {
    let mut stage = Stage::new().await;
    let (push, read) = stage.push().await;
    push.say(chunk(&read, read.offset, 2 << 20)).await;
    let status = push.end().await;
    assert_eq!(
        (status.code(), reason(&status).as_str()),
        (Code::InvalidArgument, "MESSAGE_TOO_LARGE"),
        "{status:?}"
    );
    let (push, read) = stage.push().await;
    push.say(chunk(&read, read.offset, CHUNK_BYTES + 1)).await;
    let status = push.end().await;
    assert_eq!(
        (status.code(), reason(&status).as_str()),
        (Code::InvalidArgument, "MALFORMED_MESSAGE"),
        "{status:?}"
    );
    let details = status.get_error_details();
    assert_eq!(details.bad_request().unwrap().field_violations[0].field, "chunk.data");
    Box::pin(stage.the_truth_arrives()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_that_are_cut_in_the_middle_lose_and_double_nothing() {
    let mut stage = Stage::new().await;
    let half = TRUTH.len() / 2;
    for turn in 0..10 {
        let (push, read) = stage.push().await;
        if turn == 5 {
            // A part of the correct output, and then no data.
            assert_eq!(read.offset, 0);
            let data = Bytes::from_static(&TRUTH[..half]);
            push.say(PushUp::Chunk(wire::OutputChunk { read_id: read.read_id, offset: 0, data })).await;
            until("its reader has the bytes", PATIENCE, || stage.shown.load(Ordering::Relaxed) == half);
        } else if turn > 5 {
            assert_eq!(read.offset, half as u64, "it continues at its position");
        }
        drop(push);
    }
    Box::pin(stage.the_truth_arrives()).await;
}
