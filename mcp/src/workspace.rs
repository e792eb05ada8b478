//! The session of one MCP connection: it is created at the first use, and closed at the end.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex as StdMutex, MutexGuard, PoisonError},
};

use airlock_client::{
    Client, ClientError,
    v1::{SessionServiceCreateRequest, SessionState},
};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use super::options::Options;

/// The maximum number of commands that a connection started and whose end it did not see.
const COMMANDS: usize = 256;
/// The label of a session that this server created.
const LABEL: (&str, &str) = ("client", "airlock-mcp");
/// The reasons of errors after which a session cannot be used again.
const GONE: [&str; 2] = ["SESSION_CLOSED", "SESSION_LOST"];

/// The session of one connection, and the commands that it started.
#[derive(Debug)]
pub(crate) struct Workspace {
    options: Arc<Options>,
    /// Cancelled when the connection ends.
    ending: CancellationToken,
    client: Mutex<Option<Client>>,
    /// The session that the connection created.
    session: Mutex<Option<String>>,
    commands: StdMutex<HashMap<String, Command>>,
}

/// A command that the connection started and whose end it did not see.
#[derive(Debug, Clone, Copy, Default)]
struct Command {
    background: bool,
    /// The offset at which the next read of its output begins.
    offset: u64,
}

/// A usable session.
#[derive(Debug, Clone)]
pub(crate) struct Open {
    pub(crate) client: Client,
    pub(crate) session: String,
}

impl Workspace {
    pub(crate) fn new(options: Arc<Options>, ending: CancellationToken) -> Self {
        Self {
            options,
            ending,
            client: Mutex::default(),
            session: Mutex::default(),
            commands: StdMutex::default(),
        }
    }

    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    /// Waits for the end of the connection.
    pub(crate) async fn ending(&self) {
        self.ending.cancelled().await;
    }

    /// Returns the session, which is created if necessary.
    pub(crate) async fn open(&self) -> Result<Open, String> {
        let client = self.client().await?;
        if let Some(session) = &self.options.session {
            return Ok(Open { client, session: session.clone() });
        }
        let mut created = self.session.lock().await;
        if let Some(session) = &*created {
            return Ok(Open { client, session: session.clone() });
        }
        let request = SessionServiceCreateRequest {
            profile: self.options.profile.clone(),
            mode: self.options.mode.into(),
            base: self.options.base.clone(),
            labels: BTreeMap::from([(LABEL.0.to_owned(), LABEL.1.to_owned())]),
            ..Default::default()
        };
        match client.create_session(request).await {
            Ok(session) => {
                *created = Some(session.session_id.clone());
                Ok(Open { client, session: session.session_id })
            }
            Err(error) => {
                drop(created);
                Err(self.failed(&error).await)
            }
        }
    }

    async fn client(&self) -> Result<Client, String> {
        let mut client = self.client.lock().await;
        if let Some(client) = &*client {
            return Ok(client.clone());
        }
        let connected = (self.options.connect)().await?;
        Ok(client.insert(connected).clone())
    }

    /// Returns the text of an error. A lost connection or session is replaced by the next call.
    pub(crate) async fn failed(&self, error: &ClientError) -> String {
        let mut text = (self.options.describe)(error);
        if matches!(error, ClientError::Transport { .. } | ClientError::Untrusted { .. }) {
            *self.client.lock().await = None;
        }
        let gone = error.rejection().is_some_and(|rejection| {
            GONE.contains(&rejection.reason.as_str())
                || rejection.metadata.get("what").is_some_and(|what| what == "session")
        });
        if gone && self.session.lock().await.take().is_some() {
            self.commands().clear();
            text.push_str("; the files of the session are gone, and the next call starts a new session");
        }
        text
    }

    /// Records a command. It must be ended with the connection.
    pub(crate) fn started(&self, id: &str, background: bool) {
        self.commands().entry(id.to_owned()).or_default().background = background;
    }

    /// Reports whether no further command can be recorded.
    pub(crate) fn is_full(&self) -> bool {
        self.commands().len() >= COMMANDS
    }

    /// Records that a command has ended.
    pub(crate) fn ended(&self, id: &str) {
        self.commands().remove(id);
    }

    /// Returns the offset at which the next read of the command's output begins.
    pub(crate) fn offset(&self, id: &str) -> u64 {
        self.commands().get(id).map_or(0, |command| command.offset)
    }

    /// Records the offset for the next read.
    pub(crate) fn has_read(&self, id: &str, offset: u64) {
        if let Some(command) = self.commands().get_mut(id) {
            command.offset = offset;
        }
    }

    /// Ends everything that the connection started, unless it is to be kept.
    pub(crate) async fn close(&self) {
        let Some(client) = self.client.lock().await.clone() else { return };
        let created = self.session.lock().await.take();
        let keep = self.options.keep;
        if let Some(session) = created.filter(|_| !keep) {
            self.closed(&client, &session).await;
            return;
        }
        let commands = std::mem::take(&mut *self.commands());
        for (id, _) in commands.into_iter().filter(|(_, command)| !(keep && command.background)) {
            if let Err(error) = client.cancel(&id).await {
                (self.options.log)(&format!(
                    "execution {id} was not ended: {}",
                    (self.options.describe)(&error)
                ));
            }
        }
    }

    async fn closed(&self, client: &Client, session: &str) {
        match client.close_session(session).await {
            Ok(closed) if matches!(closed.state(), SessionState::Closing | SessionState::Closed) => {}
            Ok(closed) => {
                (self.options.log)(&format!("session {session} is still {}", closed.state().as_str_name()));
            }
            Err(error) => {
                let why = (self.options.describe)(&error);
                (self.options.log)(&format!("session {session} was not closed: {why}"));
            }
        }
    }

    fn commands(&self) -> MutexGuard<'_, HashMap<String, Command>> {
        self.commands.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
