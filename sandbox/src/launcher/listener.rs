//! Opens a listener on a session's loopback for the runner.
//!
//! The runner cannot enter the session's namespaces itself: a process with several threads cannot join a user namespace.
//! A process of `airlock-init` enters them, opens the socket, passes it on and ends. Must not leave a copy of the socket
//! in any other process.

use std::net::TcpListener;

use airlock_init::wire::{ListenPlan, MODE_LISTEN};

use super::{Launcher, unexpected};
use crate::error::LaunchError;
use crate::session::Session;

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
        self.check_ids(session.ids)?;
        let Some(net) = &session.net else {
            return Err(LaunchError::Invalid { cause: "the session has no network to listen in".to_owned() });
        };
        let plan = ListenPlan { parent: std::process::id(), ids: session.ids, backlog: BACKLOG };
        // The process has ended when its handle is dropped. Until then it has a copy of the listener.
        let (child, fds) = self.ask(MODE_LISTEN, &plan, &net.fds())?;
        drop(child);
        fds.into_iter().next().map(TcpListener::from).ok_or_else(unexpected)
    }
}
