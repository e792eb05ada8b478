//! Tests that each message of an exchange survives a round trip, and that errors name the malformed field.

use super::*;
use airlock_domain::{
    ChangeKind, DiffOrder, DownloadOrder, DownloadStarted, Downloaded, ExecutionId, FileFilter, FileFormat,
    FileType, ListOrder, QuarantineOrder, SessionId, SkippedFile, UploadOrder, Uploaded,
};

fn info(file_type: FileType, modified_micros: i64) -> FileInfo {
    FileInfo {
        path: b"/workspace/\xff".to_vec(),
        file_type,
        size: 7,
        mode: 0o644,
        modified_micros,
        link_target: b"to".to_vec(),
    }
}

fn filter() -> FileFilter {
    FileFilter {
        types: vec![FileType::Regular, FileType::Other],
        include: vec!["*.rs".to_owned()],
        exclude: vec![".git".to_owned()],
    }
}

#[test]
fn what_a_runner_says_survives_the_wire() {
    let (before, after) = (info(FileType::Directory, -1_500_000), info(FileType::Symlink, 1));
    let change = |kind| FileChange { kind, patch: b"@@".to_vec(), patch_omitted: "binary".to_owned() };
    let changes = vec![
        change(ChangeKind::Added { after: after.clone() }),
        change(ChangeKind::Modified { before: before.clone(), after }),
        change(ChangeKind::Deleted { before }),
    ];
    let done = Downloaded {
        size: 9,
        sha256: [7; 32],
        files: 1,
        directories: 2,
        links: 3,
        skipped: vec![SkippedFile { path: b"\xff".to_vec(), reason: "a socket".to_owned() }],
        skipped_total: 4,
    };
    let failures = [
        ExchangeFailure::NotFound,
        ExchangeFailure::Invalid,
        ExchangeFailure::OutOfRange { end: 5 },
        ExchangeFailure::FailedPrecondition,
        ExchangeFailure::Exhausted { limit: "transfers.bytes".to_owned(), value: 6 },
        ExchangeFailure::Unavailable,
        ExchangeFailure::Internal,
    ];
    let mut messages = vec![
        ExchangeFromRunner::Hello { runner_id: "r".parse().unwrap(), ticket: "t".to_owned() },
        ExchangeFromRunner::Ready { offset: 3 },
        ExchangeFromRunner::Chunk { offset: 3, data: Bytes::from_static(b"\0\xff") },
        ExchangeFromRunner::DownloadStarted(DownloadStarted {
            format: FileFormat::TarGzip,
            info: info(FileType::Regular, 1_700_000_000_123_456),
        }),
        ExchangeFromRunner::Downloaded(done),
        ExchangeFromRunner::Uploaded(Uploaded { received: 1, files: 2, directories: 3, links: 4, bytes: 5 }),
        ExchangeFromRunner::File(info(FileType::Other, 0)),
        ExchangeFromRunner::Files { files: vec![info(FileType::Regular, 5)], more: true },
        ExchangeFromRunner::Changes { changes, more: true },
        ExchangeFromRunner::Quarantine {
            files: vec![QuarantinedFile {
                id: "a".to_owned(),
                info: info(FileType::Regular, 5),
                reason: "created".to_owned(),
                moved_micros: 6,
                execution_id: ExecutionId::new().to_string(),
            }],
            more: true,
        },
        ExchangeFromRunner::Restored { path: b"/workspace/\xff".to_vec(), replaced_id: "b".to_owned() },
        ExchangeFromRunner::Written { accepted: 8, ended: true },
        ExchangeFromRunner::End,
    ];
    messages.extend(failures.map(|failure| {
        let (reason, message) = ("REASON".to_owned(), "said so".to_owned());
        ExchangeFromRunner::Failed(ExchangeFailed { failure, reason, message })
    }));
    for message in messages {
        let wire = wire::ExchangeRequest::from(message.clone());
        assert_eq!(ExchangeFromRunner::try_from(wire), Ok(message));
    }
}

#[test]
fn orders_survive_the_wire() {
    let session_id = SessionId::new();
    let upload = UploadOrder {
        session_id,
        transfer_id: "t".to_owned(),
        path: b"\xff".to_vec(),
        format: FileFormat::Tar,
        size: Some(0),
        sha256: Some([1; 32]),
        mode: 0o755,
    };
    let download = DownloadOrder {
        session_id,
        transfer_id: "t".to_owned(),
        resume: true,
        path: b"src".to_vec(),
        format: None,
        offset: 9,
        exclude: vec!["target".to_owned()],
    };
    let list = ListOrder {
        session_id,
        path: b"src".to_vec(),
        recursive: true,
        after: b"a".to_vec(),
        page_size: 10,
        filter: filter(),
    };
    let diff = DiffOrder {
        session_id,
        path: b"src".to_vec(),
        after: b"a".to_vec(),
        page_size: 10,
        filter: filter(),
        patch: true,
    };
    let orders = [
        ExchangeOrder::Upload(UploadOrder { size: None, sha256: None, ..upload.clone() }),
        ExchangeOrder::Upload(upload),
        ExchangeOrder::Download(DownloadOrder { format: Some(FileFormat::File), ..download.clone() }),
        ExchangeOrder::Download(download),
        ExchangeOrder::Stat { session_id, path: b"x".to_vec() },
        ExchangeOrder::List(list),
        ExchangeOrder::Diff(diff),
        ExchangeOrder::Quarantine(QuarantineOrder { session_id, after: "a".to_owned(), page_size: 5 }),
        ExchangeOrder::Restore { session_id, quarantine_id: "a".to_owned() },
        ExchangeOrder::Digests { session_id, paths: vec![b"/workspace/\xff".to_vec()] },
        ExchangeOrder::Preview(Box::new(crate::convert::tests::sample())),
        ExchangeOrder::Forward { session_id, port: u16::MAX },
        ExchangeOrder::Stdin { execution_id: ExecutionId::new(), take_over: false },
        ExchangeOrder::Stdin { execution_id: ExecutionId::new(), take_over: true },
    ];
    let mut messages: Vec<_> = orders.map(ExchangeToRunner::Order).into();
    messages.push(ExchangeToRunner::Chunk { offset: 1, data: Bytes::from_static(b"x") });
    messages.push(ExchangeToRunner::End { close: true });
    for message in messages {
        let wire = wire::ExchangeResponse::from(message.clone());
        assert_eq!(ExchangeToRunner::try_from(wire), Ok(message));
    }
}

#[test]
fn malformed_messages_name_their_field() {
    let up = |message| ExchangeFromRunner::try_from(wire::ExchangeRequest { message: Some(message) });
    let down = |message| ExchangeToRunner::try_from(wire::ExchangeResponse { message: Some(message) });
    let chunk = |offset, length: usize| v1::FileChunk { offset, data: vec![0; length].into() };
    assert_eq!(up(Up::Chunk(chunk(0, TRANSFER_CHUNK_BYTES + 1))).unwrap_err().field, "chunk.data");
    assert_eq!(down(Down::Chunk(chunk(u64::MAX, 1))).unwrap_err().field, "chunk.offset");
    assert_eq!(up(Up::File(v1::FileInfo::default())).unwrap_err().field, "type");
    assert_eq!(up(Up::Downloaded(v1::DownloadDone::default())).unwrap_err().field, "downloaded.sha256");
    let deleted = v1::FileChange { kind: v1::ChangeKind::Deleted.into(), ..Default::default() };
    let page = wire::ChangePage { changes: vec![deleted], more: false };
    assert_eq!(up(Up::Changes(page)).unwrap_err().field, "change.before");
    let stat = wire::StatOrder { session_id: "no".to_owned(), ..Default::default() };
    assert_eq!(down(Down::Stat(stat)).unwrap_err().field, "stat.session_id");
    let later = wire::ExchangeFailed { failure: 99, ..Default::default() };
    let Ok(ExchangeFromRunner::Failed(failed)) = up(Up::Failed(later)) else { unreachable!() };
    assert_eq!(failed.failure, ExchangeFailure::Internal, "an unknown failure is an internal error");
}
