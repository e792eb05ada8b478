//! Tests of every limit on transfers, in each way that it can be reached.

use airlock_mounts::PrivateMounts;
use airlock_sandbox::DiskBackend;

use super::*;

#[tokio::test]
async fn the_bytes_of_one_transfer_are_limited_both_ways() {
    let fixture = Fixture::with(|config| config.bytes = 2 * PIECE as u64, None);
    let order = fixture.upload_order("t", "file", FileFormat::File);
    assert_eq!(limit(fixture.upload(order.clone(), &[0; 2 * PIECE + 1]).await), "transfers.bytes");
    assert!(!fixture.path("file").exists());
    let order = UploadOrder { transfer_id: "u".to_owned(), ..order };
    fixture.upload(order, &[0; 2 * PIECE]).await.unwrap();
    fixture.write("large", [0; 2 * PIECE + 1]);
    assert_eq!(limit(fixture.download(fixture.download_order("d", "large")).await), "transfers.bytes");
    assert_eq!(limit(fixture.download(fixture.download_order("e", "")).await), "transfers.bytes");
    fixture.download(fixture.download_order("f", "file")).await.unwrap();
}

#[tokio::test]
async fn what_an_archive_holds_is_limited_both_ways() {
    let fixture = Fixture::with(|config| (config.entries, config.unpacked_bytes) = (3, 100), None);
    let source = airlock_mounts::ScratchDir::new();
    for name in ["a", "b", "c", "d"] {
        fs::write(source.path().join(name), "").unwrap();
    }
    let order = |id: &str| fixture.upload_order(id, "", FileFormat::Tar);
    assert_eq!(limit(fixture.upload(order("1"), &tar(source.path())).await), "transfers.entries");
    fs::remove_file(source.path().join("d")).unwrap();
    fs::write(source.path().join("c"), [0; 101]).unwrap();
    assert_eq!(limit(fixture.upload(order("2"), &tar(source.path())).await), "transfers.unpacked_bytes");
    assert_eq!(fs::read_dir(fixture.session.workspace()).unwrap().count(), 0);
    fixture.write("large", [0; 101]);
    assert_eq!(limit(fixture.download(fixture.download_order("d", "")).await), "transfers.unpacked_bytes");
    for name in ["large", "1", "2", "3"] {
        fixture.write(name, "");
    }
    assert_eq!(limit(fixture.download(fixture.download_order("e", "")).await), "transfers.entries");
    assert_eq!(fixture.files.shared.transfers.count(), 0);
}

/// Opens an exchange that stays open. The caller aborts the task.
async fn stays_open(fixture: &Fixture, session: &Arc<OpenSession>, id: &str) -> tokio::task::JoinHandle<()> {
    let order = UploadOrder { session_id: session.id, ..fixture.upload_order(id, "x", FileFormat::File) };
    let (files, session) = (Arc::clone(&fixture.files), Arc::clone(session));
    let (outgoing, mut answers) = mpsc::channel(4);
    let open = tokio::spawn(async move {
        let incoming = futures::stream::pending().boxed();
        let _ = files.carry_out(session, ExchangeOrder::Upload(order), incoming, &outgoing).await;
    });
    assert!(matches!(answers.recv().await, Some(ExchangeFromRunner::Ready { offset: 0 })));
    std::mem::forget(answers);
    open
}

#[tokio::test]
async fn transfers_at_once_are_limited() {
    let fixture = Fixture::with(|config| config.at_once = 3, None);
    fixture.write("file", "");
    let other = open_session(&fixture.sessions, None);
    let two = stays_open(&fixture, &other, "1").await;
    let more = stays_open(&fixture, &other, "2").await;
    let one = stays_open(&fixture, &fixture.session, "1").await;
    let order = fixture.upload_order("3", "x", FileFormat::File);
    assert_eq!(limit(fixture.upload(order.clone(), b"").await), "transfers.at_once");
    let download = fixture.download_order("4", "file");
    assert_eq!(limit(fixture.download(download.clone()).await), "transfers.at_once");
    fixture.stat("file").await.unwrap();
    one.abort();
    assert!(one.await.is_err());
    fixture.upload(order, b"").await.unwrap();
    fixture.download(download).await.unwrap();
    two.abort();
    more.abort();
}

#[tokio::test]
async fn one_session_leaves_others_half_of_the_transfers_and_its_own_turns_alone() {
    let fixture = Fixture::with(|config| config.at_once = 4, None);
    fixture.write("file", "");
    let other = open_session(&fixture.sessions, None);
    let mut open = Vec::new();
    for id in ["1", "2"] {
        open.push(stays_open(&fixture, &other, id).await);
    }
    let order = UploadOrder { session_id: other.id, ..fixture.upload_order("3", "x", FileFormat::File) };
    let (outgoing, _answers) = mpsc::channel(4);
    let third = ExchangeOrder::Upload(order);
    let refused =
        fixture.files.carry_out(Arc::clone(&other), third, futures::stream::empty().boxed(), &outgoing);
    let refused = refused.await;
    assert!(
        refused.as_ref().unwrap_err().message.contains("the session has half of the transfers"),
        "{refused:?}"
    );
    assert_eq!(limit(refused), "transfers.at_once");
    fixture.upload(fixture.upload_order("1", "x", FileFormat::File), b"").await.unwrap();
    fixture.download(fixture.download_order("1", "file")).await.unwrap();
    open.iter().for_each(tokio::task::JoinHandle::abort);

    // A session without free turns waits for its own turns only.
    let turns = fixture.session.file_turns();
    let taken = turns.acquire_many(turns.available_permits().try_into().unwrap()).await.unwrap();
    let waits = fixture.stat("file");
    tokio::pin!(waits);
    assert!(futures::poll!(&mut waits).is_pending());
    let (outgoing, mut answers) = mpsc::channel(4);
    let stat = ExchangeOrder::Stat { session_id: other.id, path: Vec::new() };
    let done = fixture.files.carry_out(Arc::clone(&other), stat, futures::stream::empty().boxed(), &outgoing);
    done.await.unwrap();
    assert!(matches!(answers.recv().await, Some(ExchangeFromRunner::File(_))));
    assert!(futures::poll!(&mut waits).is_pending());
    drop(taken);
    waits.await.unwrap();
}

#[tokio::test]
async fn transfers_of_a_session_are_limited_and_what_was_done_makes_room() {
    let fixture = Fixture::with(|config| config.per_session = 2, None);
    for index in 0..20 {
        let order = fixture.upload_order(&format!("done {index}"), "x", FileFormat::File);
        fixture.upload(order, b"").await.unwrap();
        fixture.download(fixture.download_order(&index.to_string(), "x")).await.unwrap();
        assert!(fixture.files.shared.transfers.count() <= 2);
    }
    for id in ["1", "2"] {
        let half = ExchangeOrder::Upload(fixture.upload_order(&format!("half {id}"), "y", FileFormat::File));
        fixture.order(half, chunks(0, b"half")).await;
    }
    let order = fixture.upload_order("one more", "x", FileFormat::File);
    assert_eq!(limit(fixture.upload(order, b"").await), "transfers.per_session");
}

#[tokio::test]
async fn the_bytes_of_all_are_limited_and_downloads_that_were_received_make_room() {
    let fixture = Fixture::with(|config| (config.bytes, config.total_bytes) = (6000, 10_000), None);
    fixture.write("file", [0; 5000]);
    for index in 0..5 {
        fixture.download(fixture.download_order(&index.to_string(), "file")).await.unwrap();
    }
    let half = ExchangeOrder::Upload(fixture.upload_order("half", "y", FileFormat::File));
    assert!(fixture.order(half.clone(), chunks(0, &[0; 6000])).await.failed.is_none());
    let other = fixture.upload_order("other", "y", FileFormat::File);
    assert_eq!(limit(fixture.upload(other.clone(), &[0; 4001]).await), "transfers.total_bytes");
    assert_eq!(fixture.files.shared.transfers.bytes(), 10_000);
    let fixture = fixture.reopen();
    assert_eq!(fixture.files.shared.transfers.bytes(), 10_000);
    assert_eq!(fixture.order(half, vec![END]).await.uploaded().unwrap().received, 6000);
    fixture.upload(other, &[0; 4001]).await.unwrap();
    assert_eq!(fixture.files.shared.transfers.bytes(), 0);
}

#[tokio::test]
async fn the_reserve_of_the_disk_is_kept() {
    let mut fixture = Fixture::new();
    fixture.write("file", "content");
    let half = ExchangeOrder::Upload(fixture.upload_order("half", "x", FileFormat::File));
    fixture.order(half.clone(), chunks(0, b"half")).await;
    fixture.limits.disk_reserve_bytes = 1 << 60;
    let mut fixture = fixture.reopen();
    let short = fixture.order(half.clone(), vec![END]).await.uploaded();
    assert!(short.as_ref().unwrap_err().message.contains("the file system of the runner's workspaces"));
    assert_eq!(limit(short), "limits.disk_reserve_bytes");
    let order = fixture.upload_order("t", "x", FileFormat::File);
    let short = fixture.upload(order, b"content").await;
    assert!(short.as_ref().unwrap_err().message.contains("the file system of the runner's `state_dir`"));
    assert_eq!(limit(short), "limits.disk_reserve_bytes");
    assert_eq!(
        limit(fixture.download(fixture.download_order("d", "file")).await),
        "limits.disk_reserve_bytes"
    );
    assert!(!fixture.path("x").exists());
    fixture.limits.disk_reserve_bytes = 1 << 20;
    let fixture = fixture.reopen();
    assert_eq!(fixture.order(half, vec![END]).await.uploaded().unwrap().received, 4);
}

#[test]
fn what_does_not_fit_is_told_and_nothing_is_lost_or_left() {
    let _private = PrivateMounts::enter();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for backend in [DiskBackend::Tmpfs, DiskBackend::Loop] {
        runtime.block_on(full(backend));
    }
}

async fn full(backend: DiskBackend) {
    let disk = DiskConfig { backend: Some(backend), bytes: Some(16 << 20), inodes: Some(500) };
    let fixture = Fixture::made(TransfersConfig::default(), None, disk);
    let order = fixture.upload_order("mine", "mine", FileFormat::File);
    fixture.upload(order, b"of the user").await.unwrap();
    let filled = fs::write(fixture.path("big"), vec![1; 17 << 20]).unwrap_err();
    assert_eq!(filled.kind(), io::ErrorKind::StorageFull);
    let before: Vec<_> = names(&fixture);
    let large = vec![2; 1 << 20];
    let source = airlock_mounts::ScratchDir::new();
    fs::write(source.path().join("mine"), &large).unwrap();
    fs::write(source.path().join("new"), &large).unwrap();
    let file = fixture.upload_order("file", "mine", FileFormat::File);
    let archive = fixture.upload_order("archive", "", FileFormat::Tar);
    for (order, bytes) in [(file, large), (archive, tar(source.path()))] {
        let failed = fixture.upload(order, &bytes).await.unwrap_err();
        assert_eq!(failed.reason, "DISK_FULL", "{failed:?}");
        assert_eq!(failed.failure, ExchangeFailure::FailedPrecondition, "a retry alone cannot succeed");
        assert!(failed.message.contains("the session's disk limit"), "{failed:?}");
        assert_eq!(names(&fixture), before);
        assert_eq!(fs::read(fixture.path("mine")).unwrap(), b"of the user");
    }
    // The control: with free space the same upload succeeds.
    fs::remove_file(fixture.path("big")).unwrap();
    let again = fixture.upload_order("again", "mine", FileFormat::File);
    fixture.upload(again, &vec![2; 1 << 20]).await.unwrap();
    assert_eq!(fs::metadata(fixture.path("mine")).unwrap().len(), 1 << 20);
    // Close the session, so that nothing is mounted when its directory is removed.
    assert!(matches!(fixture.sessions.begin_close(&fixture.session.id), Closing::Begun(_)));
    fixture.sessions.remove(&fixture.session).unwrap();
}

#[test]
fn what_goes_to_home_and_tmp_counts_for_what_the_session_may_take() {
    let _private = PrivateMounts::enter();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for backend in [DiskBackend::Tmpfs, DiskBackend::Loop] {
        runtime.block_on(counted(backend));
    }
}

async fn counted(backend: DiskBackend) {
    let disk = DiskConfig { backend: Some(backend), bytes: Some(32 << 20), inodes: Some(500) };
    let fixture = Fixture::made(TransfersConfig::default(), None, disk);
    let part = vec![1; 12 << 20];
    for path in ["/tmp/part", "/home/agent/part"] {
        fixture.upload(fixture.upload_order(path, path, FileFormat::File), &part).await.unwrap();
    }
    for path in ["more", "/home/agent/more", "/tmp/more"] {
        let order = fixture.upload_order(path, path, FileFormat::File);
        let failed = fixture.upload(order, &part).await.unwrap_err();
        assert_eq!(failed.reason, "DISK_FULL", "{path}: {failed:?}");
        assert_eq!(reason(fixture.stat(path).await), "NO_SUCH_FILE", "{path}");
    }
    // The control: free space in one directory is available to another.
    let directories = fixture.session.directories();
    fs::remove_file(directories.tmp.join("part")).unwrap();
    let again = fixture.upload_order("again", "/home/agent/more", FileFormat::File);
    fixture.upload(again, &part).await.unwrap();
    for (directory, files) in [(&directories.workspace, 0), (&directories.home, 2), (&directories.tmp, 0)] {
        assert_eq!(fs::read_dir(directory).unwrap().count(), files, "{}", directory.display());
    }
    assert!(matches!(fixture.sessions.begin_close(&fixture.session.id), Closing::Begun(_)));
    fixture.sessions.remove(&fixture.session).unwrap();
}

fn names(fixture: &Fixture) -> Vec<std::ffi::OsString> {
    let entries = fs::read_dir(fixture.session.workspace()).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    names
}
