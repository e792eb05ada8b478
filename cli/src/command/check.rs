//! `airlock check`: decides a command without a server, with the profile that a server would use.

mod default_profile;

use std::{
    ffi::OsString,
    io::{self, BufRead, IsTerminal as _, Write},
    panic::{AssertUnwindSafe, catch_unwind},
};

use airlock_policy::{
    Profile, Request,
    check::{self, Style},
};
use clap::Args;
use serde_json::json;

use super::{
    Failure,
    args::{self, Mode, Shell},
    connect::Connect,
    local_profile, output,
};
use default_profile::DefaultProfile;

/// The longest line of --jsonl, in bytes. The longest command fits in any escaping.
const LINE_BYTES: usize = 4 * 1024 * 1024;
/// The profile that decides --jsonl lines if --profile is not given.
const PROFILE: &str = "strict";

/// Show the policy's decision about a command, without a server and without running it.
///
/// Use this to try a rule or to learn why a command is refused. The exit code is 0 for allow, 10 for ask and 11 for
/// deny.
///
/// One word is the command as it is; several words are joined with single spaces. Without --profile, the decision
/// uses the default profile of the server that --address names, or of the running `airlock dev`. If neither exists,
/// it uses `strict`, the default of a server. A line on standard error names the profile. Lines of --jsonl use
/// `strict`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  airlock check 'git status && rm -rf x'\n  airlock check --profile team.toml --mode plan -- ls -la\n  echo '{\"command\": \"git push\", \"rules\": {\"deny\": [\"Bash(git push:*)\"]}}' | airlock check --jsonl\n\nExit codes: 0 allow, 10 ask, 11 deny; with --jsonl 0 if every line was answered."
)]
pub(super) struct Check {
    #[command(flatten)]
    connect: Connect,
    /// A built-in profile (strict, agent, sandboxed, demo, read_only) or a profile's TOML file.
    #[arg(long, value_name = "NAME|FILE")]
    profile: Option<OsString>,
    /// The shell that reads the command. zsh is allowed by exact rules only; policy asks about every pwsh command.
    #[arg(long, value_enum, default_value = "bash", conflicts_with = "jsonl")]
    shell: Shell,
    /// The mode to decide in; plan allows only commands that are proven read-only [default: the profile's]
    #[arg(long, value_enum, conflicts_with = "jsonl")]
    mode: Option<Mode>,
    /// The working directory, inside the sandbox [default: the workspace's root]
    #[arg(long, value_name = "DIR", conflicts_with = "jsonl", value_parser = args::absolute)]
    cwd: Option<String>,
    /// Read one JSON request per line from standard input, and write one JSON decision per line.
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
                Err(error) => Err(Failure::new(format!("cannot read or answer the lines: {error}"))),
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
        output::print_painted(&check::render(&command, &decision, &parts, style()))?;
        Ok(check::exit_code(&decision))
    }
}

impl Check {
    /// Returns the profile of --profile, or the default profile of the server that would run the command.
    fn decides(&self) -> Result<Profile, Failure> {
        match &self.profile {
            Some(named) => local_profile::tested(named),
            None if self.jsonl => local_profile::tested(PROFILE.as_ref()),
            None => {
                let DefaultProfile { profile, whose } = default_profile::of(&self.connect)?;
                output::note(&format!(
                    "decided by the profile `{}`, the default of {whose}; use --profile to select another",
                    profile.name()
                ));
                Ok(profile)
            }
        }
    }
}

/// Returns the style of the output. Colours are used only on a terminal.
fn style() -> Style {
    let colours = io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    Style { colours, ..Style::PLAIN }
}

/// Writes one line to `out` for each line of `input`, and flushes it at once.
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

/// Reads a line without its line feed. Returns `None` at the end of the input, and `Some(false)` if the line was
/// too long and its rest was skipped.
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
    // The policy does not panic. If it does, the panic must neither count as an answer nor end the loop.
    catch_unwind(AssertUnwindSafe(|| check::answer_line(text, profile)))
        .unwrap_or_else(|_| refusal("the policy failed on this line"))
}

fn refusal(why: &str) -> String {
    json!({"decision": "ask", "error": why}).to_string()
}

#[cfg(test)]
mod tests;
