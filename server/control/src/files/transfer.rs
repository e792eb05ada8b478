//! Downloads from a session, and uploads into it.

use airlock_domain::{
    DownloadOrder, DownloadStarted, Downloaded, ExchangeFromRunner, ExchangeOrder, RunnerId, SkippedFile,
    UploadOrder, Uploaded,
    limits::{PATH_BYTES, SKIPPED_FILES, TRANSFER_CHUNK_BYTES},
};
use bytes::Bytes;
use futures::stream::{self, BoxStream};
use tokio::{
    sync::{mpsc, oneshot},
    time::timeout,
};
use tracing::Instrument as _;

use super::page::can_be;
use crate::{
    api::ApiError,
    exchange::{Exchange, Exchanges, Pieces, Start, Violation, What, shown},
    model::Principal,
};

/// The number of parts that are buffered for the client.
const WAITING: usize = 1;
/// The maximum length, in bytes, of the reason for a skipped file.
const SKIP_REASON_BYTES: usize = 128;

/// A download that has begun.
pub struct Download {
    /// The properties of the download.
    pub started: DownloadStarted,
    /// The data. Ends with `Done` or an error. Dropping it ends the exchange.
    pub parts: Parts,
}

/// The stream of a download's parts.
pub type Parts = BoxStream<'static, Result<DownloadPart, ApiError>>;

/// A part of a download.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DownloadPart {
    /// A chunk of data.
    Chunk {
        /// The offset of the first byte.
        offset: u64,
        /// At most [`TRANSFER_CHUNK_BYTES`].
        data: Bytes,
    },
    /// The end of the download.
    Done(Downloaded),
}

/// Begins a download.
///
/// # Errors
/// Returns the runner's refusal, `Exhausted` or `Unavailable`.
pub async fn download(
    exchanges: &Exchanges,
    who: &Principal,
    runner: &RunnerId,
    order: DownloadOrder,
) -> Result<Download, ApiError> {
    let (next, format) = (order.offset, order.format);
    let mut exchange = exchanges.open(who, runner, ExchangeOrder::Download(order)).await?;
    let begun = match exchange.hear().await {
        Ok(ExchangeFromRunner::DownloadStarted(started)) => {
            if can_be(&started.info) && format.is_none_or(|format| format == started.format) {
                Ok(started)
            } else {
                Err(exchange.misbehaved(Violation::BadEntry))
            }
        }
        Ok(_) => Err(exchange.misbehaved(Violation::WrongKind)),
        Err(error) => Err(error),
    };
    let started = match begun {
        Ok(started) => started,
        Err(error) => return exchange.settled(Err(error)),
    };

    let (to_client, parts) = mpsc::channel(WAITING);
    let (end, ended) = oneshot::channel();
    let pass_on = async move {
        let passed = pass_on(&mut exchange, next, &to_client).await;
        let passed = if to_client.is_closed() { Ok(()) } else { exchange.settled(passed) };
        // This fails if the client has disconnected. Then the error is not needed.
        drop(end.send(passed.err()));
    };
    exchanges.tasks().spawn(pass_on.in_current_span());
    Ok(Download { started, parts: stream_of(parts, ended) })
}

/// Returns a stream of all parts, followed by the error, if there is one.
fn stream_of(parts: mpsc::Receiver<DownloadPart>, ended: oneshot::Receiver<Option<ApiError>>) -> Parts {
    Box::pin(stream::unfold(Some((parts, ended)), |state| async {
        let (mut parts, ended) = state?;
        if let Some(part) = parts.recv().await {
            return Some((Ok(part), Some((parts, ended))));
        }
        let error =
            ended.await.unwrap_or_else(|_| Some(ApiError::Internal("a download was aborted".to_owned())));
        Some((Err(error?), None))
    }))
}

/// Forwards chunks from `next` on and the end. Stops when the client has disconnected.
async fn pass_on(
    exchange: &mut Exchange,
    mut next: u64,
    to_client: &mpsc::Sender<DownloadPart>,
) -> Result<(), ApiError> {
    loop {
        let heard = tokio::select! {
            biased;
            () = to_client.closed() => return Ok(()),
            heard = exchange.hear() => heard?,
        };
        let part = match heard {
            ExchangeFromRunner::Chunk { offset, data } => {
                if offset != next {
                    return Err(exchange.misbehaved(Violation::OutOfOrder));
                }
                if data.is_empty() || data.len() > TRANSFER_CHUNK_BYTES {
                    return Err(exchange.misbehaved(Violation::ChunkSize));
                }
                exchange.passed(data.len());
                next = next.saturating_add(data.len() as u64);
                DownloadPart::Chunk { offset, data }
            }
            ExchangeFromRunner::Downloaded(done) if done.size == next => {
                DownloadPart::Done(presentable(done))
            }
            ExchangeFromRunner::Downloaded(_) => return Err(exchange.misbehaved(Violation::WrongSize)),
            _ => return Err(exchange.misbehaved(Violation::WrongKind)),
        };
        let is_last = matches!(part, DownloadPart::Done(_));
        let idle = exchange.limits().transfer_idle;
        match exchange.until_stopped(timeout(idle, to_client.send(part))).await? {
            Ok(Ok(())) if !is_last => {}
            Ok(_) => return Ok(()),
            Err(_) => return Err(exchange.idle()),
        }
    }
}

/// Bounds the runner's report of skipped files.
fn presentable(mut done: Downloaded) -> Downloaded {
    done.skipped.truncate(SKIPPED_FILES);
    done.skipped.retain(|file| file.path.len() <= PATH_BYTES);
    for SkippedFile { reason, .. } in &mut done.skipped {
        *reason = shown(reason, SKIP_REASON_BYTES);
    }
    done.skipped_total = done.skipped_total.max(done.skipped.len() as u64);
    done
}

/// Forwards an upload until the runner has put it into the session. If the future is dropped earlier, the
/// session is unchanged, and the runner keeps the received data.
///
/// # Errors
/// Returns `Invalid` for pieces out of order or an invalid archive. Returns `OutOfRange` for an offset past the
/// received data, or for an end before the announced size. Returns `Unavailable` if the runner or the client is
/// idle for too long. Also returns `Exhausted` and other refusals of the runner.
pub async fn upload(
    exchanges: &Exchanges,
    who: &Principal,
    runner: &RunnerId,
    order: UploadOrder,
    mut pieces: Pieces,
) -> Result<Uploaded, ApiError> {
    let size = order.size;
    let mut exchange = exchanges.open(who, runner, ExchangeOrder::Upload(order)).await?;
    let uploaded = pass_on_upload(&mut exchange, &mut pieces, size).await;
    exchange.settled(uploaded)
}

async fn pass_on_upload(
    exchange: &mut Exchange,
    pieces: &mut Pieces,
    size: Option<u64>,
) -> Result<Uploaded, ApiError> {
    let ExchangeFromRunner::Ready { offset: ready } = exchange.hear().await? else {
        return Err(exchange.misbehaved(Violation::WrongKind));
    };
    if size.is_some_and(|size| ready > size) {
        return Err(exchange.misbehaved(Violation::WrongSize));
    }
    let poured = exchange.pour(pieces, Start { ready, what: What::Upload { size } }).await?;
    match poured.answer {
        ExchangeFromRunner::Uploaded(uploaded) if poured.complete => {
            if uploaded.received == poured.reached {
                Ok(uploaded)
            } else {
                Err(exchange.misbehaved(Violation::WrongSize))
            }
        }
        _ => Err(exchange.misbehaved(Violation::WrongKind)),
    }
}
