//! Runs one command in a sandbox: the smallest use of the library, and the
//! process that tests kill.
//!
//! `run STATE_FOLDER COMMAND [PROBE [read-only] [hidden:PATH | read-only:PATH]...]`,
//! with paths below the workspace, in which `secret` and `src/file` are made first.

use std::error::Error;
use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use airlock_sandbox::env::{EnvRequest, build_env};
use airlock_sandbox::{
    Cause, Config, Folders, HostIds, LaunchSpec, Launcher, Limits, Mask, MaskKind, Network, Profile, Session,
    SessionFolder, Shape, Shell, Stdin, UidIsolation, WORKSPACE,
};

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mut words = std::env::args_os().skip(1);
    let state = PathBuf::from(words.next().ok_or("a state folder is missing")?);
    let command = words.next().ok_or("a command is missing")?.into_encoded_bytes();
    let mut profile = Profile::minimal();
    if let Some(probe) = words.next() {
        profile = profile.with_bind(PathBuf::from(probe), "/run/probe");
    }
    let words: Vec<_> = words.map(|word| word.to_string_lossy().into_owned()).collect();
    let read_only = words.iter().any(|word| word == "read-only");
    let masks = words.iter().filter_map(|word| mask(word)).collect();

    let uid_isolation = UidIsolation::detect();
    let launcher = Launcher::new(Config {
        bwrap: "/usr/bin/bwrap".into(),
        state: state.join("launcher"),
        uid_isolation,
    })?;
    let ids = (uid_isolation == UidIsolation::PerSession).then_some(HostIds { uid: 210_000, gid: 210_000 });
    let folders = Folders::create(&state, ids)?;
    fs::create_dir(folders.workspace.join("src"))?;
    for file in ["secret", "src/file"] {
        fs::write(folders.workspace.join(file), file)?;
    }
    let session = Session { folders, ids, net: Some(launcher.session_net(ids)?) };
    let env = build_env(&EnvRequest {
        profile: &profile,
        session_id: "example",
        session: &[],
        request: &[],
        traceparent: None,
        read_only,
    })
    .map_err(|_| "no environment")?;
    let network = if read_only { Network::Empty } else { Network::SessionLoopback };
    let spec = LaunchSpec {
        command,
        shell: Shell::Bash,
        cwd: WORKSPACE.into(),
        env,
        shape: Shape { read_only, network },
        separate_stderr: false,
        stdin: Stdin::Null,
        masks,
    };
    let running = launcher.start(&profile, &session, &Limits::default(), &spec)?;
    io::copy(&mut File::from(running.streams.stdout), &mut io::stdout())?;
    match running.waiter.wait().cause {
        Cause::Exited(code) => Ok(ExitCode::from(code)),
        cause => Err(format!("{cause:?}").into()),
    }
}

fn mask(word: &str) -> Option<Mask> {
    let (kind, path) = word.split_once(':')?;
    let kind = if kind == "hidden" { MaskKind::Hidden } else { MaskKind::ReadOnly };
    Some(Mask { folder: SessionFolder::Workspace, path: path.into(), kind })
}
