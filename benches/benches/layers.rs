//! The cost of each sandbox layer for a command that does nothing. The benchmark alternates between bash alone, plain
//! bubblewrap with the same arguments, bubblewrap with one additional layer, and Airlock with more and more layers. A
//! start is measured from the call to the end of everything, including the removal of the cgroup.

#![expect(clippy::unwrap_used, reason = "a benchmark")]

use std::{
    ffi::OsString,
    fs::{self, File},
    io::Read,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use airlock_benches::{Alternative, print};
use airlock_sandbox::{
    Cause, CgroupConfig, CgroupMode, Config, HostIds, LaunchSpec, Launcher, Limits, Mask, MaskKind, Network,
    Profile, Session, SessionDirectories, SessionDirectory, Shape, Sockets, Sources, UidIsolation, WORKSPACE,
    bwrap_args, env::EnvRequest, seccomp_filter,
};

const BWRAP: &str = "/usr/bin/bwrap";
const ROUNDS: usize = 300;
const MASKS: usize = 10;
const UID: u32 = 2_900_000;

/// A start by Airlock, with configurable layers.
struct Start {
    launcher: Launcher,
    session: Session,
    spec: LaunchSpec,
}

/// The host for all measurements.
struct Host {
    directory: PathBuf,
    profile: Profile,
}

impl Host {
    fn start(&self, name: &str, network: Network, cgroup: CgroupMode, masks: usize) -> Start {
        let directory = self.directory.join(name);
        fs::create_dir(&directory).unwrap();
        let uid_isolation = UidIsolation::detect();
        let launcher = Launcher::new(Config {
            bwrap: BWRAP.into(),
            state: directory.join("launcher"),
            uid_isolation,
            cgroup: CgroupConfig { mode: cgroup, parent: None },
        })
        .unwrap();
        let ids = (uid_isolation == UidIsolation::PerSession).then_some(HostIds { uid: UID, gid: UID });
        let directories = SessionDirectories::create(&directory, ids).unwrap();
        let mask = |number: usize| {
            let path = PathBuf::from(format!("file-{number}"));
            fs::write(directories.workspace.join(&path), "x").unwrap();
            let kind = if number.is_multiple_of(2) { MaskKind::Hidden } else { MaskKind::ReadOnly };
            Mask { directory: SessionDirectory::Workspace, path, kind }
        };
        let masks = (0..masks).map(mask).collect();
        let session = Session { directories, ids, net: Some(launcher.session_net(ids).unwrap()) };
        let env = airlock_sandbox::env::build_env(&EnvRequest {
            profile: &self.profile,
            session_id: "bench",
            passed: &[],
            session: &[],
            request: &[],
            traceparent: None,
            read_only: false,
            unsandboxed: false,
        })
        .unwrap();
        let spec = LaunchSpec {
            command: b"true".to_vec(),
            cwd: WORKSPACE.into(),
            env,
            shape: Shape { read_only: false, network },
            masks,
            ..LaunchSpec::default()
        };
        Start { launcher, session, spec }
    }

    fn run(&self, start: &Start) {
        let Start { launcher, session, spec } = start;
        let running = launcher.start(&self.profile, session, &Limits::default(), spec).unwrap();
        File::from(running.streams.stdout).read_to_end(&mut Vec::new()).unwrap();
        assert_eq!(running.waiter.wait().cause, Cause::Exited(0));
    }
}

/// Returns Airlock's own bubblewrap arguments, with bash instead of airlock-init.
fn bubblewrap_arguments(host: &Host, start: &Start) -> Vec<OsString> {
    let directories = &start.session.directories;
    let entries = fs::read_dir(directories.root.parent().unwrap().join("launcher")).unwrap();
    let runtime = entries.map(|entry| entry.unwrap().path()).find(|path| path.is_dir()).unwrap();
    let sources = Sources {
        workspace: directories.workspace.clone(),
        home: directories.home.clone(),
        tmp: directories.tmp.clone(),
        runtime,
    };
    let shape = Shape { read_only: false, network: Network::Empty };
    let mut arguments = bwrap_args(&host.profile, &sources, &Limits::default(), shape);
    arguments.extend(["--", "/bin/bash", "-c", "true"].map(OsString::from));
    arguments
}

fn bash() {
    assert!(Command::new("bash").args(["-c", "true"]).status().unwrap().success());
}

/// Runs bubblewrap after the words in `before`, with the input for its `--seccomp 0`.
fn bubblewrap(before: &[&str], arguments: &[OsString], filter: Option<&Path>) {
    let mut words = before.iter().chain(&[BWRAP]).map(OsString::from);
    let mut command = Command::new(words.next().unwrap());
    command.args(words);
    match filter {
        Some(filter) => command.args(["--seccomp", "0"]).stdin(File::open(filter).unwrap()),
        None => command.stdin(Stdio::null()),
    };
    assert!(command.args(arguments).env_clear().status().unwrap().success());
}

fn main() {
    let directory = airlock_mounts::ScratchDir::new();
    fs::set_permissions(directory.path(), PermissionsExt::from_mode(0o711)).unwrap();
    let host = Host { directory: directory.path().to_owned(), profile: Profile::minimal() };
    let filter = directory.path().join("filter");
    fs::write(&filter, seccomp_filter(&Sockets::default())).unwrap();

    let least = host.start("least", Network::Empty, CgroupMode::Off, 0);
    let net = host.start("net", Network::SessionLoopback, CgroupMode::Off, 0);
    let cgroup = host.start("cgroup", Network::SessionLoopback, CgroupMode::Auto, 0);
    let masks = host.start("masks", Network::SessionLoopback, CgroupMode::Auto, MASKS);
    let arguments = bubblewrap_arguments(&host, &least);
    // A separate program creates a mount namespace; in the second case also a PID namespace with its own
    // /proc.
    let mounts = airlock_mounts::PRIVATE;
    let processes = [&mounts[..], &["--pid", "--fork", "--mount-proc"]].concat();

    let alternatives: [(&str, &dyn Fn()); 9] = [
        ("plain bubblewrap, the same namespaces and mounts", &|| bubblewrap(&[], &arguments, None)),
        ("bash, no sandbox", &bash),
        ("plain bubblewrap, and the filter of system calls", &|| bubblewrap(&[], &arguments, Some(&filter))),
        ("plain bubblewrap in `unshare --mount`", &|| bubblewrap(&mounts, &arguments, None)),
        ("  and an outer namespace of processes", &|| bubblewrap(&processes, &arguments, None)),
        ("Airlock: uid, staging, filter, outer namespace, pid 1", &|| host.run(&least)),
        ("  and the session's network joined", &|| host.run(&net)),
        ("  and a cgroup", &|| host.run(&cgroup)),
        ("  and 10 masks", &|| host.run(&masks)),
    ];
    let mut measured = alternatives.each_ref().map(|(name, _)| Alternative::new(name));
    for _ in 0..ROUNDS {
        for ((_, work), alternative) in alternatives.iter().zip(&mut measured) {
            alternative.measure(work);
        }
    }
    print("running `true`, from the start to the end of everything", &measured);
    for gap in cgroup.launcher.limits_not_enforced() {
        println!("  without the limit `{}`: {}", gap.limit, gap.cause);
    }
}
