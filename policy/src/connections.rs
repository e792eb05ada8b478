//! The connections of a command to other hosts: the programs that make them, and the hosts that their words name. The
//! data is in `tables/connections.toml`. Whether a connection is permitted is decided elsewhere.

mod words;

use airlock_network::Target;

use crate::analysis::Found;
use crate::decision::Span;
use crate::launch::{base_name, behind_options};
use crate::parse::Word;
use crate::tables::{self, Name, Network};

/// The largest number of words in the name of an entry, such as `git remote update`.
const MOST_WORDS: usize = 3;
/// The largest number of hosts that one command is listed with.
const MOST_TARGETS: usize = 64;

/// A program that connects to other hosts.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) entry: &'static Network,
    /// The hosts that its words name, without those of this host. Empty if they are not known.
    pub(crate) targets: Vec<Target>,
    pub(crate) span: Span,
}

/// Returns the connection that a command makes, or `None` if it makes none as far as the tables show.
pub(crate) fn of(found: &Found) -> Option<Connection> {
    let (entry, rest) = entry(found)?;
    let sorted = words::sort(entry, rest);
    if sorted.is_excluded {
        return None;
    }
    let is_named = !sorted.targets.is_empty();
    let mut targets: Vec<Target> =
        sorted.targets.into_iter().filter(|target| !target.host.is_loopback()).collect();
    targets.dedup();
    targets.truncate(MOST_TARGETS);
    if targets.is_empty() && (is_named || entry.needs_host) {
        return None;
    }
    Some(Connection { entry, targets, span: found.span })
}

/// Returns the entry of the command, and the words after its name.
fn entry(found: &Found) -> Option<(&'static Network, &[Word])> {
    let (name, rest) = program(base_name(found.program()?), found.words.get(1..)?);
    let mut full = vec![name];
    let mut rest = rest;
    let mut known = tables::network(&full).map(|entry| (entry, rest));
    for _ in 1..MOST_WORDS {
        if !tables::has_connecting_subcommands(&full) {
            break;
        }
        let Some((word, tail)) = behind_flags(&full, rest).split_first() else {
            break;
        };
        let Some(text) = word.text.as_deref() else {
            break;
        };
        full.push(text);
        rest = tail;
        known = tables::network(&full).map(|entry| (entry, rest)).or(known);
    }
    known
}

/// Returns the program, or the module that Python runs as one.
fn program<'w>(name: &'w [u8], rest: &'w [Word]) -> (&'w [u8], &'w [Word]) {
    match rest {
        [flag, module, tail @ ..] if name.starts_with(b"python") && flag.text.as_deref() == Some(b"-m") => {
            (module.text.as_deref().unwrap_or(name), tail)
        }
        _ => (name, rest),
    }
}

/// Returns the words after the options before a subcommand. Options that the tables do not list take no value.
fn behind_flags<'w>(name: Name<'_>, rest: &'w [Word]) -> &'w [Word] {
    let known = behind_options(name, rest).unwrap_or(rest);
    let flags = known.iter().take_while(|word| word.lead.starts_with(b"-")).count();
    known.get(flags..).unwrap_or_default()
}

impl Connection {
    /// Reports whether the program cannot do its work without the connection.
    pub(crate) fn is_certain(&self) -> bool {
        !self.entry.when_missing
    }
}

#[cfg(test)]
mod tests;
