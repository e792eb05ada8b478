//! Watched directories: for callers that ask for changes, and as a stream.

use std::time::Duration;

use http::Response;
use tokio::time::{Instant, interval, sleep};

use super::call::{Call, Stream, open};
use crate::{
    body::{Body, RequestBody},
    connect::Messages,
    entries::absolute,
    refusal::{Kind, Refusal},
    watcher::Watcher,
    wire::{
        Empty,
        filesystem::{WatchRequest, WatchResponse, WatcherCreated, WatcherEvents, WatcherRequest},
    },
};

/// The time between two listings of a stream.
const LOOK: Duration = Duration::from_millis(500);

async fn begin(call: &Call, request: WatchRequest) -> Result<Watcher, Refusal> {
    let watched = (absolute(&request.path)?, request.recursive, request.include_entry);
    let most = call.front.registry.limits().entries;
    Watcher::begin(call.sandbox.client(), &call.sandbox.session, watched, most).await
}

/// Begins to watch a directory.
pub(super) async fn create(call: &Call, request: WatchRequest) -> Result<WatcherCreated, Refusal> {
    let watcher = begin(call, request).await?;
    Ok(WatcherCreated { watcher_id: call.sandbox.watchers.add(watcher)? })
}

/// Returns the changes since the last call.
pub(super) async fn events(call: &Call, request: WatcherRequest) -> Result<WatcherEvents, Refusal> {
    let watcher = call.sandbox.watchers.find(&request.watcher_id)?;
    Ok(WatcherEvents { events: watcher.changes(call.sandbox.client(), &call.sandbox.session).await? })
}

/// Stops to watch a directory.
pub(super) async fn remove(call: &Call, request: WatcherRequest) -> Result<Empty, Refusal> {
    call.sandbox.watchers.remove(&request.watcher_id).map(|()| Empty {})
}

/// Sends the changes of a directory until the caller reads no more.
pub(super) async fn stream(call: &Call, body: RequestBody) -> Result<Response<Body>, Refusal> {
    let request: WatchRequest = Messages::new(&call.headers, body)?.only().await?;
    let (stream, response) = open(call)?;
    let watcher = begin(call, request).await?;
    call.front.registry.tasks().spawn(Box::pin(follow(stream, watcher)));
    Ok(response)
}

async fn follow(stream: Stream, watcher: Watcher) {
    let Stream { call, sink, limit, .. } = &stream;
    let result = tokio::select! {
        result = send(&stream, &watcher) => result,
        () = sink.closed() => return,
        () = sleep(*limit) => Err(Refusal::new(Kind::Late, "the stream reached its time limit")),
        () = call.sandbox.ended.cancelled() => Err(Refusal::gone()),
    };
    let result = result.map_err(|refusal| call.noticed(refusal));
    stream.sink.finish(result).await;
}

async fn send(stream: &Stream, watcher: &Watcher) -> Result<(), Refusal> {
    let (sandbox, sink) = (&stream.call.sandbox, &stream.sink);
    let keepalive = stream.call.keepalive();
    let mut looks = interval(LOOK);
    let mut is_read = sink.send(&WatchResponse::Start(Empty {})).await;
    let mut last = Instant::now();
    while is_read {
        looks.tick().await;
        for event in watcher.changes(sandbox.client(), &sandbox.session).await? {
            is_read &= sink.send(&WatchResponse::Filesystem(Box::new(event))).await;
            last = Instant::now();
        }
        if last.elapsed() >= keepalive {
            is_read &= sink.send(&WatchResponse::Keepalive(Empty {})).await;
            last = Instant::now();
        }
    }
    Ok(())
}
