//! Tests of uploads: the files that they create, the orders that they refuse, and how they are resumed.

use std::{
    io::Read,
    os::unix::fs::{MetadataExt, symlink},
};

use airlock_archive::hostile;
use futures::{future::pending, stream};
use tokio::sync::oneshot;

use super::*;

#[tokio::test]
async fn a_file_is_put_where_it_was_sent_to_and_belongs_to_the_session() {
    let fixture = Fixture::new();
    let order =
        UploadOrder { mode: 0o750, ..fixture.upload_order("t", "/workspace/a/b/run", FileFormat::File) };
    let content = vec![7; 3 * PIECE + 1];
    let order = UploadOrder { size: Some(content.len() as u64), sha256: Some(sha256(&content)), ..order };
    let uploaded = fixture.upload(order, &content).await.unwrap();
    assert_eq!((uploaded.received, uploaded.files, uploaded.bytes), (3001, 1, 3001));
    assert_eq!(fs::read(fixture.path("a/b/run")).unwrap(), content);
    for (path, mode) in [("a", 0o755), ("a/b", 0o755), ("a/b/run", 0o750)] {
        let found = fs::metadata(fixture.path(path)).unwrap();
        assert_eq!(found.mode() & 0o7777, mode, "{path}");
        if let Some((uid, gid)) = fixture.session.owner() {
            assert_eq!((found.uid(), found.gid()), (uid, gid), "{path}");
        }
    }
    assert_eq!(fs::read_dir(fixture.path("a/b")).unwrap().count(), 1, "no temporary file");
    assert!(fixture.kept_files().iter().all(|path| path.ends_with(".order")), "{:?}", fixture.kept_files());
    assert_eq!(fixture.files.shared.transfers.bytes(), 0);
}

#[tokio::test]
async fn a_folder_goes_up_and_comes_down_as_it_was() {
    let fixture = Fixture::new();
    let source = tempfile::tempdir().unwrap();
    project(source.path());
    let archive = tar(source.path());
    let uploaded = fixture.upload(fixture.upload_order("t", "", FileFormat::Tar), &archive).await.unwrap();
    assert_eq!((uploaded.files, uploaded.links, uploaded.received), (4, 1, archive.len() as u64));
    assert_eq!(fs::metadata(fixture.path("run")).unwrap().mode() & 0o777, 0o755);
    let got = fixture.download(fixture.download_order("d", "")).await.unwrap();
    assert!(got.bytes == tar(fixture.session.workspace()));
    assert_eq!((got.started.format, got.done.sha256), (FileFormat::Tar, sha256(&got.bytes)));
    let zipped =
        DownloadOrder { format: Some(FileFormat::TarGzip), ..fixture.download_order("z", "/workspace") };
    let zipped = fixture.download(zipped).await.unwrap().bytes;
    let order = fixture.upload_order("again", "copy/of/it", FileFormat::TarGzip);
    assert_eq!(fixture.upload(order, &zipped).await.unwrap().files, 4);
    assert!(tree(&fixture.path("copy/of/it")) == tree(source.path()));
}

#[tokio::test]
async fn an_upload_is_gone_on_with_from_wherever_it_was_cut() {
    let content: Vec<u8> = (0..5000u32).flat_map(u32::to_le_bytes).collect();
    let whole = content.len();
    for cut in [0, 1, PIECE - 1, PIECE, PIECE + 1, whole - 1, whole] {
        for dies in [false, true] {
            let mut fixture = Fixture::new();
            let order = fixture.upload_order("t", "file", FileFormat::File);
            let cut_off =
                fixture.order(ExchangeOrder::Upload(order.clone()), chunks(0, &content[..cut])).await;
            assert_eq!((cut_off.ready(), cut_off.failed.is_none(), cut_off.all.len()), (Some(0), true, 1));
            assert!(!fixture.path("file").exists(), "no file exists before the upload is complete");
            if dies {
                fixture = fixture.reopen();
            }
            let beyond = vec![chunk(cut as u64 + 1, b"x")];
            let beyond = fixture.order(ExchangeOrder::Upload(order.clone()), beyond).await;
            assert_eq!(beyond.ready(), Some(cut as u64));
            assert_eq!(beyond.failed.unwrap().failure, ExchangeFailure::OutOfRange { end: cut as u64 });
            // Resume before the cut, so that chunks overlap it.
            let from = cut.saturating_sub(PIECE / 2);
            let mut rest = chunks(from as u64, &content[from..]);
            rest.push(END);
            let rest = fixture.order(ExchangeOrder::Upload(order.clone()), rest).await;
            assert_eq!(rest.ready(), Some(cut as u64));
            assert_eq!(rest.uploaded().unwrap().received, whole as u64, "cut at {cut}");
            assert_eq!(fs::read(fixture.path("file")).unwrap(), content);
        }
    }
}

#[tokio::test]
async fn an_upload_that_was_done_is_answered_again_and_changes_nothing() {
    let fixture = Fixture::new();
    let order = fixture.upload_order("t", "file", FileFormat::File);
    let first = fixture.upload(order.clone(), b"content").await.unwrap();
    fs::write(fixture.path("file"), "changed since").unwrap();
    assert_eq!(fixture.upload(order.clone(), b"content").await.unwrap(), first);
    let more = fixture.upload(order.clone(), b"content and more").await;
    assert_eq!(reason(more), "UPLOAD_COMPLETE");
    let fixture = fixture.reopen();
    assert_eq!(fixture.upload(order, b"content").await.unwrap(), first);
    assert_eq!(fs::read(fixture.path("file")).unwrap(), b"changed since");
}

/// Yields these messages, and then nothing. The second value is signalled when all messages were taken.
fn then_silence(sent: Vec<ExchangeToRunner>) -> (Incoming, oneshot::Receiver<()>) {
    let (taken, told) = oneshot::channel();
    let silence = stream::once(async move {
        let _ = taken.send(());
        pending().await
    });
    (stream::iter(sent).chain(silence).boxed(), told)
}

#[tokio::test]
async fn a_dropped_exchange_keeps_what_came_and_a_second_stream_has_to_wait_its_turn() {
    let fixture = Fixture::new();
    let order = fixture.upload_order("t", "file", FileFormat::File);
    let (incoming, taken) = then_silence(chunks(0, &[1; 2500]));
    let (outgoing, _answers) = mpsc::channel(4);
    let (files, session) = (Arc::clone(&fixture.files), Arc::clone(&fixture.session));
    let first = ExchangeOrder::Upload(order.clone());
    let stream = tokio::spawn(async move { files.carry_out(session, first, incoming, &outgoing).await });
    taken.await.unwrap();
    assert_eq!(reason(fixture.upload(order.clone(), b"").await), "TRANSFER_IN_USE");
    stream.abort();
    assert!(stream.await.unwrap_err().is_cancelled());
    let again = fixture.order(ExchangeOrder::Upload(order), vec![chunk(2500, &[2; 10]), END]).await;
    assert_eq!(again.ready(), Some(2500));
    assert_eq!(again.uploaded().unwrap().received, 2510);
}

#[tokio::test]
async fn what_was_complete_is_put_there_though_the_client_has_gone() {
    let fixture = Fixture::new();
    let source = tempfile::tempdir().unwrap();
    project(source.path());
    for index in 0..500 {
        fs::write(source.path().join(index.to_string()), index.to_string()).unwrap();
    }
    let archive = tar(source.path());
    let order = fixture.upload_order("t", "", FileFormat::Tar);
    let mut sent = chunks(0, &archive);
    sent.push(END);
    let (outgoing, answers) = mpsc::channel(4);
    let incoming = stream::iter(sent).boxed();
    let work = ExchangeOrder::Upload(order.clone());
    let mut work = Box::pin(fixture.files.carry_out(Arc::clone(&fixture.session), work, incoming, &outgoing));
    let working = || {
        let kept = fixture.files.shared.transfers.progress_of(fixture.session.id);
        kept.iter().any(|progress| progress.phase == transfers::Phase::Working)
    };
    while !working() {
        assert!(
            futures::poll!(&mut work).is_pending() || working(),
            "the call waits for the end of the operation"
        );
        tokio::task::yield_now().await;
    }
    drop((work, answers));
    let uploaded = fixture.upload(order, &archive).await.unwrap();
    assert_eq!(uploaded.files, 504);
    assert!(tree(fixture.session.workspace()) == tree(source.path()));
}

#[tokio::test]
async fn what_cannot_be_right_is_refused_with_what_to_do() {
    let fixture = Fixture::new();
    fixture.write("folder/file", "old");
    symlink("/etc", fixture.path("out")).unwrap();
    symlink("folder", fixture.path("in")).unwrap();
    let file = |path: &str| fixture.upload_order("t", path, FileFormat::File);
    let archive = |path: &str| fixture.upload_order("t", path, FileFormat::Tar);
    let long = "x".repeat(129);
    for (order, expected) in [
        (file("/etc/passwd"), "PATH_INVALID"),
        (file("../x"), "PATH_INVALID"),
        (file(""), "IS_A_DIRECTORY"),
        (file("folder"), "IS_A_DIRECTORY"),
        (file("folder/file/below"), "NOT_A_DIRECTORY"),
        (file("out/passwd"), "LINK_LEAVES"),
        (archive("folder/file"), "NOT_A_DIRECTORY"),
        (archive("out"), "LINK_LEAVES"),
        (archive("out/below"), "LINK_LEAVES"),
        (UploadOrder { mode: 0o4755, ..file("x") }, "MODE_INVALID"),
        (UploadOrder { transfer_id: String::new(), ..file("x") }, "TRANSFER_ID_INVALID"),
        (UploadOrder { transfer_id: long, ..file("x") }, "TRANSFER_ID_INVALID"),
        (UploadOrder { sha256: Some([1; 32]), ..file("x") }, "SHA256_MISMATCH"),
        (UploadOrder { size: Some(3), ..file("x") }, "SIZE_MISMATCH"),
        (UploadOrder { size: Some(2000), ..file("x") }, "UPLOAD_INCOMPLETE"),
        (archive(""), "ARCHIVE_REFUSED"),
    ] {
        let path = String::from_utf8_lossy(&order.path).into_owned();
        assert_eq!(reason(fixture.upload(order.clone(), &[b'x'; 1024]).await), expected, "{path}");
        // A refused upload frees its ID for another order, unless its bytes are kept.
        let removed = fixture.files.shared.transfers.count() == 0;
        assert!(
            removed || matches!(expected, "UPLOAD_INCOMPLETE" | "NOT_A_DIRECTORY" | "LINK_LEAVES"),
            "{path}"
        );
        let id = fixture.session.id;
        fixture.files.shared.transfers.remove_session(id);
    }
    assert!(!fixture.path("x").exists());
    assert_eq!(fs::read(fixture.path("folder/file")).unwrap(), b"old");
    // Through a link that stays beneath the root.
    fixture.upload(fixture.upload_order("t", "in/new", FileFormat::File), b"new").await.unwrap();
    assert_eq!(fs::read(fixture.path("folder/new")).unwrap(), b"new");
}

#[tokio::test]
async fn an_archive_with_something_in_its_way_touches_nothing() {
    let fixture = Fixture::new();
    let source = tempfile::tempdir().unwrap();
    for (path, content) in [("a/new", "new"), ("b", "new"), ("z/stop", "new")] {
        fs::create_dir_all(source.path().join(path).parent().unwrap()).unwrap();
        fs::write(source.path().join(path), content).unwrap();
    }
    let archive = tar(source.path());
    // The last entry of the archive conflicts with an existing file, in each possible way.
    fixture.write("file/z", "old");
    fixture.write("folder/z/stop/in", "old");
    fixture.write("linked/b", "old");
    symlink("../file", fixture.path("linked/z")).unwrap();
    for (target, expected) in
        [("file", "NOT_A_DIRECTORY"), ("folder", "IS_A_DIRECTORY"), ("linked", "NOT_A_DIRECTORY")]
    {
        let before = tree(&fixture.path(target));
        let order = fixture.upload_order("t", target, FileFormat::Tar);
        let failed = fixture.upload(order.clone(), &archive).await.unwrap_err();
        assert_eq!(failed.reason, expected, "{}", failed.message);
        assert!(tree(&fixture.path(target)) == before, "{target}");
        // The bytes are kept: after the obstacle is removed, the upload continues.
        airlock_mounts::remove_tree(fixture.path(target)).unwrap();
        let again = fixture.order(ExchangeOrder::Upload(order), vec![END]).await;
        assert_eq!(again.ready(), Some(archive.len() as u64));
        assert_eq!(again.uploaded().unwrap().files, 3);
        fixture.files.shared.transfers.remove_session(fixture.session.id);
    }
}

#[tokio::test]
async fn another_order_with_the_same_id_is_told_so() {
    let fixture = Fixture::new();
    let order = fixture.upload_order("t", "file", FileFormat::File);
    fixture.order(ExchangeOrder::Upload(order.clone()), chunks(0, b"half")).await;
    for other in [
        UploadOrder { path: b"other".to_vec(), ..order.clone() },
        UploadOrder { format: FileFormat::Tar, ..order.clone() },
        UploadOrder { mode: 0o600, ..order.clone() },
        UploadOrder { size: Some(4), ..order.clone() },
        UploadOrder { sha256: Some([0; 32]), ..order.clone() },
    ] {
        assert_eq!(reason(fixture.upload(other, b"half").await), "TRANSFER_MISMATCH");
    }
    // A download may use the same ID.
    fixture.write("there", "");
    fixture.download(fixture.download_order("t", "there")).await.unwrap();
    assert_eq!(fixture.upload(order, b"half").await.unwrap().received, 4);
}

#[tokio::test]
async fn hostile_archives_are_refused_whole_and_leave_no_trace() {
    let fixture = Fixture::with(|config| config.unpacked_bytes = 1 << 30, None);
    let outside = fs::read_dir(fixture.dir.path().join("sessions")).unwrap().count();
    let mut refused = 0;
    for case in hostile::cases() {
        let mut bytes = Vec::new();
        (case.bytes)().read_to_end(&mut bytes).unwrap();
        let format = match case.format {
            Format::Tar => FileFormat::Tar,
            Format::TarGzip => FileFormat::TarGzip,
        };
        let mut sent = large_chunks(&bytes);
        sent.push(END);
        let order = fixture.upload_order(case.name, &format!("into/{}", case.name), format);
        let answered = fixture.order(ExchangeOrder::Upload(order), sent).await.uploaded();
        let Some(said) = case.refusal else {
            answered.unwrap();
            continue;
        };
        let failed = answered.unwrap_err();
        assert!(failed.message.contains(said), "{}: {}", case.name, failed.message);
        assert!(!failed.message.contains('\n') && failed.message.len() < 1000, "{}", failed.message);
        assert!(
            failed.reason == "ARCHIVE_REFUSED" || matches!(failed.failure, ExchangeFailure::Exhausted { .. }),
            "{}: {failed:?}",
            case.name
        );
        assert!(!fixture.path("into").join(case.name).exists(), "{}", case.name);
        refused += 1;
    }
    assert!(refused >= 30, "{refused}");
    assert_eq!(fs::read_dir(fixture.dir.path().join("sessions")).unwrap().count(), outside);
    assert_eq!(fixture.files.shared.transfers.bytes(), 0);
}
