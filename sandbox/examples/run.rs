//! Runs one command in a sandbox. It is the smallest use of the library, and the process that tests kill.
//!
//! `run [OPTION VALUE]... STATE_DIRECTORY COMMAND [PROBE [read-only] [hidden:PATH | read-only:PATH]...]`. Paths are
//! relative to the workspace, in which `secret` and `src/file` are created first. The options are `--bwrap PATH`,
//! `--uid N`, `--socket PATH` (of the host, to show inside), `--memory BYTES`, `--swap BYTES`, `--pids N`,
//! `--cpu-millis N`, `--cgroup auto|require|off`, `--cgroup-parent DIRECTORY`, `--outside yes` (without the sandbox),
//! and `--report yes` (print the end and the usage as JSON on stderr, and exit with 0 in any case).

use std::error::Error;
use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use airlock_sandbox::env::{EnvRequest, build_env, outside};
use airlock_sandbox::{
    Cause, CgroupConfig, CgroupMode, Config, Ended, HostIds, LaunchSpec, Launcher, Limits, Mask, MaskKind,
    Network, NotEnforced, Profile, Session, SessionDirectories, SessionDirectory, Shape, UidIsolation,
    WORKSPACE,
};
use serde_json::json;

struct Options {
    bwrap: PathBuf,
    uid: u32,
    sockets: Vec<PathBuf>,
    limits: Limits,
    cgroup: CgroupConfig,
    outside: bool,
    report: bool,
    /// The arguments that are not options.
    words: Vec<String>,
}

/// The timeout of a start on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

fn options() -> Result<Options, Box<dyn Error>> {
    let mut found = Options {
        bwrap: "/usr/bin/bwrap".into(),
        uid: 210_000,
        sockets: Vec::new(),
        limits: Limits { start_timeout: PATIENCE, ..Limits::default() },
        cgroup: CgroupConfig::default(),
        outside: false,
        report: false,
        words: Vec::new(),
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        // The command follows the state directory, and may begin with any character.
        if !found.words.is_empty() || !word.starts_with("--") {
            found.words.push(word);
            continue;
        }
        let value = words.next().ok_or("an option has no value")?;
        match word.as_str() {
            "--bwrap" => found.bwrap = value.into(),
            "--uid" => found.uid = value.parse()?,
            "--socket" => found.sockets.push(value.into()),
            "--memory" => found.limits.memory = Some(value.parse()?),
            "--swap" => found.limits.swap = value.parse()?,
            "--pids" => found.limits.nproc = value.parse()?,
            "--cpu-millis" => found.limits.cpu_millis = Some(value.parse()?),
            "--cgroup" => {
                found.cgroup.mode = match value.as_str() {
                    "auto" => CgroupMode::Auto,
                    "require" => CgroupMode::Require,
                    "off" => CgroupMode::Off,
                    _ => return Err("`--cgroup` is auto, require or off".into()),
                };
            }
            "--cgroup-parent" => found.cgroup.parent = Some(value.into()),
            "--outside" => found.outside = value == "yes",
            "--report" => found.report = value == "yes",
            other => return Err(format!("`{other}` is no option").into()),
        }
    }
    Ok(found)
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let options = options()?;
    let mut words = options.words.into_iter();
    let state = PathBuf::from(words.next().ok_or("a state directory is missing")?);
    let command = words.next().ok_or("a command is missing")?.into_bytes();
    let mut profile = Profile::minimal();
    profile.sockets.allowed_unix = options.sockets;
    if let Some(probe) = words.next() {
        profile = profile.with_bind(PathBuf::from(probe), "/run/probe");
    }
    let words: Vec<_> = words.collect();
    let read_only = words.iter().any(|word| word == "read-only");
    let masks = words.iter().filter_map(|word| mask(word)).collect();

    let uid_isolation = UidIsolation::detect();
    let launcher = Launcher::new(Config {
        bwrap: options.bwrap,
        state: state.join("launcher"),
        uid_isolation,
        cgroup: options.cgroup,
    })?;
    let (uid, gid) = (options.uid, options.uid);
    let ids = (uid_isolation == UidIsolation::PerSession).then_some(HostIds { uid, gid });
    let directories = SessionDirectories::create(&state, ids)?;
    fs::create_dir(directories.workspace.join("src"))?;
    for file in ["secret", "src/file"] {
        fs::write(directories.workspace.join(file), file)?;
    }
    let session = Session { directories, ids, net: Some(launcher.session_net(ids)?) };
    let env = build_env(&EnvRequest {
        profile: &profile,
        session_id: "example",
        passed: &[],
        session: &[],
        request: &[],
        traceparent: None,
        read_only,
        unsandboxed: false,
    })
    .map_err(|_| "no environment")?;
    let network = if read_only { Network::Empty } else { Network::SessionLoopback };
    let spec = LaunchSpec {
        command,
        cwd: WORKSPACE.into(),
        env,
        shape: Shape { read_only, network },
        masks,
        ..LaunchSpec::default()
    };
    let running = if options.outside {
        let env = outside(spec.env.clone(), &session.directories);
        launcher.start_outside(&session, &options.limits, &LaunchSpec { env, ..spec })?
    } else {
        launcher.start(&profile, &session, &options.limits, &spec)?
    };
    io::copy(&mut File::from(running.streams.stdout), &mut io::stdout())?;
    let ended = running.waiter.wait();
    if options.report {
        eprintln!("{}", report(&ended, &launcher.limits_not_enforced()));
        return Ok(ExitCode::SUCCESS);
    }
    match ended.cause {
        Cause::Exited(code) => Ok(ExitCode::from(code)),
        cause => Err(format!("{cause:?}").into()),
    }
}

fn mask(word: &str) -> Option<Mask> {
    let (kind, path) = word.split_once(':')?;
    let kind = if kind == "hidden" { MaskKind::Hidden } else { MaskKind::ReadOnly };
    Some(Mask { directory: SessionDirectory::Workspace, path: path.into(), kind })
}

fn report(ended: &Ended, gaps: &[NotEnforced]) -> serde_json::Value {
    json!({
        "cause": format!("{:?}", ended.cause),
        "leftovers": ended.leftovers,
        "user_micros": ended.user.as_micros(),
        "system_micros": ended.system.as_micros(),
        "elapsed_micros": ended.elapsed.as_micros(),
        "peak_memory": ended.peak_memory.map(|peak| json!({
            "bytes": peak.bytes,
            "source": format!("{:?}", peak.source),
        })),
        "not_enforced": gaps.iter().map(|gap| json!({"limit": gap.limit, "cause": gap.cause}))
            .collect::<Vec<_>>(),
    })
}
