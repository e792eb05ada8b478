//! The connection between this terminal and a command's terminal: keys, size and modes.
//!
//! Must restore this terminal however the command or the view ends. The command's output is written to it unchanged, as
//! with ssh.

mod keys;
mod raw;

use std::io::IsTerminal as _;

use clap::Args;
use rustix::termios::tcgetwinsize;
use tokio::{
    io::duplex,
    signal::unix::{SignalKind, signal},
    sync::watch,
};

use super::{Failure, failure::describe, output};
use airlock_client::{Client, ClientError, v1};

use keys::Sequence;
use raw::Raw;

pub(super) use raw::is_raw;

/// The largest number of rows or columns, as in the contract.
const LONGEST_SIDE: u16 = 4096;
/// The number of typed bytes that wait to be sent. Further input stays in the terminal.
const TYPED: usize = 64 * 1024;
/// The error reasons that mean that the command takes no more keys. They are not reported.
const NO_MORE: [&str; 2] = ["NOT_RUNNING", "STDIN_CLOSED"];
/// The error reason for a terminal that another client has taken over.
const TAKEN: &str = "STDIN_TAKEN";

/// Whether the command has a terminal, and the keys that leave it.
#[derive(Debug, Clone, Args)]
pub(super) struct TerminalOptions {
    /// Connect the command to this terminal: its size, its keys and its TERM. Implies -i.
    #[arg(short, long, conflicts_with = "json")]
    tty: bool,
    /// The keys that leave the terminal without ending the command: characters, or ctrl- and one of a-z @ [ \ ] ^ _,
    /// separated by commas; empty disables them.
    #[arg(long, value_name = "KEYS", default_value = "ctrl-p,ctrl-q", value_parser = keys::sequence)]
    detach_keys: Sequence,
}

/// This terminal, connected to a command.
#[derive(Debug, Clone)]
pub(super) struct Terminal {
    detach: Sequence,
    /// Whether the command ran before this terminal was connected.
    joined: bool,
}

/// The reason why a terminal was left while its command runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Left {
    /// The detach keys were typed, or this terminal was closed.
    Detached,
    /// Another client has taken over the terminal.
    Taken,
}

impl TerminalOptions {
    /// Returns the terminal if one is requested. `joined` means that the command already runs.
    pub(super) fn terminal(&self, joined: bool) -> Result<Option<Terminal>, Failure> {
        if !self.tty {
            return Ok(None);
        }
        for (name, is) in [
            ("standard input", std::io::stdin().is_terminal()),
            ("standard output", std::io::stdout().is_terminal()),
        ] {
            if !is {
                return Err(Failure::usage(format!(
                    "--tty requires a terminal, but {name} is not one; remove --tty, or run in a terminal (`script` creates one)"
                )));
            }
        }
        Ok(Some(Terminal { detach: self.detach_keys.clone(), joined }))
    }
}

impl Terminal {
    /// Returns this terminal's size and type for a request.
    pub(super) fn wire() -> v1::Pty {
        let v1::TerminalSize { rows, cols } = size().unwrap_or_default();
        let term = std::env::var("TERM").unwrap_or_default();
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._+-".contains(&byte);
        let term = if term.len() <= 64 && term.bytes().all(plain) { term } else { String::new() };
        v1::Pty { rows, cols, term }
    }

    /// Reports whether the output that is shown first can start in the middle of a line.
    pub(super) fn is_joined(&self) -> bool {
        self.joined
    }

    /// Connects the terminal to the command as soon as it runs. Returns when it is left. When the future is
    /// dropped, the terminal gets its previous modes back.
    pub(super) async fn attend(
        &self,
        client: &Client,
        mut id: watch::Receiver<Option<String>>,
        mut runs: watch::Receiver<bool>,
    ) -> Result<Left, Failure> {
        let never = std::future::pending;
        let Ok(id) = id.wait_for(Option::is_some).await.map(|id| id.clone().unwrap_or_default()) else {
            return never().await;
        };
        if runs.wait_for(|runs| *runs).await.is_err() {
            return never().await;
        }
        let _raw = Raw::enter()
            .map_err(|error| Failure::new(format!("cannot set this terminal to raw mode: {error}")))?;
        let (typed, mut source) = duplex(TYPED);
        tokio::select! {
            () = keys::read(&self.detach, typed) => Ok(Left::Detached),
            left = self.forward(client, &id, &mut source) => Ok(left),
            failure = self.follow_size(client, &id) => Err(failure),
        }
    }

    /// Forwards keys. Returns only when another client has taken over the terminal.
    async fn forward(&self, client: &Client, id: &str, source: &mut tokio::io::DuplexStream) -> Left {
        let from = if self.joined { None } else { Some(0) };
        match client.type_into(id, from, source).await {
            Err(error) if has_reason(&error, &[TAKEN]) => return Left::Taken,
            Err(error) if !has_reason(&error, &NO_MORE) => {
                output::note(&format!("keys are no longer forwarded: {}", describe(&error)));
            }
            // The view reports the result.
            Ok(_) | Err(_) => {}
        }
        std::future::pending().await
    }

    /// Sends each new size. Returns only if size changes cannot be received.
    async fn follow_size(&self, client: &Client, id: &str) -> Failure {
        let mut changes = match signal(SignalKind::window_change()) {
            Ok(changes) => changes,
            Err(error) => return Failure::new(format!("cannot install the signal handlers: {error}")),
        };
        let mut told = None;
        if let Some(own) = size().filter(|_| self.joined) {
            // Programs redraw only if the size changes, so a different size is sent first.
            let other = v1::TerminalSize { cols: if own.cols > 1 { own.cols - 1 } else { 2 }, ..own };
            tell(client, id, other).await;
        }
        loop {
            let own = size();
            if let Some(own) = own.filter(|_| own != told) {
                tell(client, id, own).await;
                told = Some(own);
            }
            if changes.recv().await.is_none() {
                return Failure::new("signals are no longer received");
            }
        }
    }
}

/// Sends a size. A failed attempt is reported; the next size change tries again.
async fn tell(client: &Client, id: &str, size: v1::TerminalSize) {
    if let Err(error) = client.resize(id, size).await
        && !has_reason(&error, &NO_MORE)
    {
        output::note(&format!("cannot send the terminal's size to the server: {}", describe(&error)));
    }
}

fn has_reason(error: &ClientError, reasons: &[&str]) -> bool {
    error.rejection().is_some_and(|rejection| reasons.contains(&rejection.reason.as_str()))
}

/// Returns the size of this terminal, or `None` if it does not report one.
fn size() -> Option<v1::TerminalSize> {
    let size = tcgetwinsize(std::io::stdout()).ok()?;
    let side = |side: u16| Some(u32::from(side.min(LONGEST_SIDE))).filter(|side| *side > 0);
    Some(v1::TerminalSize { rows: side(size.ws_row)?, cols: side(size.ws_col)? })
}
