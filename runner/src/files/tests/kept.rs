//! Tests of the time for which transfers are kept, and of the events that end them.

use std::time::Instant;

use super::*;

const PATIENCE: Duration = Duration::from_secs(120);

async fn until(mut done: impl FnMut() -> bool) {
    let started = Instant::now();
    while !done() {
        assert!(started.elapsed() < PATIENCE, "the call does not return");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn what_nobody_goes_on_with_is_removed_and_what_is_used_is_not() {
    let fixture = Fixture::with(|config| config.keep = Duration::from_millis(200), None);
    fixture.write("file", "content");
    let stop = CancellationToken::new();
    let (files, ended) = (Arc::clone(&fixture.files), stop.clone());
    let expiry = tokio::spawn(async move { files.expire(ended).await });
    let half = ExchangeOrder::Upload(fixture.upload_order("half", "x", FileFormat::File));
    fixture.order(half, chunks(0, b"half")).await;
    fixture.upload(fixture.upload_order("done", "y", FileFormat::File), b"").await.unwrap();
    fixture.download(fixture.download_order("d", "file")).await.unwrap();
    until(|| fixture.files.shared.transfers.count() == 0).await;
    until(|| fixture.kept_files().is_empty()).await;
    assert_eq!(fixture.files.shared.transfers.bytes(), 0);
    stop.cancel();
    expiry.await.unwrap();
}

#[tokio::test]
async fn the_next_process_removes_what_is_too_old_and_what_it_does_not_know() {
    let fixture = Fixture::with(|config| config.keep = Duration::from_secs(1), None);
    let half = ExchangeOrder::Upload(fixture.upload_order("half", "x", FileFormat::File));
    fixture.order(half, chunks(0, b"half")).await;
    let directory = fixture.dir.path().join("transfers").join(fixture.session.id.to_string());
    let before = fixture.kept_files();
    assert_eq!(before.len(), 2);
    let old = std::time::SystemTime::now() - Duration::from_secs(3600);
    for path in &before {
        fs::File::options().append(true).open(path).unwrap().set_modified(old).unwrap();
    }
    fs::write(directory.join("stray.bytes"), "").unwrap();
    fs::write(directory.join("damaged.order"), "{").unwrap();
    let foreign = fixture.dir.path().join("transfers").join(SessionId::new().to_string());
    fs::create_dir(&foreign).unwrap();
    fs::write(foreign.join("00.bytes"), "of a session that is closed").unwrap();
    let fixture = fixture.reopen();
    assert_eq!(fixture.kept_files(), Vec::<String>::new());
    assert!(!foreign.exists());
    assert_eq!((fixture.files.shared.transfers.count(), fixture.files.shared.transfers.bytes()), (0, 0));
}

#[tokio::test]
async fn closing_a_session_ends_its_transfers_and_removes_them_and_no_other_session_s() {
    let fixture = Fixture::new();
    let other = open_session(&fixture.sessions, None);
    fixture.write("file", vec![b'x'; 1 << 20]);
    let of_other = UploadOrder { session_id: other.id, ..fixture.upload_order("o", "x", FileFormat::File) };
    let (outgoing, _answers) = mpsc::channel(4);
    let incoming = futures::stream::iter(chunks(0, b"half")).boxed();
    let order = ExchangeOrder::Upload(of_other);
    fixture.files.carry_out(Arc::clone(&other), order, incoming, &outgoing).await.unwrap();

    let (files, session) = (Arc::clone(&fixture.files), Arc::clone(&fixture.session));
    let order = ExchangeOrder::Upload(fixture.upload_order("t", "y", FileFormat::File));
    let (outgoing, mut answers) = mpsc::channel(4);
    let open = tokio::spawn(async move {
        let incoming = futures::stream::iter(chunks(0, &[0; 5000])).chain(futures::stream::pending()).boxed();
        files.carry_out(session, order, incoming, &outgoing).await
    });
    assert!(matches!(answers.recv().await, Some(ExchangeFromRunner::Ready { .. })));
    fixture.download(fixture.download_order("d", "file")).await.unwrap();
    fixture.close_session().await;
    assert_eq!(reason(open.await.unwrap()), "SESSION_CLOSED");
    assert_eq!(
        reason(fixture.upload(fixture.upload_order("u", "y", FileFormat::File), b"").await),
        "SESSION_CLOSED"
    );
    assert_eq!(reason(fixture.stat("file").await), "SESSION_CLOSED");
    assert_eq!(fixture.files.shared.transfers.count(), 1);
    let kept = fixture.kept_files();
    assert!(kept.len() == 2 && kept.iter().all(|path| path.contains(&other.id.to_string())), "{kept:?}");
}

#[tokio::test]
async fn shutting_down_in_the_middle_leaves_no_temporary_file_and_the_upload_can_be_gone_on_with() {
    // On a busy host the upload can end before the shutdown. Then try again with more files.
    let mut count = 2000;
    while !shut_down_in_the_middle(count).await {
        count *= 2;
    }
}

/// Reports whether the shutdown interrupted an upload of `count` files.
async fn shut_down_in_the_middle(count: usize) -> bool {
    let fixture = Fixture::new();
    let source = tempfile::tempdir().unwrap();
    for index in 0..count {
        fs::write(source.path().join(index.to_string()), vec![b'x'; 5000]).unwrap();
    }
    let archive = tar(source.path());
    let order = fixture.upload_order("t", "", FileFormat::Tar);
    let (files, session) = (Arc::clone(&fixture.files), Arc::clone(&fixture.session));
    let mut sent = large_chunks(&archive);
    sent.push(END);
    let whole = (ExchangeOrder::Upload(order.clone()), sent.clone());
    let open = tokio::spawn(async move {
        let (outgoing, _answers) = mpsc::channel(4);
        files.carry_out(session, whole.0, futures::stream::iter(whole.1).boxed(), &outgoing).await
    });
    until(|| fixture.path("0").exists()).await;
    fixture.files.shut_down().await;
    let ended = open.await.unwrap();
    if ended.is_ok() {
        return false;
    }
    assert_eq!(reason(ended), "RUNNER_ENDING");
    let names = fs::read_dir(fixture.session.workspace()).unwrap();
    let names: Vec<_> = names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert!(names.iter().all(|name| !name.starts_with(airlock_archive::TEMPORARY_PREFIX)), "{names:?}");
    assert!(names.len() < count, "the transfer was in progress");
    assert_eq!(reason(fixture.stat("0").await), "RUNNER_ENDING");
    let fixture = fixture.reopen();
    let again = fixture.order(ExchangeOrder::Upload(order), vec![END]).await;
    assert_eq!(again.ready(), Some(archive.len() as u64));
    assert_eq!(again.uploaded().unwrap().files, count as u64);
    true
}

#[tokio::test]
async fn what_a_process_that_was_killed_in_the_middle_of_an_upload_left_is_removed() {
    let fixture = Fixture::new();
    let half = ExchangeOrder::Upload(fixture.upload_order("half", "a/file", FileFormat::File));
    fixture.order(half.clone(), chunks(0, b"half")).await;
    let temporary = format!("a/b/{}0123456789abcdef", airlock_archive::TEMPORARY_PREFIX);
    fixture.write(&temporary, "half");
    fixture.write("a/b/kept", "");
    let fixture = fixture.reopen();
    assert!(!fixture.path(&temporary).exists() && fixture.path("a/b/kept").exists());
    fixture.order(half, vec![END]).await.uploaded().unwrap();
    // Without an interrupted upload, the file is not treated as a temporary file.
    fixture.write(&temporary, "of a command");
    assert!(fixture.reopen().path(&temporary).exists());
}
