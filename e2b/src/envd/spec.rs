//! A process of the SDKs as a command of Airlock.

use std::time::Duration;

use airlock_client::v1::{ExecutionSpec, OnAsk as WireOnAsk, Pty};

use crate::{
    config::OnAsk,
    entries,
    refusal::{Kind, Refusal},
    sandbox::Sandbox,
    wire::process::{Config, StartRequest},
};

/// The size of a terminal in characters, at most.
const TERMINAL_MAX: u32 = 4096;
/// The roots of the files that Airlock can describe.
const ROOTS: [&str; 3] = ["/workspace", "/home/agent", "/tmp"];

/// Returns the command of a request. `timeout` is the time that the caller gives it.
///
/// # Errors
/// If the directory does not exist, or the terminal's size is invalid.
pub(super) async fn of(
    sandbox: &Sandbox,
    request: &StartRequest,
    timeout: Option<Duration>,
) -> Result<ExecutionSpec, Refusal> {
    let pty = request.pty.map(terminal).transpose()?;
    let mut command = command(&request.process, pty.is_some());
    if let Some(given) = request.process.cwd.as_deref().filter(|cwd| !cwd.is_empty()) {
        let directory = entries::absolute(given)?;
        exists(sandbox, &directory).await?;
        command = format!("cd -- {} || exit\n{command}", quoted(&directory));
    }
    let timeout = timeout.map_or(sandbox.command_max, |timeout| timeout.min(sandbox.command_max));
    let on_ask = match sandbox.account.on_ask {
        OnAsk::Fail => WireOnAsk::Fail,
        OnAsk::Wait => WireOnAsk::Wait,
    };
    Ok(ExecutionSpec {
        command,
        session_id: sandbox.session.clone(),
        timeout: prost_types::Duration::try_from(timeout).ok(),
        on_ask: on_ask.into(),
        env: request.process.envs.clone(),
        separate_stderr: pty.is_none(),
        // The SDKs run processes at the same time.
        allow_concurrent: true,
        stdin: request.stdin.unwrap_or(true) || pty.is_some(),
        pty,
        ..Default::default()
    })
}

fn terminal(pty: crate::wire::process::Pty) -> Result<Pty, Refusal> {
    let size = pty.size.unwrap_or_default();
    match size.rows <= TERMINAL_MAX && size.cols <= TERMINAL_MAX {
        true => Ok(Pty { rows: size.rows, cols: size.cols, ..Default::default() }),
        false => Err(Refusal::invalid(format!("a terminal has at most {TERMINAL_MAX} rows and columns"))),
    }
}

/// Returns the text that Airlock decides about. The SDKs start `/bin/bash -l -c TEXT`; policy reads the text itself.
fn command(config: &Config, has_terminal: bool) -> String {
    let is_bash = matches!(config.cmd.as_str(), "/bin/bash" | "bash" | "/usr/bin/bash");
    let args: Vec<&str> = config.args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["-l", "-c", text] | ["-c", text] | ["-lc", text] if is_bash => (*text).to_owned(),
        // On a terminal, bash reads its commands from there.
        ["-i", "-l"] | ["-l", "-i"] | ["-il"] | ["-i"] | ["-l"] | [] if is_bash && has_terminal => {
            "bash".to_owned()
        }
        _ => std::iter::once(config.cmd.as_str()).chain(args).map(quoted).collect::<Vec<_>>().join(" "),
    }
}

/// Returns a word of bash with exactly this value.
pub(super) fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

async fn exists(sandbox: &Sandbox, directory: &str) -> Result<(), Refusal> {
    let is_in = |root: &str| directory == root || directory.starts_with(&format!("{root}/"));
    if !ROOTS.into_iter().any(is_in) {
        return Ok(());
    }
    match sandbox.client().stat(&sandbox.session, directory.as_bytes()).await.map_err(Refusal::from) {
        Ok(_) => Ok(()),
        Err(refusal) if refusal.kind == Kind::NotFound => {
            Err(Refusal::invalid(format!("cwd '{directory}' does not exist")))
        }
        Err(refusal) => Err(refusal),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(cmd: &str, args: &[&str]) -> Config {
        Config {
            cmd: cmd.to_owned(),
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
            ..Config::default()
        }
    }

    #[test]
    fn policy_reads_the_text_of_the_command() {
        for (given, is_terminal, expected) in [
            (config("/bin/bash", &["-l", "-c", "echo 'a' | wc"]), false, "echo 'a' | wc"),
            (config("/bin/bash", &["-i", "-l"]), true, "bash"),
            (config("/bin/bash", &["-i", "-l"]), false, "'/bin/bash' '-i' '-l'"),
            (config("ls", &["it's; rm -rf /"]), false, r"'ls' 'it'\''s; rm -rf /'"),
            (config("/bin/sh", &["-c", "a b"]), false, "'/bin/sh' '-c' 'a b'"),
        ] {
            assert_eq!(command(&given, is_terminal), expected);
        }
    }
}
