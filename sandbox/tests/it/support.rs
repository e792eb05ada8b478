//! A host for tests: a launcher in a folder of its own, sessions, and runs.

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
    Cause, CgroupConfig, Config, Ended, Folders, HostIds, LaunchError, LaunchSpec, Launcher, Limits, Network,
    Profile, Running, Session, Shape, Shell, Stdin, UidIsolation, WORKSPACE,
};

pub(crate) const BWRAP: &str = "/usr/bin/bwrap";
/// Where the probe is inside.
pub(crate) const PROBE: &str = "/run/probe";

/// Set where the probe that was built is out of reach: where a copy of it is.
pub(crate) const PROBE_AT: &str = "AIRLOCK_TEST_PROBE";

/// How long a test waits for what must happen. Only a test that fails uses it up, however slow the machine is.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// The first host uid of these tests. No other crate's tests have uids between this one and the last, which is below
/// 1,935,000,000: Linux has at most 2^22 process numbers.
const FIRST_UID: u32 = 1_800_000_000;
/// Host uids of one test process.
const UIDS: u32 = 32;
static NEXT_UID: AtomicU32 = AtomicU32::new(0);

/// A host uid that no other test has: tests run as processes beside each other.
pub(crate) fn next_uid() -> u32 {
    let next = NEXT_UID.fetch_add(1, Ordering::SeqCst);
    assert!(next < UIDS, "a test has {UIDS} uids at most");
    FIRST_UID + std::process::id() * UIDS + next
}

pub(crate) struct Host {
    pub(crate) folder: ScratchDir,
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
        let folder = ScratchDir::new();
        // Nobody but the runner enters it: sessions reach their own by mounts.
        fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o711)).unwrap();
        let probe = folder.path().join("probe");
        let built = std::env::var_os(PROBE_AT).unwrap_or(env!("CARGO_BIN_EXE_airlock-probe").into());
        fs::copy(built, &probe).unwrap();
        let launcher = Launcher::new(Config {
            bwrap: BWRAP.into(),
            state: folder.path().join("state"),
            uid_isolation: UidIsolation::detect(),
            cgroup: CgroupConfig::default(),
        })
        .unwrap();
        let profile = Profile::minimal().with_bind(&probe, PROBE);
        Self { folder, launcher, profile, limits: limits(), probe }
    }

    pub(crate) fn ids(&self) -> Option<HostIds> {
        (self.launcher.uid_isolation() == UidIsolation::PerSession).then(|| {
            let next = next_uid();
            HostIds { uid: next, gid: next }
        })
    }

    pub(crate) fn session(&self) -> Session {
        let ids = self.ids();
        let parent = self.folder.path().join("sessions");
        fs::create_dir_all(&parent).unwrap();
        fs::set_permissions(&parent, PermissionsExt::from_mode(0o700)).unwrap();
        let folders = Folders::create(&parent, ids).unwrap();
        Session { folders, ids, net: Some(self.launcher.session_net(ids).unwrap()) }
    }

    pub(crate) fn spec(&self, command: impl AsRef<[u8]>) -> LaunchSpec {
        let shape = Shape { read_only: false, network: Network::SessionLoopback };
        LaunchSpec {
            command: command.as_ref().to_vec(),
            shell: Shell::Bash,
            snapshot: None,
            shell_init: None,
            prefix: Vec::new(),
            cwd: WORKSPACE.into(),
            env: self.env(false),
            shape,
            separate_stderr: false,
            stdin: Stdin::Null,
            masks: Vec::new(),
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

    /// Why a command is not started.
    pub(crate) fn refused(&self, session: &Session, spec: &LaunchSpec) -> LaunchError {
        match self.launcher.start(&self.profile, session, &self.limits, spec) {
            Ok(_) => panic!("it was started"),
            Err(error) => error,
        }
    }

    /// One command in a session of its own.
    pub(crate) fn sh(&self, command: impl AsRef<[u8]>) -> Output {
        self.run(&self.session(), &self.spec(command))
    }

    /// The probe, inside.
    pub(crate) fn probe_in(&self, session: &Session, spec: &LaunchSpec) -> Findings {
        let output = self.run(session, spec);
        assert_eq!(output.ended.cause, Cause::Exited(0), "{}", output.stdout);
        Findings::parse(&output.stdout)
    }

    /// The probe in a session of its own, writable and with the session's net.
    pub(crate) fn probe(&self, words: &str) -> Findings {
        self.probe_in(&self.session(), &self.spec(format!("{PROBE} {words}")))
    }

    /// The probe outside: the control.
    pub(crate) fn control(&self, words: &[&str]) -> Findings {
        control(Command::new(&self.probe).args(words))
    }
}

/// A runner that is not root: the example `run` as the user nobody.
pub(crate) struct OrdinaryRunner(ScratchDir);

impl OrdinaryRunner {
    pub(crate) fn new() -> Self {
        let folder = ScratchDir::new();
        let state = folder.path().join("state");
        fs::create_dir(&state).unwrap();
        std::os::unix::fs::chown(&state, Some(65_534), Some(65_534)).unwrap();
        let built = std::env::current_exe().unwrap().with_file_name("../examples/run");
        let example = folder.path().join("run");
        // It is built with the tests.
        fs::copy(built, &example).unwrap();
        for path in [folder.path(), &example] {
            fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
        }
        Self(folder)
    }

    /// Where its program `run` and its folder `state` are.
    pub(crate) fn folder(&self) -> &Path {
        self.0.path()
    }

    /// What a command writes in a session of its own; `words` are the example's.
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

/// The usual limits, with a start that may take as long as it takes on this machine.
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

/// Reads from the output until it has said exactly this.
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

/// A command that reads a line before it ends: lets it end once `ready` holds.
#[track_caller]
pub(crate) fn finish_once(what: &str, mut running: Running, ready: impl FnMut() -> bool) -> Output {
    eventually(what, ready);
    drop(running.streams.stdin.take());
    finish(running)
}

/// What the probe found.
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

    /// Nothing worked, and at least `ways` ways were tried.
    #[track_caller]
    pub(crate) fn assert_out_of_reach(&self, ways: usize) {
        assert!(!self.reached, "{:#?}", self.ways);
        assert!(self.ways.len() >= ways, "too few ways were tried: {:#?}", self.ways);
    }

    /// Something worked: the layer is what makes the difference.
    #[track_caller]
    pub(crate) fn assert_reached(&self) {
        assert!(self.reached, "the control failed, so the test proves nothing: {:#?}", self.ways);
    }
}

/// The processes of the host whose command line holds `mark`.
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

/// The processes of the host that run under a uid.
pub(crate) fn processes_of(uid: u32) -> Vec<String> {
    let line = format!("Uid:\t{uid}\t");
    let entries = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let status = entries.filter_map(|path| fs::read_to_string(path.join("status")).ok());
    // What is dead and not yet reaped does nothing more.
    status.filter(|text| text.contains(&line) && !text.contains("State:\tZ")).collect()
}

/// The example `run`, which is built with the tests.
pub(crate) fn example() -> PathBuf {
    std::env::current_exe().unwrap().with_file_name("../examples/run")
}

/// What the next runner does first: it ends and removes what an earlier one with
/// the same state folder has left.
pub(crate) fn next_start(state: &Path) {
    let config = Config {
        bwrap: BWRAP.into(),
        state: state.to_owned(),
        uid_isolation: UidIsolation::detect(),
        cgroup: CgroupConfig::default(),
    };
    drop(Launcher::new(config).unwrap());
}

/// The processes of the host that are `sleep`, not a shell about to become it, with `mark` in their command line.
pub(crate) fn sleepers(mark: &str) -> Vec<PathBuf> {
    let is_sleep = |path: &PathBuf| fs::read_to_string(path.join("comm")).is_ok_and(|name| name == "sleep\n");
    host_processes(mark).into_iter().filter(is_sleep).collect()
}

/// The mounts of this thread's namespace. Of the host's those of other tests come and go.
pub(crate) fn mounts() -> String {
    fs::read_to_string("/proc/thread-self/mountinfo").unwrap()
}

/// Waits until `condition` holds; fails when [`PATIENCE`] is over.
#[track_caller]
pub(crate) fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "not within {PATIENCE:?}: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
