//! Runs a search: fetches the next data and processes it on a blocking thread, one chunk at a time,
//! in turn with other searches. It processes nothing before it is polled.

use std::collections::VecDeque;

use tokio_util::sync::{CancellationToken, DropGuard};

use super::{
    grep::{Feed, Grep},
    source::{At, Extent, OutputLocation},
    types::{ReadPart, Reading, Search},
};
use crate::stream::{error::StreamError, ring::Piece};

/// A search in progress.
pub(super) struct Searching {
    source: OutputLocation,
    tenant: String,
    extent: Extent,
    /// The offset of the next data to fetch.
    offset: u64,
    /// The state of the search. `None` while it is on the blocking thread, and after a cancelled
    /// step.
    grep: Option<Box<Grep>>,
    feed: Feed,
    out: VecDeque<ReadPart>,
    over: bool,
    cancel: CancellationToken,
    _cancel_when_dropped: DropGuard,
}

impl Searching {
    /// Creates a search within `extent` for this tenant.
    pub(super) fn new(source: OutputLocation, extent: Extent, search: Search, tenant: String) -> Self {
        let cancel = source.registration.inner.cancel.child_token();
        Self {
            offset: search.offset,
            grep: Some(Box::new(Grep::new(source.stream(), search))),
            source,
            tenant,
            extent,
            feed: Feed::Empty,
            out: VecDeque::new(),
            over: false,
            _cancel_when_dropped: cancel.clone().drop_guard(),
            cancel,
        }
    }

    async fn fetch(&mut self) -> Result<(), StreamError> {
        let end = self.extent.total;
        let stopped = self.grep.as_ref().is_none_or(|grep| grep.stopped());
        if !stopped && self.offset < end {
            match self.source.at(self.offset, end - self.offset).await? {
                At::Piece(piece) => {
                    let piece = piece.until(end);
                    self.offset = piece.end();
                    self.feed = match piece {
                        Piece::Data { offset, data } => Feed::Data { offset, data },
                        Piece::Gap { from, to } => Feed::Gap { from, to },
                    };
                    return Ok(());
                }
                // The stream is shorter than before, because a host crashed and lost the latest
                // bytes.
                At::End(extent) => self.extent = extent,
            }
        }
        self.feed = Feed::End { at: self.offset.min(self.extent.total), extent: self.extent };
        self.over = true;
        Ok(())
    }

    async fn work(&mut self) -> Result<(), StreamError> {
        let inner = &self.source.registration.inner;
        let slot = tokio::select! {
            () = self.cancel.cancelled() => return Err(StreamError::Stopping),
            slot = inner.search_slots.take(&self.tenant) => slot,
        };
        let slot = slot.map_err(|_| StreamError::Stopping)?;
        let failed = || StreamError::Internal("a search was aborted");
        let mut grep = self.grep.take().ok_or_else(failed)?;
        let mut feed = std::mem::replace(&mut self.feed, Feed::Empty);
        let cancel = self.cancel.clone();
        let work = inner.tasks.spawn_blocking(move || {
            let _slot = slot;
            let made = grep.work(&mut feed, &cancel);
            (grep, feed, made)
        });
        let (grep, feed, made) = work.await.map_err(|_| failed())?;
        self.grep = Some(grep);
        self.feed = feed;
        self.out = made.into();
        if self.cancel.is_cancelled() { Err(StreamError::Stopping) } else { Ok(()) }
    }
}

impl Reading for Searching {
    async fn next(&mut self) -> Result<Option<ReadPart>, StreamError> {
        loop {
            if let Some(part) = self.out.pop_front() {
                self.source.observe(&part);
                return Ok(Some(part));
            }
            if matches!(self.feed, Feed::Empty) {
                if self.over {
                    return Ok(None);
                }
                self.fetch().await?;
            }
            self.work().await?;
        }
    }
}
