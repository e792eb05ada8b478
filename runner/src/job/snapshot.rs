//! The making of a session's shell snapshot: what the profile's `shell.init` makes of a shell, run once inside the
//! session's sandbox, on read-only mounts and without a network.
//!
//! What it prints is data from inside: bounded, and believed in nothing but that it is what commands will source.

use std::{
    fs::File,
    io::Read,
    path::PathBuf,
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::{Duration, Instant},
};

use airlock_proto::{
    domain::{Decided, Grant, SandboxProfile, SessionSnapshot, Shell},
    limits::{SEARCH_PATH_BYTES, SHELL_INIT_BYTES, SNAPSHOT_BYTES},
};
use airlock_sandbox::{LaunchSpec, Network, Profile, Running, Shape, Stdin, WORKSPACE};
use tokio_util::sync::CancellationToken;

use super::{Tools, environment, limits, rules};
use crate::{config::RunnerConfig, floor, session::OpenSession};

/// What runs: see there.
const CAPTURE: &str = include_str!("snapshot.bash");
/// How long it may run.
const TIME: Duration = Duration::from_secs(10);
/// How often it is looked whether somebody closes the session.
const LOOK: Duration = Duration::from_millis(50);
/// Before the search path, in the first line.
const PATH: &[u8] = b"# PATH=";
/// The last line.
const COMPLETE: &[u8] = b"# complete\n";

/// What a session is made in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Surroundings<'a> {
    pub(crate) tools: &'a Tools,
    /// The system's minimal root.
    pub(crate) root: &'a Profile,
    pub(crate) config: &'a RunnerConfig,
}

/// The snapshot of a session that nobody uses yet, or why there is none. Blocks for as long as `shell.init` takes,
/// at most [`TIME`] and a start; nothing that it started is left.
pub(crate) fn make_snapshot(
    runner: Surroundings<'_>,
    session: &OpenSession,
    asked: &SandboxProfile,
    cancel: &CancellationToken,
) -> SessionSnapshot {
    match start(runner, session, asked).and_then(|running| printed(running, cancel)).and_then(checked) {
        Ok(text) => SessionSnapshot { text, problem: String::new() },
        Err(problem) => SessionSnapshot::missing(problem),
    }
}

/// The search path that a snapshot says, if it is one: absolute folders.
pub(crate) fn search_path(snapshot: &[u8]) -> Option<&str> {
    let line = snapshot.split(|byte| *byte == b'\n').next()?;
    let path = std::str::from_utf8(line.strip_prefix(PATH)?).ok()?;
    let folders = path.split(':').all(|folder| folder.starts_with('/'));
    (folders && path.len() <= SEARCH_PATH_BYTES && !path.contains(char::is_control)).then_some(path)
}

fn start(runner: Surroundings<'_>, session: &OpenSession, asked: &SandboxProfile) -> Result<Running, String> {
    let Surroundings { tools, root, config } = runner;
    if asked.shell_init.len() > SHELL_INIT_BYTES {
        return Err(format!("`shell.init` is longer than {SHELL_INIT_BYTES} bytes"));
    }
    let grant = grant(session, asked);
    floor::check(&grant, &config.floor).map_err(|refusal| refusal.message)?;
    let profile = floor::profile(root, asked, config).map_err(|refusal| refusal.message)?;
    let env = environment(&grant, &profile, &[], None);
    let env = env.map_err(|_| "its environment cannot be built".to_owned())?;
    let (profile, masks) = rules::resolve(&profile, session, None).map_err(|failure| failure.to_string())?;
    let place = session.for_launch(&tools.launcher, false).map_err(|error| error.to_string())?;
    let spec = LaunchSpec {
        command: CAPTURE.as_bytes().to_vec(),
        shell: airlock_sandbox::Shell::Bash,
        snapshot: None,
        shell_init: Some(asked.shell_init.clone().into_bytes()),
        prefix: Vec::new(),
        cwd: PathBuf::from(WORKSPACE),
        env,
        shape: Shape { read_only: true, network: Network::Empty },
        separate_stderr: false,
        stdin: Stdin::Null,
        masks,
    };
    tools.launcher.start(&profile, &place, &limits(tools, &grant), &spec).map_err(|error| error.to_string())
}

/// As a command that only reads.
fn grant(session: &OpenSession, asked: &SandboxProfile) -> Grant {
    Grant {
        session_id: session.id,
        command: CAPTURE.as_bytes().to_vec(),
        shell: Shell::Bash,
        directory: WORKSPACE.as_bytes().to_vec(),
        env: std::collections::BTreeMap::new(),
        profile: asked.clone(),
        read_only: true,
        requires: Vec::new(),
        separate_stderr: false,
        timeout: TIME,
        inline_limit: 0,
        idle_timeout: None,
        keep_directory: false,
        unsandboxed: false,
        snapshot_digest: Vec::new(),
        stdin: false,
        pty: None,
        decided: Decided::default(),
    }
}

/// What it prints until it ends, is too much or too long, or the session is closed.
fn printed(running: Running, cancel: &CancellationToken) -> Result<Vec<u8>, String> {
    let Running { streams, control, waiter, .. } = running;
    let (done, wait) = mpsc::sync_channel(1);
    thread::spawn(move || {
        let mut text = Vec::new();
        let read = File::from(streams.stdout).take(SNAPSHOT_BYTES as u64 + 1).read_to_end(&mut text);
        // Nobody waits any more once it took too long.
        let _ = done.send(read.map(|_| text));
    });
    let deadline = Instant::now() + TIME;
    let text = loop {
        match wait.recv_timeout(LOOK) {
            Ok(Ok(text)) if text.len() > SNAPSHOT_BYTES => {
                break Err(format!("it is larger than {SNAPSHOT_BYTES} bytes"));
            }
            Ok(text) => break text.map_err(|error| format!("it cannot be read: {error}")),
            Err(RecvTimeoutError::Timeout) if cancel.is_cancelled() => break Err("it was closed".to_owned()),
            Err(RecvTimeoutError::Timeout) if Instant::now() < deadline => {}
            Err(_) => break Err(format!("`shell.init` takes longer than {} s", TIME.as_secs())),
        }
    };
    control.kill();
    // How it ended says nothing that what it printed does not.
    let _ = waiter.wait();
    text
}

fn checked(mut text: Vec<u8>) -> Result<Vec<u8>, String> {
    let Some(body) = text.strip_suffix(COMPLETE).map(<[u8]>::len) else {
        return Err("`shell.init` ended its shell before anything could be taken over".to_owned());
    };
    text.truncate(body);
    match search_path(&text) {
        Some(_) => Ok(text),
        None => Err("the PATH that `shell.init` leaves is not a list of absolute folders".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_snapshot_with_a_search_path_is_one() {
        let of = |text: &str| checked(text.as_bytes().to_vec());
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
}
