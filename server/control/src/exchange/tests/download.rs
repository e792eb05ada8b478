//! Downloads: complete, at the client's pace, and ended when the client disconnects.

use std::time::Duration;

use airlock_domain::{
    DownloadOrder, DownloadStarted, Downloaded, ExchangeFailure, ExchangeFromRunner, FileFormat, SessionId,
    SkippedFile,
    limits::{SKIPPED_FILES, TRANSFER_CHUNK_BYTES},
};
use bytes::Bytes;
use futures::StreamExt as _;
use tokio::{task::JoinHandle, time::sleep};

use super::world::{Line, World, chunk_from, failed, info, outcome, runner_id, who};
use crate::{
    api::ApiError,
    exchange::{ExchangeBroken, ExchangeKind, ExchangeOutcome},
    files::{self, Download, DownloadPart},
};

fn order(offset: u64) -> DownloadOrder {
    DownloadOrder {
        session_id: SessionId::new(),
        transfer_id: "t".to_owned(),
        resume: offset > 0,
        path: Vec::new(),
        format: Some(FileFormat::Tar),
        offset,
        exclude: Vec::new(),
    }
}

fn started(format: FileFormat) -> ExchangeFromRunner {
    ExchangeFromRunner::DownloadStarted(DownloadStarted { format, info: info("/workspace") })
}

fn done(size: u64) -> ExchangeFromRunner {
    ExchangeFromRunner::Downloaded(Downloaded {
        size,
        sha256: [1; 32],
        files: 1,
        directories: 0,
        links: 0,
        skipped: Vec::new(),
        skipped_total: 0,
    })
}

impl World {
    fn download(&self, offset: u64) -> JoinHandle<Result<Download, ApiError>> {
        let exchanges = self.exchanges.clone();
        tokio::spawn(
            async move { files::download(&exchanges, &who("one"), &runner_id(), order(offset)).await },
        )
    }

    /// Starts a download at this offset.
    async fn begun(&self, offset: u64) -> (Download, Line) {
        let call = self.download(offset);
        let (line, _) = self.line().await;
        line.say(started(FileFormat::Tar)).await;
        (outcome(call).await.unwrap(), line)
    }
}

#[tokio::test(start_paused = true)]
async fn parts_come_in_order_from_the_offset_that_was_asked_for() {
    let world = World::new();
    let (mut download, line) = world.begun(5).await;
    assert_eq!(download.started.format, FileFormat::Tar);
    for message in [chunk_from(5, b"abc"), chunk_from(8, b"de"), done(10)] {
        line.say(message).await;
    }
    let mut parts = Vec::new();
    while let Some(part) = download.parts.next().await {
        parts.push(part.unwrap());
    }
    let chunk = |offset, data| DownloadPart::Chunk { offset, data: Bytes::from_static(data) };
    assert_eq!(parts[..2], [chunk(5, b"abc"), chunk(8, b"de")]);
    assert!(matches!(&parts[2..], [DownloadPart::Done(done)] if done.size == 10));
    assert_eq!(line.rest().await, []);
    assert_eq!(world.exchanges.open_now(), 0);
    assert_eq!(world.ended(ExchangeKind::Download, ExchangeOutcome::Done), 1);
}

#[tokio::test(start_paused = true)]
async fn a_lying_runner_cannot_hand_out_a_hole() {
    let long = ExchangeFromRunner::Chunk { offset: 8, data: Bytes::from(vec![0; TRANSFER_CHUNK_BYTES + 1]) };
    let lies = [
        ("a hole", Ok(chunk_from(9, b"x"))),
        ("bytes again", Ok(chunk_from(7, b"x"))),
        ("from the start", Ok(chunk_from(0, b"x"))),
        ("an empty chunk", Ok(chunk_from(8, b""))),
        ("a long chunk", Ok(long)),
        ("an end too early", Ok(done(9))),
        ("an end of less", Ok(done(3))),
        ("a second start", Ok(started(FileFormat::Tar))),
        ("another answer", Ok(ExchangeFromRunner::Ready { offset: 8 })),
        ("no message", Err(ExchangeBroken::Unreadable("x".to_owned()))),
    ];
    for (name, lie) in lies {
        let world = World::new();
        let (mut download, line) = world.begun(5).await;
        line.say(chunk_from(5, b"abc")).await;
        line.say.send(lie).await.unwrap();
        assert!(download.parts.next().await.unwrap().is_ok(), "{name}: the valid data arrives");
        let error = download.parts.next().await.unwrap().unwrap_err();
        assert!(matches!(error, ApiError::Internal(_)), "{name}: {error:?}");
        assert!(download.parts.next().await.is_none(), "{name}: and no data after it");
        assert_eq!(line.rest().await, [], "{name}");
        assert_eq!(world.ended(ExchangeKind::Download, ExchangeOutcome::Misbehaved), 1, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_download_begins_as_it_was_asked_for() {
    let mut nowhere = info("/workspace");
    nowhere.path = b"workspace".to_vec();
    let nowhere = DownloadStarted { format: FileFormat::Tar, info: nowhere };
    let lies = [
        ("another format", started(FileFormat::File)),
        ("no path", ExchangeFromRunner::DownloadStarted(nowhere)),
        ("bytes at once", chunk_from(0, b"abc")),
    ];
    for (name, lie) in lies {
        let world = World::new();
        let call = world.download(0);
        let (line, _) = world.line().await;
        line.say(lie).await;
        let error = outcome(call).await.err().unwrap();
        assert!(matches!(error, ApiError::Internal(_)), "{name}: {error:?}");
        assert_eq!(line.rest().await, [], "{name}");
    }
    let world = World::new();
    let call = world.download(7);
    let (line, _) = world.line().await;
    line.say(failed(ExchangeFailure::FailedPrecondition, "TRANSFER_GONE")).await;
    let error = outcome(call).await.err().unwrap();
    assert!(matches!(&error, ApiError::Exchange(refusal) if refusal.reason == "TRANSFER_GONE"), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn a_runner_that_goes_or_stops_speaking_ends_the_download_with_a_status() {
    for goes in [true, false] {
        let world = World::new();
        let (mut download, line) = world.begun(0).await;
        line.say(chunk_from(0, b"abc")).await;
        let line = (!goes).then_some(line);
        assert!(download.parts.next().await.unwrap().is_ok());
        let error = download.parts.next().await.unwrap().unwrap_err();
        assert!(matches!(error, ApiError::Unavailable { reason: "RUNNER_UNREACHABLE", .. }), "{error:?}");
        assert!(download.parts.next().await.is_none());
        drop(line);
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_takes_nothing_is_not_read_ahead_for_and_is_sent_away() {
    let world = World::new();
    let (mut download, line) = world.begun(0).await;
    for offset in 0..60 {
        line.say(chunk_from(offset, b"x")).await;
    }
    sleep(Duration::from_secs(1)).await;
    let waiting = line.say.max_capacity() - line.say.capacity();
    assert!(waiting >= 57, "{waiting} of 60 chunks are still with the runner");
    sleep(world.exchanges.limits().transfer_idle).await;
    assert_eq!(world.exchanges.open_now(), 0);
    assert_eq!(line.rest().await, []);
    assert_eq!(world.ended(ExchangeKind::Download, ExchangeOutcome::Left), 1);
    // The buffered parts are followed by the error.
    let mut last = download.parts.next().await;
    while let Some(Ok(_)) = last {
        last = download.parts.next().await;
    }
    assert!(matches!(last, Some(Err(ApiError::Unavailable { reason: "TRANSFER_IDLE", .. }))));
}

#[tokio::test(start_paused = true)]
async fn a_client_that_goes_ends_the_runners_work() {
    let world = World::new();
    let (download, line) = world.begun(0).await;
    drop(download);
    assert_eq!(line.rest().await, []);
    sleep(Duration::from_millis(1)).await;
    assert_eq!(world.exchanges.open_now(), 0);
    assert_eq!(world.ended(ExchangeKind::Download, ExchangeOutcome::Left), 1);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_stops_ends_downloads_that_nobody_takes_too() {
    let world = World::new();
    let (mut download, line) = world.begun(0).await;
    for offset in 0..10 {
        line.say(chunk_from(offset, b"x")).await;
    }
    sleep(Duration::from_millis(1)).await;
    world.exchanges.shut_down().await;
    assert_eq!(world.exchanges.open_now(), 0);
    let mut last = None;
    while let Some(part) = download.parts.next().await {
        last = Some(part);
    }
    assert!(matches!(last, Some(Err(ApiError::Unavailable { reason: "SHUTTING_DOWN", .. }))));
}

#[tokio::test(start_paused = true)]
async fn what_a_runner_says_of_skipped_files_is_bounded() {
    let world = World::new();
    let (mut download, line) = world.begun(0).await;
    let file = SkippedFile { path: b"/workspace/s".to_vec(), reason: "\u{1b}[2J".repeat(100) };
    line.say(ExchangeFromRunner::Downloaded(Downloaded {
        size: 0,
        sha256: [1; 32],
        files: 0,
        directories: 0,
        links: 0,
        skipped: vec![file; 2 * SKIPPED_FILES],
        skipped_total: 0,
    }))
    .await;
    let Some(Ok(DownloadPart::Done(done))) = download.parts.next().await else { panic!() };
    assert_eq!((done.skipped.len(), done.skipped_total), (SKIPPED_FILES, SKIPPED_FILES as u64));
    assert!(done.skipped[0].reason.len() <= 128 && !done.skipped[0].reason.contains('\u{1b}'));
}
