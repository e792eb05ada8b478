//! Readers at a kilobyte per second. They do not block the command, other readers or a Cancel. They receive every byte
//! that is kept, and each gap.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

use std::time::Duration;

use airlock_client::{Client, OutputPiece, Selection, v1};
use airlock_tests::{
    process::{Process, until},
    reader::{Story, cause, ended, exit_code, replay, run, spec_in},
    site::{Extras, PATIENCE, Site, sha256},
    trickle::Trickle,
};

const KILOBYTE: usize = 1024;
const READERS: usize = 5;
/// The number of bytes that the profile keeps of each stream.
const KEPT: usize = 4_000_000;
const PROFILE: &str = "name = \"small\"\nextends = \"sandboxed\"\n[limits]\noutput_bytes = 4000000\ntimeout_default = \"10m\"\n";
const LAST: usize = 2_000_000;

struct Fixture {
    client: Client,
    session: String,
    _server: Process,
    _runner: Process,
    site: Site,
}

impl Fixture {
    async fn new() -> Self {
        let profiles = vec![("small".to_owned(), PROFILE.to_owned())];
        let site = Site::with(Extras { profiles, ..Extras::default() });
        let (server, runner) = (site.server(&[]), site.runner(&[]));
        let client = site.ready().await;
        let wanted = v1::SessionServiceCreateRequest { profile: "small".to_owned(), ..Default::default() };
        let session = client.create_session(wanted).await.unwrap().session_id;
        Self { client, session, _server: server, _runner: runner, site }
    }

    async fn start(&self, command: &str) -> String {
        let spec = v1::ExecutionSpec { allow_concurrent: true, ..spec_in(&self.session, command) };
        self.client.start(spec).await.unwrap().execution_id
    }

    /// Waits until a command has written this number of bytes to standard output.
    async fn written(&self, id: &str, bytes: usize) {
        let deadline = tokio::time::Instant::now() + PATIENCE;
        loop {
            let mut reader = self.client.read_output(id, v1::OutputStream::Stdout, Selection::TailBytes(1));
            while let Some(piece) = reader.next().await.unwrap() {
                match piece {
                    OutputPiece::Done(done) if done.total >= bytes as u64 => return,
                    _ => {}
                }
            }
            assert!(tokio::time::Instant::now() < deadline, "it does not write so much");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Starts slow readers, and waits until each has received something.
    async fn slow_readers(&self, id: &str) -> Vec<Trickle> {
        let mut readers = Vec::new();
        for _ in 0..READERS {
            readers.push(Trickle::attach(&self.site, id, KILOBYTE).await);
        }
        for reader in &readers {
            until("it takes its kilobyte", PATIENCE, || reader.taken() > KILOBYTE);
        }
        readers
    }
}

fn numbers() -> Vec<u8> {
    (1..=LAST).map(|number| format!("{number}\n")).collect::<String>().into_bytes()
}

/// Returns `whole` without the gaps that the reader received.
fn without_gaps(whole: &[u8], story: &Story) -> Vec<u8> {
    let (mut left, mut at) = (Vec::new(), 0);
    for (from, to) in story.gaps.iter().map(|(from, to)| (*from as usize, *to as usize)) {
        left.extend_from_slice(&whole[at..from]);
        at = to;
    }
    left.extend_from_slice(&whole[at..]);
    left
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_readers_delay_nobody_and_receive_the_kept_output_and_a_gap() {
    let fixture = Fixture::new().await;
    let id = fixture.start(&format!("until [ -e go ]; do sleep 0.05; done; seq 1 {LAST}")).await;
    let ahead = fixture.start("seq 1 200000; until [ -e go ]; do sleep 0.05; done").await;
    // They wait in the middle of one command's output, and before that of another.
    let (slow, mut slow_too) = (fixture.slow_readers(&ahead).await, Vec::new());
    for _ in 0..READERS {
        slow_too.push(Trickle::attach(&fixture.site, &id, KILOBYTE).await);
    }
    let fast = {
        let (client, id) = (fixture.site.client().await, id.clone());
        tokio::spawn(async move { replay(&client, &id).await.unwrap() })
    };
    fixture.start("touch go").await;

    let whole = numbers();
    let fast = fast.await.unwrap();
    assert_eq!(fast.exit_code(), Some(0), "another reader reaches the end");
    assert!(
        fast.stdout == without_gaps(&whole, &fast),
        "with all output except reported gaps: {:?}",
        fast.gaps
    );
    let end = ended(&fixture.client, &id).await;
    assert_eq!(exit_code(&end), Some(0), "and so does the command");
    let next = run(&fixture.client, spec_in(&fixture.session, "echo next")).await.unwrap();
    assert_eq!((next.exit_code(), next.stdout.as_slice()), (Some(0), &b"next\n"[..]), "and the one after it");
    for reader in slow.iter().chain(&slow_too) {
        assert!(reader.is_reading() && reader.taken() < KEPT / 2, "the control: {} taken", reader.taken());
    }

    for reader in slow {
        assert_eq!(sha256(&reader.hurry().await.stdout), sha256(&whole[..1_288_895]), "every byte once");
    }
    for reader in slow_too {
        let story = reader.hurry().await;
        assert_eq!(story.exit_code(), Some(0));
        assert!(story.stdout == without_gaps(&whole, &story), "every byte once: {:?}", story.gaps);
        let (cut, _) = *story.gaps.first().expect("its middle was cut");
        assert!(cut as usize >= KEPT / 2 && story.stdout.len() >= KEPT, "all that is kept: {:?}", story.gaps);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_does_not_wait_for_them() {
    let fixture = Fixture::new().await;
    let id = fixture.start("yes 'no end to this'").await;
    let slow = fixture.slow_readers(&id).await;
    fixture.written(&id, KEPT).await;
    fixture.client.cancel(&id).await.unwrap();
    let end = ended(&fixture.client, &id).await;
    assert_eq!(cause(&end), v1::CauseCode::Cancelled);
    for reader in &slow {
        assert!(reader.is_reading() && reader.taken() < KEPT / 2, "the control: {} taken", reader.taken());
    }
    for reader in slow {
        let story = reader.hurry().await;
        assert_eq!(cause(&story.end.unwrap()), v1::CauseCode::Cancelled, "they receive the end");
        let total = end.result.as_ref().unwrap().stdout_bytes;
        assert_eq!(story.stdout.len() as u64 + story.missing, total);
        let line = b"no end to this\n";
        assert!(story.stdout[..KEPT / 2].chunks(line.len()).all(|chunk| line.starts_with(chunk)));
    }
}
