//! A host for tests: a launcher in a directory of its own, sessions, and runs.

use std::fs::{self, File};
use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use airlock_mounts::ScratchDir;
use airlock_sandbox::env::{EnvRequest, build_env};
use airlock_sandbox::{
    Cause, CgroupConfig, Config, Ended, HostIds, LaunchError, LaunchSpec, Launcher, Limits, Network, Profile,
    Running, Session, SessionDirectories, Shape, UidIsolation, WORKSPACE,
};

pub(crate) const BWRAP: &str = "/usr/bin/bwrap";
/// The path of the probe inside the sandbox.
pub(crate) const PROBE: &str = "/run/probe";

/// The variable with the path of a copy of the probe, if the original is out of reach.
pub(crate) const PROBE_AT: &str = "AIRLOCK_TEST_PROBE";

/// The timeout of each wait. Only a failing test reaches it, even on a slow machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// The first host uid of these tests. The last one is below 1,935,000,000, because Linux has at most 2^22 pids. No
/// tests of another crate use uids in this range.
const FIRST_UID: u32 = 1_800_000_000;
/// The number of host uids per test process.
const UIDS: u32 = 32;
static NEXT_UID: AtomicU32 = AtomicU32::new(0);

/// Returns a host uid that no other test uses. Tests run in concurrent processes.
pub(crate) fn next_uid() -> u32 {
    let next = NEXT_UID.fetch_add(1, Ordering::SeqCst);
    assert!(next < UIDS, "a test has {UIDS} uids at most");
    FIRST_UID + std::process::id() * UIDS + next
}

pub(crate) struct Host {
    pub(crate) directory: ScratchDir,
    pub(crate) launcher: Launcher,
    pub(crate) profile: Profile,
    pub(crate) limits: Limits,
    /// The probe on the host, for controls.
    pub(crate) probe: PathBuf,
}

pub(crate) struct Output {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) ended: Ended,
}

impl Host {
    pub(crate) fn new() -> Self {
        let directory = ScratchDir::new();
        // Only the runner can list it: sessions reach their own directories by mounts.
        fs::set_permissions(directory.path(), PermissionsExt::from_mode(0o711)).unwrap();
        let probe = directory.path().join("probe");
        let built = std::env::var_os(PROBE_AT).unwrap_or(env!("CARGO_BIN_EXE_airlock-probe").into());
        fs::copy(built, &probe).unwrap();
        let launcher = Launcher::new(Config {
            bwrap: BWRAP.into(),
            state: directory.path().join("state"),
            uid_isolation: UidIsolation::detect(),
            cgroup: CgroupConfig::default(),
        })
        .unwrap();
        let profile = Profile::minimal().with_bind(&probe, PROBE);
        Self { directory, launcher, profile, limits: limits(), probe }
    }

    pub(crate) fn ids(&self) -> Option<HostIds> {
        (self.launcher.uid_isolation() == UidIsolation::PerSession).then(|| {
            let next = next_uid();
            HostIds { uid: next, gid: next }
        })
    }

    pub(crate) fn session(&self) -> Session {
        let ids = self.ids();
        let parent = self.directory.path().join("sessions");
        fs::create_dir_all(&parent).unwrap();
        fs::set_permissions(&parent, PermissionsExt::from_mode(0o700)).unwrap();
        let directories = SessionDirectories::create(&parent, ids).unwrap();
        Session { directories, ids, net: Some(self.launcher.session_net(ids).unwrap()) }
    }

    pub(crate) fn spec(&self, command: impl AsRef<[u8]>) -> LaunchSpec {
        let shape = Shape { read_only: false, network: Network::SessionLoopback };
        LaunchSpec {
            command: command.as_ref().to_vec(),
            cwd: WORKSPACE.into(),
            env: self.env(false),
            shape,
            ..LaunchSpec::default()
        }
    }

    pub(crate) fn read_only_spec(&self, command: impl AsRef<[u8]>) -> LaunchSpec {
        LaunchSpec {
            shape: Shape { read_only: true, network: Network::Empty },
            env: self.env(true),
            ..self.spec(command)
        }
    }

    fn env(&self, read_only: bool) -> Vec<(std::ffi::OsString, std::ffi::OsString)> {
        build_env(&EnvRequest {
            profile: &self.profile,
            session_id: "test",
            passed: &[],
            session: &[],
            request: &[],
            traceparent: None,
            read_only,
            unsandboxed: false,
        })
        .unwrap()
    }

    pub(crate) fn start(&self, session: &Session, spec: &LaunchSpec) -> Running {
        match self.launcher.start(&self.profile, session, &self.limits, spec) {
            Ok(running) => running,
            Err(error) => panic!("{}: {error}", error.step()),
        }
    }

    pub(crate) fn run(&self, session: &Session, spec: &LaunchSpec) -> Output {
        finish(self.start(session, spec))
    }

    /// Returns the error of a command that is not started.
    pub(crate) fn refused(&self, session: &Session, spec: &LaunchSpec) -> LaunchError {
        match self.launcher.start(&self.profile, session, &self.limits, spec) {
            Ok(_) => panic!("it was started"),
            Err(error) => error,
        }
    }

    /// Runs one command in a new session.
    pub(crate) fn sh(&self, command: impl AsRef<[u8]>) -> Output {
        self.run(&self.session(), &self.spec(command))
    }

    /// Runs the probe inside the sandbox.
    pub(crate) fn probe_in(&self, session: &Session, spec: &LaunchSpec) -> Findings {
        let output = self.run(session, spec);
        assert_eq!(output.ended.cause, Cause::Exited(0), "{}", output.stdout);
        Findings::parse(&output.stdout)
    }

    /// Runs the probe in a new session, writable and with the session's network.
    pub(crate) fn probe(&self, words: &str) -> Findings {
        self.probe_in(&self.session(), &self.spec(format!("{PROBE} {words}")))
    }

    /// Runs the probe outside: the control.
    pub(crate) fn control(&self, words: &[&str]) -> Findings {
        control(Command::new(&self.probe).args(words))
    }
}

/// A runner without root: the example `run` as the user nobody.
pub(crate) struct OrdinaryRunner(ScratchDir);

impl OrdinaryRunner {
    pub(crate) fn new() -> Self {
        let directory = ScratchDir::new();
        let state = directory.path().join("state");
        fs::create_dir(&state).unwrap();
        std::os::unix::fs::chown(&state, Some(65_534), Some(65_534)).unwrap();
        let built = std::env::current_exe().unwrap().with_file_name("../examples/run");
        let example = directory.path().join("run");
        // It is built with the tests.
        fs::copy(built, &example).unwrap();
        for path in [directory.path(), &example] {
            fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
        }
        Self(directory)
    }

    /// Returns the directory of its program `run` and its directory `state`.
    pub(crate) fn directory(&self) -> &Path {
        self.0.path()
    }

    /// Returns the output of a command in a new session; `words` are the example's arguments.
    pub(crate) fn run(&self, host: &Host, command: &str, words: &[&str]) -> String {
        let output = Command::new("setpriv")
            .args(["--reuid", "65534", "--regid", "65534", "--clear-groups"])
            .arg(self.0.path().join("run"))
            .arg(self.0.path().join("state"))
            .arg(command)
            .arg(&host.probe)
            .args(words)
            .output()
            .unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    }
}

/// Returns the default limits, with a start timeout that suits a slow machine.
pub(crate) fn limits() -> Limits {
    Limits { start_timeout: PATIENCE, ..Limits::default() }
}

pub(crate) fn control(command: &mut Command) -> Findings {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Findings::parse(&String::from_utf8(output.stdout).unwrap())
}

pub(crate) fn read_to_end(file: impl Into<std::os::fd::OwnedFd>) -> String {
    let mut bytes = Vec::new();
    File::from(file.into()).read_to_end(&mut bytes).unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}

pub(crate) fn finish(running: Running) -> Output {
    let stderr = running.streams.stderr;
    let errors = std::thread::spawn(move || stderr.map(read_to_end).unwrap_or_default());
    let stdout = read_to_end(running.streams.stdout);
    Output { stdout, stderr: errors.join().unwrap(), ended: running.waiter.wait() }
}

/// Reads from the output until it equals this text.
#[track_caller]
pub(crate) fn wait_for(running: &Running, wanted: &str) {
    let mut said = Vec::new();
    while said.len() < wanted.len() {
        let mut byte = [0];
        assert_eq!(rustix::io::read(running.streams.stdout.as_fd(), &mut byte), Ok(1), "{wanted}");
        said.extend(byte);
    }
    assert_eq!(String::from_utf8(said).unwrap(), wanted);
}

/// Ends a command that reads a line before it ends, once `ready` holds.
#[track_caller]
pub(crate) fn finish_once(what: &str, mut running: Running, ready: impl FnMut() -> bool) -> Output {
    eventually(what, ready);
    drop(running.streams.stdin.take());
    finish(running)
}

/// The findings of the probe.
#[derive(Debug)]
pub(crate) struct Findings {
    pub(crate) reached: bool,
    pub(crate) ways: Vec<(String, bool, String)>,
}

impl Findings {
    pub(crate) fn parse(text: &str) -> Self {
        let value: serde_json::Value =
            serde_json::from_str(text.trim()).unwrap_or_else(|error| panic!("{error} in `{text}`"));
        let ways = value["ways"].as_array().unwrap().iter().map(|way| {
            let text = |name: &str| way[name].as_str().unwrap().to_owned();
            let errno = way["errno"].as_str().map(|name| format!("{name}: ")).unwrap_or_default();
            (text("way"), way["reached"].as_bool().unwrap(), errno + &text("detail"))
        });
        Self { reached: value["reached"].as_bool().unwrap(), ways: ways.collect() }
    }

    /// Checks that no attempt worked, and that at least `ways` were made.
    #[track_caller]
    pub(crate) fn assert_out_of_reach(&self, ways: usize) {
        assert!(!self.reached, "{:#?}", self.ways);
        assert!(self.ways.len() >= ways, "too few attempts were made: {:#?}", self.ways);
    }

    /// Checks that an attempt worked: without the layer, the attack succeeds.
    #[track_caller]
    pub(crate) fn assert_reached(&self) {
        assert!(self.reached, "the control failed, so the test proves nothing: {:#?}", self.ways);
    }
}

/// Returns the host's processes with `mark` in their command line.
pub(crate) fn host_processes(mark: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let numbered = entries
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().parse::<u32>().is_ok()));
    numbered.filter(|path| command_line(path).contains(mark)).collect()
}

fn command_line(process: &Path) -> String {
    let bytes = fs::read(process.join("cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&bytes).replace('\0', " ")
}

/// Returns the host's processes with this uid.
pub(crate) fn processes_of(uid: u32) -> Vec<String> {
    let line = format!("Uid:\t{uid}\t");
    let entries = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let status = entries.filter_map(|path| fs::read_to_string(path.join("status")).ok());
    // Zombies do not run.
    status.filter(|text| text.contains(&line) && !text.contains("State:\tZ")).collect()
}

/// Returns the path of the example `run`, which is built with the tests.
pub(crate) fn example() -> PathBuf {
    std::env::current_exe().unwrap().with_file_name("../examples/run")
}

/// Performs the first step of the next runner. It ends the processes and removes the cgroups that an earlier runner
/// with the same state directory left.
pub(crate) fn next_start(state: &Path) {
    let config = Config {
        bwrap: BWRAP.into(),
        state: state.to_owned(),
        uid_isolation: UidIsolation::detect(),
        cgroup: CgroupConfig::default(),
    };
    drop(Launcher::new(config).unwrap());
}

/// Returns the host's `sleep` processes with `mark` in their command line. A shell that will become `sleep` does not
/// count.
pub(crate) fn sleepers(mark: &str) -> Vec<PathBuf> {
    let is_sleep = |path: &PathBuf| fs::read_to_string(path.join("comm")).is_ok_and(|name| name == "sleep\n");
    host_processes(mark).into_iter().filter(is_sleep).collect()
}

/// Returns the mounts of this thread's namespace. Mounts of other tests appear and disappear in the host's.
pub(crate) fn mounts() -> String {
    fs::read_to_string("/proc/thread-self/mountinfo").unwrap()
}

/// Waits until `condition` holds. Fails after [`PATIENCE`].
#[track_caller]
pub(crate) fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "not within {PATIENCE:?}: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
