//! A command's terminal at this one: its keys, its size, its modes.
//!
//! Must leave this terminal as it was, however the command or the view ends. What the command writes goes to it
//! as it is, as with ssh.

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
use crate::client::{Client, ClientError, v1};

use keys::Sequence;
use raw::Raw;

pub(super) use raw::is_raw;

/// Of a terminal's side, as the contract has it.
const LONGEST_SIDE: u16 = 4096;
/// Of what was typed and is not on its way yet, in bytes; what is typed beyond it waits in this terminal.
const TYPED: usize = 64 * 1024;
/// The reasons of errors where a command takes no more keys, which is no fault of anybody.
const NO_MORE: [&str; 2] = ["NOT_RUNNING", "STDIN_CLOSED"];
/// Another client has the keyboard now.
const TAKEN: &str = "STDIN_TAKEN";

/// Whether the command has a terminal, and how to leave it.
#[derive(Debug, Clone, Args)]
pub(super) struct TerminalOptions {
    /// Have the command on a terminal: this one, with its size, its keys and its TERM. Implies -i.
    #[arg(short, long, conflicts_with = "json")]
    tty: bool,
    /// The keys that leave the terminal and let the command run on: characters, or ctrl- and one of
    /// a-z @ [ \ ] ^ _, separated by commas; empty: none.
    #[arg(long, value_name = "KEYS", default_value = "ctrl-p,ctrl-q", value_parser = keys::sequence)]
    detach_keys: Sequence,
}

/// This terminal as a command's.
#[derive(Debug, Clone)]
pub(super) struct Terminal {
    detach: Sequence,
    /// The command was on it, or on another, before.
    joined: bool,
}

/// Why a terminal was left though its command runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Left {
    /// The keys for it were typed, or this terminal is gone.
    Detached,
    /// Another client has taken it.
    Taken,
}

impl TerminalOptions {
    /// The terminal, if one is asked for. `joined`: the command runs already.
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
                    "--tty needs a terminal, and {name} is none; leave --tty out, or call it from one (`script` makes one)"
                )));
            }
        }
        Ok(Some(Terminal { detach: self.detach_keys.clone(), joined }))
    }
}

impl Terminal {
    /// For the request of a command.
    pub(super) fn wire() -> v1::Pty {
        let v1::TerminalSize { rows, cols } = size().unwrap_or_default();
        let term = std::env::var("TERM").unwrap_or_default();
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._+-".contains(&byte);
        let term = if term.len() <= 64 && term.bytes().all(plain) { term } else { String::new() };
        v1::Pty { rows, cols, term }
    }

    /// Whether what is shown may begin in the middle of a line.
    pub(super) fn is_joined(&self) -> bool {
        self.joined
    }

    /// Is the command's terminal from when it runs. Returns when it is left; dropped, it is left as it was.
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
            .map_err(|error| Failure::new(format!("this terminal cannot be made the command's: {error}")))?;
        let (typed, mut source) = duplex(TYPED);
        tokio::select! {
            () = keys::read(&self.detach, typed) => Ok(Left::Detached),
            left = self.forward(client, &id, &mut source) => Ok(left),
            failure = self.follow_size(client, &id) => Err(failure),
        }
    }

    /// Returns once another client has the keyboard.
    async fn forward(&self, client: &Client, id: &str, source: &mut tokio::io::DuplexStream) -> Left {
        let from = if self.joined { None } else { Some(0) };
        match client.type_into(id, from, source).await {
            Err(error) if has_reason(&error, &[TAKEN]) => return Left::Taken,
            Err(error) if !has_reason(&error, &NO_MORE) => {
                output::note(&format!("keys are no longer forwarded: {}", describe(&error)));
            }
            // The view says how it ended.
            Ok(_) | Err(_) => {}
        }
        std::future::pending().await
    }

    /// Tells each new size. Returns if new ones cannot be heard of.
    async fn follow_size(&self, client: &Client, id: &str) -> Failure {
        let mut changes = match signal(SignalKind::window_change()) {
            Ok(changes) => changes,
            Err(error) => return Failure::new(format!("signals cannot be caught: {error}")),
        };
        let mut told = None;
        if let Some(own) = size().filter(|_| self.joined) {
            // Programs draw anew only where the size is another one.
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
                return Failure::new("signals are no longer heard");
            }
        }
    }
}

/// One that cannot be told is followed by the next one.
async fn tell(client: &Client, id: &str, size: v1::TerminalSize) {
    if let Err(error) = client.resize(id, size).await
        && !has_reason(&error, &NO_MORE)
    {
        output::note(&format!("the terminal's size is not known there: {}", describe(&error)));
    }
}

fn has_reason(error: &ClientError, reasons: &[&str]) -> bool {
    error.rejection().is_some_and(|rejection| reasons.contains(&rejection.reason.as_str()))
}

/// Of this terminal; none where it does not know it.
fn size() -> Option<v1::TerminalSize> {
    let size = tcgetwinsize(std::io::stdout()).ok()?;
    let side = |side: u16| Some(u32::from(side.min(LONGEST_SIDE))).filter(|side| *side > 0);
    Some(v1::TerminalSize { rows: side(size.ws_row)?, cols: side(size.ws_col)? })
}
