//! `airlock check`: the policy without a server, by the profile that a server would take.

mod usual;

use std::{
    ffi::OsString,
    io::{self, BufRead, IsTerminal as _, Write},
    panic::{AssertUnwindSafe, catch_unwind},
};

use airlock_policy::{
    Profile, Request,
    check::{self, Look},
};
use clap::Args;
use serde_json::json;

use super::{
    Failure,
    args::{self, Mode, Shell},
    connect::Connect,
    local_profile, output,
};
use usual::Usual;

/// Of one line of --jsonl, in bytes. The longest command takes less, however it is written.
const LINE_BYTES: usize = 4 * 1024 * 1024;
/// What decides lines where no profile is named.
const PROFILE: &str = "strict";

/// Decide a command by a profile, without a server and without running it.
///
/// One word is the command as it is; several words are joined with single spaces. Where no profile is named, it is
/// the one that the server takes on which the command would run: of the server that `--address` names, or of the
/// `airlock dev` of the state folder; `strict`, the default of a server, where neither is there. A line on standard
/// error says which. Lines of --jsonl are decided by `strict`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  airlock check 'git status && rm -rf x'\n  airlock check --profile team.toml --mode plan -- ls -la\n  echo '{\"command\": \"git push\", \"rules\": {\"deny\": [\"Bash(git push:*)\"]}}' | airlock check --jsonl\n\nExit codes: 0 allow, 10 ask, 11 deny; with --jsonl 0 when every line was answered."
)]
pub(super) struct Check {
    #[command(flatten)]
    connect: Connect,
    /// A built-in profile (strict, agent, sandboxed, demo, read_only) or a profile's TOML file.
    #[arg(long, value_name = "NAME|FILE")]
    profile: Option<OsString>,
    /// What would read the command; so far only bash is run.
    #[arg(long, value_enum, default_value = "bash", conflicts_with = "jsonl")]
    shell: Shell,
    /// The mode to decide in; plan allows only what is proven read-only [default: the profile's].
    #[arg(long, value_enum, conflicts_with = "jsonl")]
    mode: Option<Mode>,
    /// The current directory, inside the sandbox [default: the workspace's root].
    #[arg(long, value_name = "DIR", conflicts_with = "jsonl", value_parser = args::absolute)]
    cwd: Option<String>,
    /// Read one JSON request a line from standard input, and write one JSON decision a line.
    #[arg(long)]
    jsonl: bool,
    /// The command.
    #[arg(
        trailing_var_arg = true,
        value_name = "COMMAND",
        required_unless_present = "jsonl",
        conflicts_with = "jsonl"
    )]
    command: Vec<OsString>,
}

impl Check {
    pub(super) fn run(self) -> Result<u8, Failure> {
        let profile = self.decides()?;
        if self.jsonl {
            return match answer_lines(&mut io::stdin().lock(), &mut io::stdout().lock(), &profile) {
                Ok(()) => Ok(0),
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(Failure::broken_pipe()),
                Err(error) => Err(Failure::new(format!("lines cannot be read or answered: {error}"))),
            };
        }
        let command = args::command_text(self.command);
        let request = Request {
            shell: self.shell.into(),
            cwd: self.cwd.as_deref(),
            mode: self.mode.map(Into::into),
            ..Request::bash(&command)
        };
        let decision = airlock_policy::decide(&request, &profile);
        let parts = airlock_policy::parts(&request, &profile);
        output::print_painted(&check::render(&command, &decision, &parts, look()))?;
        Ok(check::exit_code(&decision))
    }
}

impl Check {
    /// The profile that is named, or the one of the server on which the command would run.
    fn decides(&self) -> Result<Profile, Failure> {
        match &self.profile {
            Some(named) => local_profile::tested(named),
            None if self.jsonl => local_profile::tested(PROFILE.as_ref()),
            None => {
                let Usual { profile, whose } = usual::of(&self.connect)?;
                output::note(&format!(
                    "decided by the profile `{}`, the default of {whose}; --profile names another",
                    profile.name()
                ));
                Ok(profile)
            }
        }
    }
}

/// Colours are for people; what goes into a file or a pipe is plain.
fn look() -> Look {
    let colours = io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    Look { colours, ..Look::PLAIN }
}

/// Answers each line of `input` with a line of `out`, at once.
fn answer_lines(input: &mut impl BufRead, out: &mut impl Write, profile: &Profile) -> io::Result<()> {
    let mut line = Vec::new();
    while let Some(whole) = read_line(input, &mut line)? {
        let answer = if whole { answer(&line, profile) } else { refusal("the line is longer than 4 MiB") };
        out.write_all(answer.as_bytes())?;
        out.write_all(b"\n")?;
        out.flush()?;
    }
    Ok(())
}

/// Reads a line without its end; false if it was too long and most of it was skipped.
fn read_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<Option<bool>> {
    line.clear();
    let mut any = false;
    let mut whole = true;
    loop {
        let available = input.fill_buf()?;
        if available.is_empty() {
            return Ok(any.then_some(whole));
        }
        any = true;
        let end = available.iter().position(|byte| *byte == b'\n');
        let part = available.get(..end.unwrap_or(available.len())).unwrap_or_default();
        whole = whole && line.len() + part.len() <= LINE_BYTES;
        if whole {
            line.extend_from_slice(part);
        }
        let used = end.map_or(part.len(), |end| end + 1);
        input.consume(used);
        if end.is_some() {
            return Ok(Some(whole));
        }
    }
}

fn answer(line: &[u8], profile: &Profile) -> String {
    let Ok(text) = std::str::from_utf8(line) else {
        return refusal("the line is not UTF-8");
    };
    // The policy never panics; if it did after all, that must not read as an answer, nor end the run.
    catch_unwind(AssertUnwindSafe(|| check::answer_line(text, profile)))
        .unwrap_or_else(|_| refusal("the policy failed on this line"))
}

fn refusal(why: &str) -> String {
    json!({"decision": "ask", "error": why}).to_string()
}

#[cfg(test)]
mod tests;
