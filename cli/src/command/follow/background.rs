//! The input of a view. Standard input is forwarded to the command; nothing is read before the command can take it.
//!
//! Ctrl-B at a terminal: the command continues in the background. The terminal driver turns the key into a signal, so
//! input for the shell is not read here.
//!
//! Must leave the terminal as it was.

use std::io::{self, IsTerminal as _};

use rustix::{
    process::{getpgrp, getpid},
    termios::{OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetpgrp, tcsetattr},
};
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::watch,
};

use super::ViewOptions;
use crate::command::{failure::describe, output};
use airlock_client::{Client, ClientError};

const CTRL_B: u8 = 0x02;

/// The key while it belongs to Airlock. Dropping it restores the terminal's own key.
#[derive(Debug)]
pub(super) struct Key(Option<Armed>);

#[derive(Debug)]
struct Armed {
    quit: Signal,
    before: Termios,
}

impl Key {
    /// Arms the key for a command that this view started, unless the terminal belongs to the command.
    pub(super) fn new(options: &ViewOptions) -> Self {
        let wanted = options.owns && !options.local && !options.json && options.terminal.is_none();
        Self(if wanted && is_alone() { arm().ok() } else { None })
    }

    /// Returns when the key is pressed. Cancel-safe.
    pub(super) async fn pressed(&mut self) {
        if let Some(Armed { quit, .. }) = &mut self.0
            && quit.recv().await.is_some()
        {
            return;
        }
        std::future::pending::<()>().await;
    }
}

impl Drop for Armed {
    fn drop(&mut self) {
        // A closed terminal cannot be restored.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
    }
}

/// Reports whether an interactive shell started only this program. In a script or a pipeline the signal would also
/// reach, and end, the other processes.
fn is_alone() -> bool {
    let own = getpgrp();
    io::stdin().is_terminal()
        && io::stdout().is_terminal()
        && own == getpid()
        && tcgetpgrp(io::stdin()).is_ok_and(|foreground| foreground == own)
}

/// Assigns SIGQUIT to Ctrl-B instead of Ctrl-\.
fn arm() -> io::Result<Armed> {
    // The handler comes first, so that the signal cannot end this program.
    let quit = signal(SignalKind::quit())?;
    let before = tcgetattr(io::stdin())?;
    let mut modes = before.clone();
    modes.special_codes[SpecialCodeIndex::VQUIT] = CTRL_B;
    let armed = Armed { quit, before };
    tcsetattr(io::stdin(), OptionalActions::Now, &modes)?;
    Ok(armed)
}

/// Sends the execution to the background as soon as its ID is known. The view's last event confirms it.
pub(super) async fn send(client: Client, mut id: watch::Receiver<Option<String>>) {
    let known = match id.wait_for(Option::is_some).await {
        Ok(known) => known.clone().unwrap_or_default(),
        Err(_) => return,
    };
    if let Err(error) = client.detach(&known).await {
        output::note(&format!("cannot send the command to the background: {}", describe(&error)));
    }
}

/// The error reasons that mean that the command takes no more input. They are not reported.
const NO_MORE: [&str; 2] = ["NOT_RUNNING", "STDIN_CLOSED"];

/// Forwards all of standard input and then its end, starting when the command runs.
pub(super) async fn forward_input(
    client: &Client,
    mut id: watch::Receiver<Option<String>>,
    mut runs: watch::Receiver<bool>,
) {
    let Ok(id) = id.wait_for(Option::is_some).await.map(|id| id.clone().unwrap_or_default()) else {
        return;
    };
    if runs.wait_for(|runs| *runs).await.is_err() {
        return;
    }
    if let Err(error) = client.write_stdin(&id, 0, &mut tokio::io::stdin()).await
        && !takes_no_more(&error)
    {
        output::note(&format!("standard input is no longer forwarded: {}", describe(&error)));
    }
}

fn takes_no_more(error: &ClientError) -> bool {
    error.rejection().is_some_and(|rejection| NO_MORE.contains(&rejection.reason.as_str()))
}
