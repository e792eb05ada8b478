//! Output of a command in a local file: binary, byte for byte, whole and in parts; also of a background command
//! that exceeded its output limit.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::{
    fs::{self, File},
    io::Read as _,
    path::PathBuf,
    process::Command,
};

use airlock_client::{Client, OutputPiece, Selection, v1};
use airlock_tests::{
    desk::Airlock,
    process::Process,
    reader::{cause, ended, exit_code, spec, spec_in},
    site::{Site, sha256},
};

/// The number of bytes of a stream that a profile keeps by default.
const KEPT: usize = 64 << 20;

struct Fixture {
    client: Client,
    _server: Process,
    _runner: Process,
    site: Site,
}

impl Fixture {
    async fn new() -> Self {
        let site = Site::new();
        let (server, runner) = (site.server(&[]), site.runner(&[]));
        Self { client: site.ready().await, _server: server, _runner: runner, site }
    }

    /// Returns the output of `airlock logs` with these options, written to a file of the site.
    fn logs_in_file(&self, options: &[&str], id: &str) -> Vec<u8> {
        let path = self.site.path().join("logs");
        let mut command = Airlock::at(&self.site).command(&[&["logs"], options, &[id]].concat());
        let status = command.stdout(File::create(&path).unwrap()).status().unwrap();
        assert!(status.success(), "airlock logs {options:?}");
        fs::read(path).unwrap()
    }

    /// Returns the bytes of ReadOutput, and the number of missing bytes.
    async fn read(&self, id: &str) -> (Vec<u8>, u64) {
        let mut reader = self.client.read_output(id, v1::OutputStream::Stdout, Selection::All);
        let (mut bytes, mut missing) = (Vec::new(), 0);
        while let Some(piece) = reader.next().await.unwrap() {
            match piece {
                OutputPiece::Bytes { offset, data } => {
                    assert_eq!(offset, bytes.len() as u64 + missing);
                    bytes.extend_from_slice(&data);
                }
                OutputPiece::Gap { from, to } => missing += to - from,
                _ => {}
            }
        }
        (bytes, missing)
    }

    /// Creates a file in the base with bytes of every kind, and lines of any length.
    fn blob(&self) -> (PathBuf, Vec<u8>) {
        let mut bytes: Vec<u8> = (0..=255).collect();
        File::open("/dev/urandom").unwrap().take(3 << 20).read_to_end(&mut bytes).unwrap();
        bytes.extend_from_slice(b"\nneedle one\n\xff\xfe needle \x00 two\nno end");
        let path = self.site.base().join("blob");
        fs::write(&path, &bytes).unwrap();
        (path, bytes)
    }
}

/// Returns the output of a program on the host for the file.
fn of_host(program: &str, path: &PathBuf) -> Vec<u8> {
    let words: Vec<&str> = program.split(' ').collect();
    let mut command = Command::new(words.first().unwrap());
    command.args(words.get(1..).unwrap()).arg(path).env("LC_ALL", "C");
    command.output().unwrap().stdout
}

#[tokio::test(flavor = "multi_thread")]
async fn binary_output_is_in_a_file_byte_for_byte_whole_and_in_parts() {
    let fixture = Fixture::new().await;
    let (path, bytes) = fixture.blob();
    let wanted = v1::ExecutionSpec { base: "base".to_owned(), background: true, ..spec("cat blob") };
    let id = fixture.client.start(wanted).await.unwrap().execution_id;
    let end = ended(&fixture.client, &id).await;
    assert_eq!(exit_code(&end), Some(0));
    let (read, missing) = fixture.read(&id).await;
    assert_eq!((sha256(&read), missing), (sha256(&bytes), 0), "ReadOutput");
    assert_eq!(sha256(&fixture.logs_in_file(&[], &id)), sha256(&bytes), "airlock logs > FILE");
    assert_eq!(sha256(&fixture.logs_in_file(&["--follow"], &id)), sha256(&bytes));
    for (options, program) in [
        (&["--head", "100"][..], "head -n 100"),
        (&["--tail", "100"], "tail -n 100"),
        (&["--head", "70001", "--bytes"], "head -c 70001"),
        (&["--tail", "70001", "--bytes"], "tail -c 70001"),
        (&["--grep", "needle"], "grep -a needle"),
        (&["--grep", "needle", "-F", "-n"], "grep -anF needle"),
    ] {
        let (seen, wanted) = (fixture.logs_in_file(options, &id), of_host(program, &path));
        assert!(!wanted.is_empty(), "the control: {program}");
        assert_eq!(sha256(&seen), sha256(&wanted), "{options:?}: {} and {}", seen.len(), wanted.len());
    }
    for (from, to) in [(0, 1), (255, 70_000), (1 << 20, (1 << 20) + 32 * 1024), (3 << 20, bytes.len())] {
        let seen = fixture.logs_in_file(&["--range", &format!("{from}-{to}")], &id);
        assert_eq!(sha256(&seen), sha256(&bytes[from..to]), "{from} to {to}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn in_the_background_a_run_ends_as_it_passes_the_limit_and_what_came_before_is_there() {
    let fixture = Fixture::new().await;
    let new_session = || fixture.client.create_session(v1::SessionServiceCreateRequest::default());
    let (session, other) = (new_session().await.unwrap().session_id, new_session().await.unwrap().session_id);
    // The command does not end, so only its output limit can end it.
    let command = "seq 1 10000000 | head -c 80000000; echo over > over; tail -f /dev/null";
    let in_background = v1::ExecutionSpec { background: true, ..spec_in(&session, command) };
    let loud = fixture.client.start(in_background).await.unwrap().execution_id;
    let end = ended(&fixture.client, &loud).await;
    assert_eq!(cause(&end), v1::CauseCode::OutputLimit, "{end:?}");
    let written = usize::try_from(end.result.unwrap().stdout_bytes).unwrap();
    assert!(written > KEPT, "{written}");

    let whole: Vec<u8> = (1..=10_000_000).flat_map(|number| format!("{number}\n").into_bytes()).collect();
    let (read, missing) = fixture.read(&loud).await;
    assert_eq!(read.len() + usize::try_from(missing).unwrap(), written);
    assert!(read.len() <= KEPT && read[..KEPT / 2] == whole[..KEPT / 2], "the first half");
    let last = read.len() - KEPT / 2;
    assert!(read[KEPT / 2..] == whole[written - last..written], "and the last");
    assert_eq!(sha256(&fixture.logs_in_file(&[], &loud)), sha256(&read), "airlock logs > FILE");

    // The control: in the foreground the middle is cut, and the command continues.
    let quiet = fixture.client.start(spec_in(&other, command)).await.unwrap().execution_id;
    let seen = v1::ExecutionSpec {
        allow_concurrent: true,
        ..spec_in(&other, "until [ -e over ]; do sleep 0.05; done; cat over")
    };
    let seen = airlock_tests::reader::run(&fixture.client, seen).await.unwrap();
    assert_eq!(seen.stdout, b"over\n");
    assert_eq!(fixture.client.execution(&quiet).await.unwrap().state(), v1::ExecutionState::Running);
    fixture.client.cancel(&quiet).await.unwrap();
    let end = ended(&fixture.client, &quiet).await;
    assert_eq!(cause(&end), v1::CauseCode::Cancelled);
    assert!(
        end.result.unwrap().stdout_bytes > KEPT as u64,
        "more than the limit that ended the other command"
    );
}
