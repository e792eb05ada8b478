//! Ctrl-B at a terminal: the command goes on in the background. The terminal makes a signal of the key, so that
//! nothing is read of what a person types for the shell.
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

use super::How;
use crate::{
    client::Client,
    command::{failure::describe, output},
};

const CTRL_B: u8 = 0x02;

/// The key, where it is Airlock's. Dropped, it is the terminal's again.
#[derive(Debug)]
pub(super) struct Key(Option<Armed>);

#[derive(Debug)]
struct Armed {
    quit: Signal,
    before: Termios,
}

impl Key {
    /// Of a command that this view has started, at a terminal that is not the command's own.
    pub(super) fn new(how: &How) -> Self {
        let wanted = how.owns && !how.local && !how.json && how.terminal.is_none();
        Self(if wanted && is_alone() { arm().ok() } else { None })
    }

    /// Returns when it is pressed. Cancel-safe.
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
        // Nothing can be done for a terminal that is gone.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
    }
}

/// Whether a person's shell has started this program by itself: to a script around it, and to the other programs of a
/// pipeline, the signal would come too, and would end them.
fn is_alone() -> bool {
    let own = getpgrp();
    io::stdin().is_terminal()
        && io::stdout().is_terminal()
        && own == getpid()
        && tcgetpgrp(io::stdin()).is_ok_and(|foreground| foreground == own)
}

/// Ctrl-B in the place of Ctrl-\: the key that sends SIGQUIT.
fn arm() -> io::Result<Armed> {
    // First, so that the signal cannot end this program.
    let quit = signal(SignalKind::quit())?;
    let before = tcgetattr(io::stdin())?;
    let mut modes = before.clone();
    modes.special_codes[SpecialCodeIndex::VQUIT] = CTRL_B;
    let armed = Armed { quit, before };
    tcsetattr(io::stdin(), OptionalActions::Now, &modes)?;
    Ok(armed)
}

/// Asks for it as soon as it is known of what. The view's closing event says that it was done.
pub(super) async fn send(client: Client, mut id: watch::Receiver<Option<String>>) {
    let known = match id.wait_for(Option::is_some).await {
        Ok(known) => known.clone().unwrap_or_default(),
        Err(_) => return,
    };
    if let Err(error) = client.detach(&known).await {
        output::note(&format!("it was not sent to the background: {}", describe(&error)));
    }
}
