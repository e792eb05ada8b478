//! `airlock check`: decides a command without a server, with the profile that a server would use.

use std::{
    ffi::OsString,
    io::{self, BufRead, IsTerminal as _, Write},
    panic::{AssertUnwindSafe, catch_unwind},
};

use airlock_client::v1;
use airlock_embedded::state::{Connection, StateError};
use airlock_policy::{
    Layers, Profile, Request,
    check::{self, Style},
};
use clap::Args;
use serde_json::json;

use super::{
    Failure,
    args::{self, Mode, Shell},
    connect::Connect,
    output, policy,
};

/// The longest line of --jsonl, in bytes. The longest command fits, even if every byte of it is escaped.
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
    /// The shell that reads the command. A zsh command is never proven read-only.
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
        let (profile, layers) = self.decides()?;
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
            network: layers.as_ref(),
            ..Request::bash(&command)
        };
        let decision = airlock_policy::decide(&request, &profile);
        let parts = airlock_policy::parts(&request, &profile);
        output::print_painted(&check::render(&command, &decision, &parts, style()))?;
        Ok(check::exit_code(&decision))
    }
}

impl Check {
    /// Returns the profile of --profile, or the default profile of the server that would run the command. Also returns
    /// its network rules, if they are known.
    fn decides(&self) -> Result<(Profile, Option<Layers>), Failure> {
        match &self.profile {
            Some(named) => policy::tested_profile(named).map(with_network),
            None if self.jsonl => policy::tested_profile(PROFILE.as_ref()).map(with_network),
            None => {
                let DefaultProfile { profile, whose, has_own_network } = default_profile(&self.connect)?;
                output::note(&format!(
                    "decided by the profile `{}`, the default of {whose}; use --profile to select another",
                    profile.name()
                ));
                Ok(if has_own_network { with_network(profile) } else { (profile, None) })
            }
        }
    }
}

fn with_network(profile: Profile) -> (Profile, Option<Layers>) {
    let layers = profile.network_layers();
    (profile, layers)
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

/// The default profile of a server that does not configure one.
const OF_A_SERVER: &str = "strict";

/// A profile, and a description of the server that uses it by default.
struct DefaultProfile {
    profile: Profile,
    whose: String,
    /// Whether the server adds nothing to the network of the profile.
    has_own_network: bool,
}

/// Returns the default profile of the named server, of the running `airlock dev`, or of any server.
fn default_profile(connect: &Connect) -> Result<DefaultProfile, Failure> {
    if connect.names_address() {
        return of_server(connect);
    }
    let Some(directory) = connect.dev_directory() else {
        return of_any_server();
    };
    match directory.connection() {
        Ok(connection) => of_dev(&connection),
        Err(StateError::NotRunning(_) | StateError::NotReady(_)) => of_any_server(),
        Err(error) => Err(error.into()),
    }
}

fn of_any_server() -> Result<DefaultProfile, Failure> {
    let profile = policy::tested_profile(OF_A_SERVER.as_ref())?;
    let whose = "a server (no `airlock dev` is running)".to_owned();
    Ok(DefaultProfile { profile, whose, has_own_network: true })
}

/// Returns a built-in profile, or one from the profile directory of `airlock dev`.
fn of_dev(connection: &Connection) -> Result<DefaultProfile, Failure> {
    let Connection { profile: name, profiles, .. } = connection;
    let file = profiles.as_ref().map(|directory| directory.join(format!("{name}.toml")));
    let file = file.filter(|_| Profile::builtin(name).is_none());
    // `airlock dev` adds hosts to the built-in profile `agent`.
    let has_own_network = file.is_some();
    let named = file.map_or_else(|| name.into(), std::path::PathBuf::into_os_string);
    Ok(DefaultProfile {
        profile: policy::tested_profile(&named)?,
        whose: "the running `airlock dev`".to_owned(),
        has_own_network,
    })
}

/// Asks the server for the name of its default profile. The client has only the contents of built-in profiles.
fn of_server(connect: &Connect) -> Result<DefaultProfile, Failure> {
    // An error means that a provider is already installed.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new(format!("cannot start the async runtime: {error}")))?;
    let found = runtime.block_on(async {
        let client = connect.client().await?;
        Ok::<_, Failure>(client.policy().profile("", v1::ProfileView::Basic).await?)
    })?;
    let profile = Profile::builtin(&found.name).ok_or_else(|| {
        Failure::usage(format!(
            "the server's default profile `{}` is not built in; pass its file with --profile",
            found.name.escape_debug()
        ))
    })?;
    let has_own_network = found.network.is_none();
    Ok(DefaultProfile { profile, whose: "the server".to_owned(), has_own_network })
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn answers(input: &[u8]) -> Vec<Value> {
        let mut out = Vec::new();
        let profile = Profile::builtin(PROFILE).unwrap();
        answer_lines(&mut io::Cursor::new(input), &mut out, &profile).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.is_empty() || text.ends_with('\n'));
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn every_line_gets_one_answer_in_order() {
        let long = vec![b'x'; LINE_BYTES + 1];
        let input = [
        br#"{"command": "git push", "rules": {"deny": ["Bash(git push:*)"]}}"#.as_slice(),
        b"not json",
        b"",
        b"\xff",
        &long,
        br#"{"command": "x", "mode": "nonsense"}"#,
        br#"{"command": "git push origin", "rules": {"deny": ["Bash(git push:*)"]}, "shell": "bash", "cwd": "/workspace", "mode": "plan"}"#,
    ]
    .join(&b'\n');
        let answers = answers(&input);
        let verdicts: Vec<_> = answers.iter().map(|a| a["decision"].as_str().unwrap()).collect();
        assert_eq!(verdicts, ["deny", "ask", "ask", "ask", "ask", "ask", "deny"]);
        let errors: Vec<_> = answers.iter().map(|a| a.get("error").is_some()).collect();
        assert_eq!(errors, [false, true, true, true, true, true, false]);
        for answer in [&answers[0], &answers[6]] {
            for field in ["reasons", "commands", "read_only", "parse_complete", "policy_version"] {
                assert!(answer.get(field).is_some(), "{field} in {answer}");
            }
        }
    }

    #[test]
    fn no_line_no_answer_and_a_last_line_without_end_counts() {
        assert!(answers(b"").is_empty());
        assert_eq!(answers(b"\n").len(), 1);
        assert_eq!(answers(br#"{"command": "ls"}"#).len(), 1);
    }
}
