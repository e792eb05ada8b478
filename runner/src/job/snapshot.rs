//! Creates a session's shell snapshot: the state of a shell after the profile's `shell.init`. The script runs once in
//! the session's sandbox, on read-only mounts and without a network.
//!
//! The output is untrusted data from inside the sandbox. It is bounded, and used only as the text that commands
//! source.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use airlock_domain::{
    CommandSpec, ConnectionQuestions, Decided, Grant, SandboxProfile, SessionSnapshot, Shell,
    limits::{SEARCH_PATH_BYTES, SHELL_INIT_BYTES, SNAPSHOT_BYTES},
};
use airlock_sandbox::{LaunchSpec, Network, Profile, Running, Shape, WORKSPACE};
use tokio_util::sync::CancellationToken;

use super::{
    capture::{self, Interrupted},
    rules,
    tools::{Tools, environment},
};
use crate::{config::RunnerConfig, floor, session::OpenSession};

/// The scripts that print the snapshot, for `shell.init` in each shell.
const BASH: &str = include_str!("snapshot.bash");
const ZSH: &str = include_str!("snapshot.zsh");
const PWSH: &str = include_str!("snapshot.ps1");
/// The timeout of the script.
const TIME: Duration = Duration::from_secs(10);
/// The prefix of the first line, before the search path.
const PATH: &[u8] = b"# PATH=";
/// The last line.
const COMPLETE: &[u8] = b"# complete\n";

/// Creates the shell snapshots of sessions.
#[derive(Debug)]
pub(crate) struct SnapshotMaker {
    pub(crate) tools: Arc<Tools>,
    /// The sandbox profile with the minimal root of the host system.
    pub(crate) root: Arc<Profile>,
    pub(crate) config: Arc<RunnerConfig>,
}

impl SnapshotMaker {
    /// Returns the snapshot of a new session, or the reason why there is none. Blocks for the duration of
    /// `shell.init`, at most [`TIME`] plus the start. All its processes have ended afterwards.
    pub(crate) fn make(
        &self,
        session: &OpenSession,
        asked: &SandboxProfile,
        cancel: &CancellationToken,
    ) -> SessionSnapshot {
        let shell = SessionSnapshot::shell_of_init(&asked.shell_init);
        let text = self.start(session, asked).and_then(|running| printed(running, cancel));
        match text.and_then(|text| checked(text, shell)) {
            Ok(text) => SessionSnapshot { text, problem: String::new() },
            Err(problem) => SessionSnapshot::missing(problem),
        }
    }

    fn start(&self, session: &OpenSession, asked: &SandboxProfile) -> Result<Running, String> {
        let Self { tools, root, config } = self;
        if asked.shell_init.len() > SHELL_INIT_BYTES {
            return Err(format!("`shell.init` is longer than {SHELL_INIT_BYTES} bytes"));
        }
        let grant = grant(session, asked);
        floor::check(&grant, &config.floor).map_err(|refusal| refusal.message)?;
        let profile = floor::profile(root, asked, config).map_err(|refusal| refusal.message)?;
        let env = environment(&grant, &profile, &[], None);
        let env = env.map_err(|_| "the environment cannot be built".to_owned())?;
        let (profile, masks) =
            rules::resolve(&profile, session, None).map_err(|failure| failure.to_string())?;
        let place = session.for_launch(&tools.launcher, false).map_err(|error| error.to_string())?;
        let spec = LaunchSpec {
            shell_init: Some(asked.shell_init.clone().into_bytes()),
            env,
            shape: Shape { read_only: true, network: Network::Empty },
            masks,
            ..LaunchSpec::of(&grant.command)
        };
        tools
            .launcher
            .start(&profile, &place, &tools.limits(&grant), &spec)
            .map_err(|error| error.to_string())
    }
}

/// Returns the search path in a snapshot, if it consists of absolute directories.
pub(crate) fn search_path(snapshot: &[u8]) -> Option<&str> {
    let line = snapshot.split(|byte| *byte == b'\n').next()?;
    let path = std::str::from_utf8(line.strip_prefix(PATH)?).ok()?;
    let directories = path.split(':').all(|directory| directory.starts_with('/'));
    (directories && path.len() <= SEARCH_PATH_BYTES && !path.contains(char::is_control)).then_some(path)
}

/// Returns the grant of the script: read-only.
fn grant(session: &OpenSession, asked: &SandboxProfile) -> Grant {
    let shell = SessionSnapshot::shell_of_init(&asked.shell_init);
    let script = match shell {
        Shell::Bash => BASH,
        Shell::Zsh => ZSH,
        Shell::Pwsh => PWSH,
    };
    Grant {
        session_id: session.id,
        command: CommandSpec {
            text: script.as_bytes().to_vec(),
            shell,
            directory: WORKSPACE.as_bytes().to_vec(),
            timeout: TIME,
            ..CommandSpec::default()
        },
        profile: asked.clone(),
        read_only: true,
        requires: Vec::new(),
        keep_directory: false,
        unsandboxed: false,
        snapshot_digest: Vec::new(),
        decided: Decided::default(),
        egress: Vec::new(),
        questions: ConnectionQuestions::default(),
    }
}

/// Reads the output until the script ends, exceeds a limit, or the session is closed.
fn printed(running: Running, cancel: &CancellationToken) -> Result<Vec<u8>, String> {
    let Running { streams, control, waiter, .. } = running;
    let (most, deadline) = (SNAPSHOT_BYTES as u64 + 1, Instant::now() + TIME);
    let text = capture::output(streams.stdout, most, deadline, &|| cancel.is_cancelled());
    control.kill();
    // The exit status adds no information: the output contains its own end marker.
    let _ = waiter.wait();
    match text {
        Ok(text) if text.len() > SNAPSHOT_BYTES => Err(format!("it is larger than {SNAPSHOT_BYTES} bytes")),
        Ok(text) => Ok(text),
        Err(Interrupted::Read(error)) => Err(format!("it cannot be read: {error}")),
        Err(Interrupted::Cancelled) => Err("it was closed".to_owned()),
        Err(Interrupted::Slow) => Err(format!("`shell.init` takes longer than {} s", TIME.as_secs())),
    }
}

fn checked(mut text: Vec<u8>, shell: Shell) -> Result<Vec<u8>, String> {
    let Some(body) = text.strip_suffix(COMPLETE).map(<[u8]>::len) else {
        return Err("`shell.init` ended its shell before the snapshot was created".to_owned());
    };
    text.truncate(body);
    if SessionSnapshot::shell(&text) != shell {
        return Err("it is of another shell than `shell.init`".to_owned());
    }
    match search_path(&text) {
        Some(_) => Ok(text),
        None => Err("the PATH that `shell.init` sets is not a list of absolute directories".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_snapshot_with_a_search_path_is_one() {
        let of = |text: &str| checked(text.as_bytes().to_vec(), Shell::Bash);
        assert_eq!(of("# PATH=/a:/b\nalias a=b\n# complete\n"), Ok(b"# PATH=/a:/b\nalias a=b\n".to_vec()));
        for text in [
            "",
            "# complete\n",
            "# PATH=/a\n",
            "# PATH=/a\n# complete",
            "# PATH=\n# complete\n",
            "# PATH=/a:\n# complete\n",
            "# PATH=bin\n# complete\n",
            "# PATH=/a\t\n# complete\n",
            "alias a=b\n# PATH=/a\n# complete\n",
        ] {
            assert!(of(text).is_err(), "{text:?}");
        }
        let long = format!("# PATH=/{}\n# complete\n", "x".repeat(SEARCH_PATH_BYTES));
        assert!(of(&long).is_err());
        assert_eq!(search_path(b"# PATH=/a:/b c\nrest"), Some("/a:/b c"));
    }

    #[test]
    fn a_snapshot_is_of_the_shell_of_its_source() {
        let of = |text: &str, shell| checked(text.as_bytes().to_vec(), shell).is_ok();
        let pwsh = "# PATH=/a\n# shell=pwsh\n# complete\n";
        assert!(of(pwsh, Shell::Pwsh) && !of(pwsh, Shell::Bash));
        let zsh = "# PATH=/a\n# shell=zsh\n# complete\n";
        assert!(of(zsh, Shell::Zsh) && !of(zsh, Shell::Bash) && !of(zsh, Shell::Pwsh));
        let bash = "# PATH=/a\nalias a=b\n# complete\n";
        assert!(of(bash, Shell::Bash) && !of(bash, Shell::Pwsh));
        for (init, shell) in [
            ("#!/usr/bin/env pwsh\nfunction f { 1 }", Shell::Pwsh),
            ("#!/usr/bin/pwsh -NoProfile\n", Shell::Pwsh),
            ("#!/usr/bin/env zsh\nalias -g G='| grep'", Shell::Zsh),
            ("#!/bin/zsh -f\n", Shell::Zsh),
            ("#!/bin/bash\n# pwsh", Shell::Bash),
            ("alias pwsh=x", Shell::Bash),
            ("", Shell::Bash),
        ] {
            assert_eq!(SessionSnapshot::shell_of_init(init), shell, "{init}");
        }
    }
}
