//! The access of one execution: its credential, its rules, and the queue of its reports.

use std::{
    fmt,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use airlock_network::{Layers, Target};
use async_trait::async_trait;
use subtle::ConstantTimeEq;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use crate::{connection::Connection, inspection::Inspection};

/// The credential of an execution: 32 random bytes, as 64 hexadecimal digits. Its `Debug` form does not contain it.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// Creates a random token.
    ///
    /// # Errors
    ///
    /// Fails if the operating system provides no random bytes.
    pub fn random() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes)?;
        Ok(Self(hex::encode(bytes)))
    }

    /// Returns the text that a command presents as the password of a proxy.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Compares in a time that does not depend on the contents.
    pub(crate) fn matches(&self, given: &[u8]) -> bool {
        self.0.as_bytes().ct_eq(given).into()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

/// The sending end of a bounded queue of reports. A connection never waits for it: if the queue is full, the report is
/// dropped and counted.
#[derive(Clone, Debug)]
pub struct Events {
    queue: mpsc::Sender<Connection>,
    dropped: Arc<AtomicU64>,
}

impl Events {
    /// Reports to a queue.
    #[must_use]
    pub fn new(queue: mpsc::Sender<Connection>) -> Self {
        Self { queue, dropped: Arc::default() }
    }

    /// Returns the number of reports that were dropped because the queue was full.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    pub(crate) fn send(&self, connection: Connection) {
        if self.queue.try_send(connection).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Recognizes the clients that are processes of the execution. They need no credential, because some programs, such as
/// Java, cannot send one without a change of their own.
#[async_trait]
pub trait Processes: fmt::Debug + Send + Sync {
    /// Returns whether a process of the execution has the socket that is bound to `client` and connected to `proxy`.
    /// False in case of doubt.
    async fn hold(&self, client: SocketAddr, proxy: SocketAddr) -> bool;
}

/// Asks a person about connections of an execution.
#[async_trait]
pub trait Questions: fmt::Debug + Send + Sync {
    /// Waits for the answer about a target. Connections to the same target share one question. Dropping the future of the
    /// last of them ends the question.
    ///
    /// # Errors
    ///
    /// Returns the reason why there is no positive answer. The wait is bounded.
    async fn ask(&self, target: &Target, rule: &str) -> Result<(), Unanswered>;
}

/// The reason why a connection has no positive answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unanswered {
    /// The reason, as the second half of a sentence: `nobody answered within 60 seconds`.
    pub question: String,
    /// The action that helps.
    pub remedy: String,
}

/// The access of one execution to the network.
#[derive(Clone, Debug)]
pub struct Access {
    /// The credential of this execution.
    pub token: Token,
    /// Recognizes clients without the credential. `None`: every client needs it.
    pub processes: Option<Arc<dyn Processes>>,
    /// The rules. A change applies to new requests immediately, and closes tunnels that it no longer allows.
    pub layers: watch::Receiver<Arc<Layers>>,
    /// The hosts whose TLS the proxy inspects, and the secrets that it inserts. `None`: it inspects nothing.
    pub inspection: Option<Arc<Inspection>>,
    /// Asks a person about targets. `None`: a connection that a rule asks about is refused.
    pub questions: Option<Arc<dyn Questions>>,
    /// Where connections are reported.
    pub events: Events,
    /// Ends the access, and closes its connections.
    pub cancel: CancellationToken,
}
