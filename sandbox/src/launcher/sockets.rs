//! Opens sockets in a session's network namespace for the runner.
//!
//! The runner cannot enter the session's namespaces itself: a process with several threads cannot join a user namespace.
//! A process of `airlock-init` enters them, opens the sockets, passes them on and ends. A socket stays in the namespace in
//! which it was opened, so the runner can connect one later. Must not leave a copy of a socket in any other process.

use std::net::TcpListener;
use std::os::fd::OwnedFd;

use airlock_init::wire::{MODE_SOCKET, SocketPlan, SocketUse};

use super::{Launcher, unexpected};
use crate::error::LaunchError;
use crate::session::{Session, SessionSockets};

/// The maximum number of connections that wait to be accepted. A client that exceeds it waits and tries again.
const BACKLOG: i32 = 256;

impl Launcher {
    /// Opens a TCP listener on the session's loopback, at a free port of 127.0.0.1. Commands with
    /// [`crate::Network::SessionLoopback`] can connect to it, and nothing else can. The listener is nonblocking and
    /// close-on-exec, and only the caller has it: connections are refused as soon as the caller drops it. Blocks for
    /// some milliseconds.
    ///
    /// # Errors
    ///
    /// The step that failed. [`LaunchError::Invalid`] if the session has no network.
    pub fn session_listener(&self, session: &Session) -> Result<TcpListener, LaunchError> {
        let mut sockets = self.sockets(session, SocketUse::Listen { backlog: BACKLOG })?;
        sockets.next().map(TcpListener::from).ok_or_else(unexpected)
    }

    /// Opens sockets in the session's network namespace. A connection of theirs reaches only servers of the session's
    /// commands, whatever address the caller connects to. Blocks for some milliseconds.
    ///
    /// # Errors
    ///
    /// The step that failed. [`LaunchError::Invalid`] if the session has no network.
    pub fn session_sockets(&self, session: &Session) -> Result<SessionSockets, LaunchError> {
        let mut sockets = self.sockets(session, SocketUse::Connect)?;
        Ok(SessionSockets { v4: sockets.next().ok_or_else(unexpected)?, v6: sockets.next() })
    }

    fn sockets(
        &self,
        session: &Session,
        sockets: SocketUse,
    ) -> Result<impl Iterator<Item = OwnedFd> + use<>, LaunchError> {
        self.check_ids(session.ids)?;
        let Some(net) = &session.net else {
            return Err(LaunchError::Invalid { cause: "the session has no network for sockets".to_owned() });
        };
        let plan = SocketPlan { parent: std::process::id(), ids: session.ids, sockets };
        // The process has ended when its handle is dropped. Until then it has copies of the sockets.
        let (child, fds) = self.ask(MODE_SOCKET, &plan, &net.fds())?;
        drop(child);
        Ok(fds.into_iter())
    }
}
