//! Arguments that several subcommands share, and the parsers of their values.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    net::SocketAddr,
    os::unix::ffi::{OsStrExt as _, OsStringExt as _},
    time::Duration,
};

use clap::ValueEnum;

use super::Failure;
use super::terminal::Terminal;
use crate::render::escape;
use airlock_client::v1;
use airlock_embedded::state::StateDirectory;

/// The reaction to a command that needs an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum OnAsk {
    // Do not run it.
    Fail,
    // Wait until an approver answers.
    Wait,
}

/// The mode of a session or command, from loosest to strictest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Mode {
    // Allows every command that no rule denies or asks about.
    Bypass,
    // Also allows edits inside the workspace.
    #[value(name = "accept_edits", alias = "accept-edits")]
    AcceptEdits,
    // Allows commands that are proven read-only or that a rule allows.
    Default,
    // Allows only commands that are proven read-only.
    Plan,
}

/// The shell that reads a command. Runners run each shell that their host or root file system provides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Shell {
    // GNU bash.
    Bash,
    // Z shell. A command is never proven read-only.
    Zsh,
    // PowerShell 6 or later.
    Pwsh,
}

impl From<Mode> for v1::Mode {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Bypass => Self::Bypass,
            Mode::AcceptEdits => Self::AcceptEdits,
            Mode::Default => Self::Default,
            Mode::Plan => Self::Plan,
        }
    }
}

impl From<Mode> for airlock_policy::Mode {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Bypass => Self::Bypass,
            Mode::AcceptEdits => Self::AcceptEdits,
            Mode::Default => Self::Default,
            Mode::Plan => Self::Plan,
        }
    }
}

impl From<Shell> for v1::Shell {
    fn from(shell: Shell) -> Self {
        match shell {
            Shell::Bash => Self::Bash,
            Shell::Zsh => Self::Zsh,
            Shell::Pwsh => Self::Pwsh,
        }
    }
}

impl From<Shell> for airlock_policy::Shell {
    fn from(shell: Shell) -> Self {
        match shell {
            Shell::Bash => Self::Bash,
            Shell::Zsh => Self::Zsh,
            Shell::Pwsh => Self::Pwsh,
        }
    }
}

/// An environment variable for the command.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Variable {
    name: String,
    value: Vec<u8>,
}

/// Returns the text for the shell: one word unchanged, several words joined with single spaces, as ssh does.
pub(super) fn command_text(words: Vec<OsString>) -> Vec<u8> {
    let words: Vec<Vec<u8>> = words.into_iter().map(OsString::into_vec).collect();
    words.join(&b' ')
}

/// Parses `NAME=VALUE`. The value may contain any bytes.
fn variable(text: &OsStr) -> Result<Variable, String> {
    let bytes = text.as_bytes();
    let at = bytes.iter().position(|byte| *byte == b'=').ok_or("expected NAME=VALUE")?;
    let (name, value) = bytes.split_at(at);
    let name = std::str::from_utf8(name).map_err(|_| "the name is not UTF-8")?;
    if name.is_empty() {
        return Err("the name before `=` is empty".to_owned());
    }
    let value = value.get(1..).unwrap_or_default().to_vec();
    Ok(Variable { name: name.to_owned(), value })
}

/// The option that switches notes about a run off.
#[derive(Debug, clap::Args)]
pub(super) struct Notes {
    /// Print no notes on what Airlock did (processes ended, directory reset, ...), and do not mark output that looks
    /// like a note.
    #[arg(long, env = "AIRLOCK_NO_NOTES", hide_env_values = true, value_parser = clap::builder::FalseyValueParser::new())]
    no_notes: bool,
}

impl Notes {
    pub(super) fn wanted(&self) -> bool {
        !self.no_notes
    }
}

/// Parses the values of `--env`.
pub(super) fn variables(list: &[OsString]) -> Result<BTreeMap<String, bytes::Bytes>, Failure> {
    let read = |text: &OsString| {
        variable(text)
            .map(|Variable { name, value }| (name, value.into()))
            .map_err(|why| Failure::usage(format!("--env `{}`: {why}", escape::line(text.as_bytes()))))
    };
    list.iter().map(read).collect()
}

/// Parses a session ID. An empty ID is refused. It usually comes from a variable that a failed command left empty, and
/// must not select another session.
pub(super) fn session(text: &str) -> Result<String, String> {
    match text {
        "" => Err("the ID is empty; `airlock session list` lists the IDs".to_owned()),
        id => Ok(id.to_owned()),
    }
}

/// Parses `KEY=VALUE`.
pub(super) fn pair(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("expected KEY=VALUE")?;
    if key.is_empty() {
        return Err("the key before `=` is empty".to_owned());
    }
    Ok((key.to_owned(), value.to_owned()))
}

/// Parses a whole number of at least 1.
pub(super) fn count<T: TryFrom<u64>>(text: &str) -> Result<T, String> {
    let number = text.parse().ok().filter(|number: &u64| *number > 0);
    number
        .and_then(|number| T::try_from(number).ok())
        .ok_or("expected a whole number of at least 1".to_owned())
}

/// Parses a whole number.
pub(super) fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "expected a whole number, such as 4096".to_owned())
}

/// Parses an absolute path inside the sandbox.
pub(super) fn absolute(text: &str) -> Result<String, String> {
    match text.strip_prefix('/') {
        Some(_) => Ok(text.to_owned()),
        None => Err("expected an absolute path in the sandbox, such as /workspace/src".to_owned()),
    }
}

/// Parses a umask in octal.
pub(super) fn umask(text: &str) -> Result<String, String> {
    match u32::from_str_radix(text, 8) {
        Ok(mask) if mask <= 0o777 => Ok(text.to_owned()),
        _ => Err("expected octal digits from 0 to 777, such as 027".to_owned()),
    }
}

/// Parses an address to listen on.
pub(super) fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| "expected ADDRESS:PORT, such as 127.0.0.1:7443 or [::1]:7443".to_owned())
}

/// Parses a duration such as `30s`, `1m30s` or `250ms`. A bare number counts seconds.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let text =
        if text.bytes().all(|byte| byte.is_ascii_digit()) { format!("{text}s") } else { text.to_owned() };
    let span = humantime::parse_duration(&text)
        .map_err(|error| format!("{error}; expected a number and a unit, such as 30s, 5m or 1h30m"))?;
    if span.is_zero() {
        return Err("the duration must be longer than zero".to_owned());
    }
    Ok(span)
}

/// Converts a duration to its wire form. The server refuses a duration that is too long.
pub(super) fn wire_duration(span: Option<Duration>) -> Option<prost_types::Duration> {
    let longest = prost_types::Duration { seconds: i64::MAX, nanos: 0 };
    span.map(|span| prost_types::Duration::try_from(span).unwrap_or(longest))
}

/// The options of a view.
#[derive(Debug, Clone, Default)]
pub(in crate::command) struct ViewOptions {
    /// Print events as JSON lines instead of the output.
    pub(in crate::command) json: bool,
    /// This view started the command, so Ctrl-C and a closed standard output end it.
    pub(in crate::command) owns: bool,
    /// Forward standard input to the command.
    pub(in crate::command) input: bool,
    /// Connect this terminal to the command.
    pub(in crate::command) terminal: Option<Terminal>,
    /// Show only the output, and return 0 for every result.
    pub(in crate::command) log: bool,
    /// The server stops with the view, so no command can continue.
    pub(in crate::command) local: bool,
    /// Print notes about the result, and mark output that looks like one.
    pub(in crate::command) notes: bool,
    /// The state directory of the server if it is an `airlock dev`. When this has ended, the view stops waiting.
    pub(in crate::command) dev: Option<StateDirectory>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_the_text_for_the_shell() {
        let text = |words: &[&str]| command_text(words.iter().map(OsString::from).collect());
        assert_eq!(text(&["ls -la | head"]), b"ls -la | head");
        assert_eq!(text(&["ls", "-la", "a b"]), b"ls -la a b");
        assert_eq!(command_text(vec![OsString::from_vec(vec![0xff])]), [0xff]);
    }

    #[test]
    fn values_are_read_or_refused() {
        assert_eq!(duration("30").unwrap(), Duration::from_secs(30));
        assert_eq!(duration("1m30s").unwrap(), Duration::from_secs(90));
        for bad in ["", "0s", "-1s", "soon", "99999999999999999999s"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
        assert_eq!(pair("a=b=c").unwrap(), ("a".to_owned(), "b=c".to_owned()));
        assert!(pair("=b").is_err() && pair("a").is_err());
        assert_eq!((count::<u32>("7"), number("0")), (Ok(7), Ok(0)));
        for bad in ["0", "-1", "x", "", "4294967296"] {
            assert!(count::<u32>(bad).is_err(), "{bad}");
        }
        let value = variable(&OsString::from_vec(b"A=\xff=".to_vec())).unwrap();
        assert_eq!(value, Variable { name: "A".to_owned(), value: b"\xff=".to_vec() });
        for bad in [&b"=x"[..], b"x", b"\xff=x"] {
            assert!(variable(&OsString::from_vec(bad.to_vec())).is_err());
        }
    }
}
