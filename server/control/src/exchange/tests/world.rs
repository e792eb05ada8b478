//! The fixture: exchanges, a runner that the test controls, and counters.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use airlock_domain::{
    ExchangeFailed, ExchangeFailure, ExchangeFromRunner, ExchangeOrder, ExchangeToRunner, FileFormat,
    FileInfo, FileType, RunnerId, SessionId, UploadOrder,
};
use airlock_output::stream::LinkUnavailable;
use bytes::Bytes;
use tokio::{sync::mpsc, task::JoinHandle, time::timeout};
use tokio_stream::wrappers::ReceiverStream;

use crate::{
    api::ApiError,
    exchange::ExchangeLink,
    exchange::{
        ExchangeBroken, ExchangeKind, ExchangeLimits, ExchangeObserver, ExchangeOutcome, ExchangeParts,
        Exchanges, Piece, Pieces,
    },
    model::Principal,
};

/// Longer than any limit in these tests.
const PATIENCE: Duration = Duration::from_secs(3600);

/// The requests to the runner's link.
#[derive(Default)]
struct Asked {
    away: bool,
    tickets: Vec<String>,
}

/// A stub of the runner's link that records tickets.
#[derive(Clone, Default)]
struct LinkStub(Arc<Mutex<Asked>>);

#[async_trait::async_trait]
impl ExchangeLink for LinkStub {
    async fn open_exchange(&self, _: &RunnerId, ticket: &str) -> Result<(), LinkUnavailable> {
        let mut asked = self.0.lock().unwrap();
        if asked.away {
            return Err(LinkUnavailable::NotConnected);
        }
        asked.tickets.push(ticket.to_owned());
        Ok(())
    }
}

/// A counter of the telemetry events.
#[derive(Default)]
pub(super) struct Counts {
    pub(super) ended: Mutex<HashMap<(ExchangeKind, ExchangeOutcome), u64>>,
    pub(super) bytes: AtomicU64,
}

impl ExchangeObserver for Counts {
    fn exchange_bytes(&self, _: ExchangeKind, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    fn exchange_ended(&self, kind: ExchangeKind, outcome: ExchangeOutcome) {
        *self.ended.lock().unwrap().entry((kind, outcome)).or_default() += 1;
    }
}

pub(super) struct World {
    pub(super) exchanges: Exchanges,
    pub(super) counts: Arc<Counts>,
    link: LinkStub,
}

/// The runner's side of an exchange.
pub(super) struct Line {
    pub(super) say: mpsc::Sender<Result<ExchangeFromRunner, ExchangeBroken>>,
    pub(super) heard: mpsc::Receiver<ExchangeToRunner>,
}

/// The client's side of a stream of pieces.
pub(super) type Client = mpsc::Sender<Result<Piece, ApiError>>;

pub(super) fn runner_id() -> RunnerId {
    "r1".parse().unwrap()
}

/// Returns a principal of this tenant.
pub(super) fn who(tenant: &str) -> Principal {
    Principal {
        name: "ci".to_owned(),
        tenant: tenant.to_owned(),
        roles: Vec::new(),
        profiles: Vec::new(),
        peer: String::new(),
    }
}

pub(super) fn upload_order(size: Option<u64>) -> UploadOrder {
    UploadOrder {
        session_id: SessionId::new(),
        transfer_id: "t".to_owned(),
        path: b"a".to_vec(),
        format: FileFormat::File,
        size,
        sha256: None,
        mode: 0o644,
    }
}

pub(super) fn info(path: &str) -> FileInfo {
    FileInfo {
        path: path.as_bytes().to_vec(),
        file_type: FileType::Regular,
        size: 3,
        mode: 0o644,
        modified_micros: 0,
        link_target: Vec::new(),
    }
}

pub(super) fn piece(offset: u64, data: &'static [u8]) -> Piece {
    Piece { offset, data: Bytes::from_static(data), closes: false }
}

pub(super) fn failed(failure: ExchangeFailure, reason: &str) -> ExchangeFromRunner {
    let (reason, message) = (reason.to_owned(), "no".to_owned());
    ExchangeFromRunner::Failed(ExchangeFailed { failure, reason, message })
}

pub(super) fn chunk_from(offset: u64, data: &'static [u8]) -> ExchangeFromRunner {
    ExchangeFromRunner::Chunk { offset, data: Bytes::from_static(data) }
}

pub(super) fn chunk_to(offset: u64, data: &'static [u8]) -> ExchangeToRunner {
    ExchangeToRunner::Chunk { offset, data: Bytes::from_static(data) }
}

/// Returns a stream of pieces that the test sends one at a time.
pub(super) fn client() -> (Client, Pieces) {
    let (client, pieces) = mpsc::channel(1);
    (client, Box::pin(ReceiverStream::new(pieces)))
}

/// Returns a stream of these pieces that ends regularly.
pub(super) fn sent(pieces: Vec<Piece>) -> Pieces {
    Box::pin(futures::stream::iter(pieces.into_iter().map(Ok)))
}

/// Waits for the result of a call, for at most [`PATIENCE`].
pub(super) async fn outcome<T>(call: JoinHandle<T>) -> T {
    timeout(PATIENCE, call).await.expect("it ends").unwrap()
}

impl World {
    pub(super) fn new() -> Self {
        Self::with(ExchangeLimits::default())
    }

    pub(super) fn with(limits: ExchangeLimits) -> Self {
        limits.check().unwrap();
        let (link, counts) = (LinkStub::default(), Arc::new(Counts::default()));
        let exchanges =
            Exchanges::new(ExchangeParts { link: Arc::new(link.clone()), limits, observer: counts.clone() });
        Self { exchanges, counts, link }
    }

    pub(super) fn go_away(&self) {
        self.link.0.lock().unwrap().away = true;
    }

    /// Waits for the next ticket that the runner is sent.
    pub(super) async fn ticket(&self) -> String {
        loop {
            let ticket = self.link.0.lock().unwrap().tickets.pop();
            match ticket {
                Some(ticket) => return ticket,
                None => tokio::time::sleep(Duration::from_millis(1)).await,
            }
        }
    }

    /// Connects the runner with the next ticket and receives the order.
    pub(super) async fn line(&self) -> (Line, ExchangeOrder) {
        let ticket = self.ticket().await;
        let (say, said) = mpsc::channel(64);
        let mut heard = self.exchanges.accept(&runner_id(), &ticket, ReceiverStream::new(said)).unwrap();
        match heard.recv().await {
            Some(ExchangeToRunner::Order(order)) => (Line { say, heard }, order),
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn ended(&self, kind: ExchangeKind, outcome: ExchangeOutcome) -> u64 {
        self.counts.ended.lock().unwrap().get(&(kind, outcome)).copied().unwrap_or_default()
    }
}

impl Line {
    pub(super) async fn say(&self, message: ExchangeFromRunner) {
        self.say.send(Ok(message)).await.unwrap();
    }

    /// Waits for the next message of the server. Returns `None` after the server has ended the
    /// exchange.
    pub(super) async fn hear(&mut self) -> Option<ExchangeToRunner> {
        timeout(PATIENCE, self.heard.recv()).await.expect("a message arrives")
    }

    /// Waits until the server has ended the exchange, and returns its remaining messages.
    pub(super) async fn rest(mut self) -> Vec<ExchangeToRunner> {
        let mut rest = Vec::new();
        while let Some(message) = self.hear().await {
            rest.push(message);
        }
        self.say.closed().await;
        rest
    }
}
