//! Benchmarks of copying a directory: tar to tar on one host, and upload and download over gRPC. Also of
//! searching an output: grep on a file, and a search over gRPC.

#![expect(clippy::unwrap_used, reason = "a benchmark")]

use std::{fs, path::Path, process::Command, time::Duration};

use airlock_benches::{Alternative, print};
use airlock_client::{Client, DirectoryOptions, OutputPiece, Progress, Selection, v1};
use airlock_tests::{
    reader::{run, spec_in},
    site::Site,
};

const ROUNDS: usize = 10;
const FILES: usize = 2000;
const FILE_BYTES: usize = 16 * 1024;

fn make(directory: &Path) {
    for number in 0..FILES {
        let inner = directory.join(format!("d{}", number % 50));
        fs::create_dir_all(&inner).unwrap();
        fs::write(inner.join(format!("f{number}")), format!("{number:016}\n").repeat(FILE_BYTES / 17))
            .unwrap();
    }
}

fn shell(script: &str, directory: &Path) {
    let mut command = Command::new("sh");
    let output = command.args(["-c", script]).current_dir(directory).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

async fn up_and_down(
    client: &Client,
    session: &str,
    from: &Path,
    into: &Path,
    alternatives: &mut [Alternative; 3],
) {
    let options = DirectoryOptions::new(std::env::temp_dir());
    let [tar, up, down] = alternatives;
    // Each measurement creates new files. Those of the previous round are removed before the clock
    // starts.
    shell("rm -rf copy down && mkdir copy", into);
    let emptied = run(client, spec_in(session, "rm -rf tree")).await.unwrap();
    assert_eq!(emptied.exit_code(), Some(0));
    tar.measure(|| shell("tar -C tree -cf - . | tar -C copy -xf -", into));
    let began = std::time::Instant::now();
    client.upload_directory(session, from, b"tree", &options, &Progress::default()).await.unwrap();
    up.note(began.elapsed());
    let target = into.join("down");
    let began = std::time::Instant::now();
    client.download_directory(session, b"tree", &target, &options, &Progress::default()).await.unwrap();
    down.note(began.elapsed());
}

async fn matches(client: &Client, id: &str) -> u64 {
    let pattern = "777777$".to_owned();
    let search = Selection::Search(v1::OutputSearch { pattern, ..Default::default() });
    let mut reader = client.read_output(id, v1::OutputStream::Stdout, search);
    let mut matches = 0;
    while let Some(piece) = reader.next().await.unwrap() {
        if let OutputPiece::Done(done) = piece {
            matches = done.matches;
        }
    }
    matches
}

/// Waits until the output is stored, which can be after the end of the command.
async fn until_stored(client: &Client, id: &str) {
    while client.execution(id).await.unwrap().output_state() != v1::OutputState::Stored {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

fn main() {
    let site = Site::new();
    let (_server, _runner) = (site.server(&[]), site.runner(&[]));
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let client = runtime.block_on(site.ready());
    let session = runtime.block_on(client.create_session(Default::default())).unwrap().session_id;
    let home = site.path().join("home");
    make(&home.join("tree"));
    let mut moving = [
        Alternative::new("tar | tar on one host"),
        Alternative::new("airlock: upload"),
        Alternative::new("airlock: download"),
    ];
    for _ in 0..ROUNDS {
        runtime.block_on(up_and_down(&client, &session, &home.join("tree"), &home, &mut moving));
    }
    print(&format!("moving {FILES} files of {} KiB", FILE_BYTES / 1024), &moving);

    let numbers = "seq 1 7000000";
    shell(&format!("{numbers} > numbers"), &home);
    let story = runtime.block_on(run(&client, spec_in(&session, numbers))).unwrap();
    let id = story.end.unwrap().execution_id;
    runtime.block_on(until_stored(&client, &id));
    let mut searching = [
        Alternative::new("grep on a file"),
        Alternative::new("airlock: ReadOutput{search} of what is stored"),
    ];
    for _ in 0..ROUNDS {
        let [grep, search] = &mut searching;
        grep.measure(|| shell("LC_ALL=C grep -c '777777$' numbers", &home));
        assert_eq!(search.measure(|| runtime.block_on(matches(&client, &id))), 7);
    }
    print("searching 52 MB of output", &searching);
}
