//! Tests of uploads and downloads.

use std::{io::Cursor, time::Duration};

use tokio::task::JoinSet;

use super::fake::{Fake, Lie, serve};
use crate::{
    ClientError, Patience, Progress,
    testing::{Direction, Rng, client, quick, relay},
    v1::{FileFormat, FileServiceDownloadRequest, UploadHeader},
};

fn content(length: usize) -> Vec<u8> {
    (0..length).map(|index| (index * 7 + index / 251) as u8).collect()
}

fn header() -> UploadHeader {
    UploadHeader { session_id: "s".to_owned(), format: FileFormat::File.into(), ..Default::default() }
}

#[tokio::test]
async fn an_upload_arrives_whole_and_once_through_every_cut() {
    for seed in 0..6 {
        let mut tasks = JoinSet::new();
        let fake = Fake::new("", FileFormat::File, Lie::None);
        let server = serve(fake.clone(), &mut tasks).await;
        let address = relay(server, Direction::Up, 12, Rng::new(seed), &mut tasks).await;
        let sent = content(100_000 + 40_000 * seed as usize);
        let progress = Progress::default();
        let mut source = Cursor::new(sent.clone());
        let answer = client(address, quick()).upload(header(), &mut source, &progress).await.unwrap();
        assert_eq!(answer.received, sent.len() as u64, "seed {seed}");
        assert_eq!(progress.bytes(), sent.len() as u64, "seed {seed}");
        let uploads = fake.uploads.lock().unwrap();
        assert_eq!(uploads.values().collect::<Vec<_>>(), [&sent], "one transfer, seed {seed}");
        assert!(*fake.calls.lock().unwrap() > 3, "the connection was cut, seed {seed}");
    }
}

#[tokio::test]
async fn an_empty_upload_is_one_too() {
    let mut tasks = JoinSet::new();
    let fake = Fake::new("", FileFormat::File, Lie::None);
    let address = serve(fake.clone(), &mut tasks).await;
    let mut source = Cursor::new(Vec::new());
    let answer = client(address, quick()).upload(header(), &mut source, &Progress::default()).await.unwrap();
    assert_eq!((answer.received, *fake.done.lock().unwrap()), (0, 1));
}

#[tokio::test]
async fn a_server_that_goes_on_elsewhere_each_time_is_not_followed_for_ever() {
    let mut tasks = JoinSet::new();
    let fake = Fake::new("", FileFormat::File, Lie::Ends);
    let address = serve(fake.clone(), &mut tasks).await;
    let mut source = Cursor::new(content(100_000));
    let patience = Patience { call: Duration::from_millis(50), ..quick() };
    let sent = client(address, patience).upload(header(), &mut source, &Progress::default()).await;
    assert!(sent.unwrap_err().to_string().contains("does not keep the sent bytes"));
    assert!(*fake.calls.lock().unwrap() < 500);
}

#[tokio::test]
async fn a_full_disk_is_told_with_its_path_and_a_remedy() {
    let mut tasks = JoinSet::new();
    let address = serve(Fake::new("new", FileFormat::File, Lie::None), &mut tasks).await;
    let client = client(address, quick());
    let full = client.download_file("s", b"file", "/dev/full".as_ref(), &Progress::default()).await;
    let error = full.unwrap_err().to_string();
    assert!(
        error.starts_with("cannot write `/dev/full`: ") && error.contains("; free space there"),
        "{error}"
    );
}

#[tokio::test]
async fn a_download_arrives_whole_through_every_cut() {
    for seed in 0..6 {
        let mut tasks = JoinSet::new();
        let sent = content(60_000);
        let fake = Fake::new(sent.clone(), FileFormat::File, Lie::None);
        let server = serve(fake.clone(), &mut tasks).await;
        let address = relay(server, Direction::Down, 12, Rng::new(seed), &mut tasks).await;
        let mut came = Vec::new();
        let mut download = client(address, quick()).download(FileServiceDownloadRequest::default(), u64::MAX);
        let done = download.copy_to(&mut came, &Progress::default()).await.unwrap();
        assert!(came == sent, "seed {seed}");
        assert_eq!(done.size, sent.len() as u64);
        assert!(*fake.calls.lock().unwrap() > 3, "the connection was cut, seed {seed}");
    }
}

#[tokio::test]
async fn a_lying_download_is_an_error_and_its_file_never_appears() {
    let short = Duration::from_millis(50);
    let patience = Patience { call: short, ..quick() };
    for (lie, says) in [
        (Lie::Hash, "do not match the announced hash"),
        (Lie::Hole, "skipped bytes"),
        (Lie::Transfer, "another transfer"),
        (Lie::Cut, "ended before its last byte"),
        (Lie::Silent, "no data arrives"),
    ] {
        let mut tasks = JoinSet::new();
        let address = serve(Fake::new(content(9000), FileFormat::File, lie), &mut tasks).await;
        let directory = tempfile::tempdir().unwrap();
        let to = directory.path().join("file");
        std::fs::write(&to, "before").unwrap();
        // A lie is detected even if it arrives slowly. The client stops waiting for a silent server after `silence`.
        let silence = if lie == Lie::Silent { 4 * short } else { patience.silence };
        let client = client(address, Patience { silence, ..patience });
        let error = client.download_file("s", b"file", &to, &Progress::default()).await.unwrap_err();
        assert!(error.to_string().contains(says), "{lie:?}: {error}");
        assert_eq!(std::fs::read(&to).unwrap(), b"before", "{lie:?}");
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1, "{lie:?}");
    }
    let mut tasks = JoinSet::new();
    let address = serve(Fake::new("", FileFormat::File, Lie::Endless), &mut tasks).await;
    let mut download = client(address, patience).download(FileServiceDownloadRequest::default(), 1_000_000);
    let error = download.copy_to(&mut tokio::io::sink(), &Progress::default()).await.unwrap_err();
    assert!(matches!(error, ClientError::Local(_)), "{error}");
}

#[tokio::test]
async fn a_downloaded_file_replaces_the_one_that_a_link_leads_to() {
    let mut tasks = JoinSet::new();
    let address = serve(Fake::new("new", FileFormat::File, Lie::None), &mut tasks).await;
    let directory = tempfile::tempdir().unwrap();
    let (real, link) = (directory.path().join("real"), directory.path().join("link"));
    std::fs::write(&real, "old").unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    let client = client(address, quick());
    client.download_file("s", b"file", &link, &Progress::default()).await.unwrap();
    assert!(link.is_symlink());
    assert_eq!(std::fs::read(&real).unwrap(), b"new");
    // A device is written to, not replaced.
    client.download_file("s", b"file", "/dev/null".as_ref(), &Progress::default()).await.unwrap();
    assert!(!std::fs::metadata("/dev/null").unwrap().is_file());
}
