//! The environment of an attempt: a runner as a separate process, and its server.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, chown},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use airlock_domain::{Cause, ExecutionId, ExecutionResult, FromRunner, Grant, JobPhase, SessionId};
use rustix::process::{Pid, Signal, kill_process};

use crate::{
    fake::{FakeServer, Manners},
    fixture::{self, Fixture},
    support::eventually,
};

/// The timeout for slow steps on a busy machine: the maximum duration of a test.
pub(crate) const LONG: Duration = Duration::from_secs(20 * 60);

/// The user of the runner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum User {
    /// Root: each session has its own uid.
    Root,
    /// An unprivileged user: sessions have the runner's uid.
    Ordinary,
}

/// Special requirements of an attempt.
#[derive(Debug, Default)]
pub(crate) struct Needs {
    /// Additional environment variables of the runner.
    pub(crate) env: Vec<(String, String)>,
    /// The file name of its configuration, which is one of its arguments.
    pub(crate) config: Option<String>,
    /// Whether profiles may show the probe.
    pub(crate) probe: bool,
    /// Additional tables of its configuration.
    pub(crate) tables: &'static str,
}

/// The environment of one attempt.
pub(crate) struct Site {
    /// The first field, so that the runner has ended before its leftovers are removed.
    runner: Runner,
    pub(crate) it: Fixture,
    user: User,
    controlled: bool,
    /// The directory that contains everything.
    directory: PathBuf,
}

/// Killed at every end of the test.
struct Runner(Child);

impl Drop for Runner {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Returns a uid that no other process has.
fn ordinary() -> u32 {
    2_000_000_000 + std::process::id()
}

impl Site {
    pub(crate) async fn start(user: User, needs: Needs) -> Self {
        let dir = airlock_mounts::ScratchDir::new();
        fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o755)).unwrap();
        let server = FakeServer::start(Manners::default()).await;
        let name = needs.config.clone().unwrap_or_else(|| "runner".to_owned());
        let path = dir.path().join(format!("{name}.toml"));
        let shown = if needs.probe { vec![copy_probe(dir.path())] } else { Vec::new() };
        fs::write(&path, config(dir.path(), &server, (&shown, &needs.env)) + needs.tables).unwrap();
        let program = dir.path().join("airlock-runner");
        let built = Path::new(env!("CARGO_BIN_EXE_airlock-runner"));
        fs::hard_link(built, &program).or_else(|_| fs::copy(built, &program).map(drop)).unwrap();
        if user == User::Ordinary {
            let state = dir.path().join("state");
            fs::create_dir(&state).unwrap();
            chown(&state, Some(ordinary()), Some(ordinary())).unwrap();
        }
        let directory = dir.path().to_owned();
        let child = of(user, &program)
            .arg("--config")
            .arg(&path)
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .envs(needs.env)
            .current_dir(&directory)
            .stdin(Stdio::null())
            .spawn();
        let runner = Runner(child.unwrap());
        let config = fixture::config(dir.path(), &server);
        let it = Fixture::around(server, config, dir).await;
        Self { runner, it, user, controlled: false, directory }
    }

    /// Returns the host uids of its commands and, without root, of the runner itself.
    pub(crate) fn uids(&self) -> Vec<u32> {
        match self.user {
            User::Root => {
                let uids = fixture::uids();
                (uids.first..uids.first + uids.count).collect()
            }
            User::Ordinary => vec![ordinary()],
        }
    }

    pub(crate) fn user(&self) -> User {
        self.user
    }

    pub(crate) fn pid(&self) -> u32 {
        self.runner.0.id()
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Records that a control of the attempt has succeeded.
    pub(crate) fn controlled(&mut self) {
        self.controlled = true;
    }

    pub(crate) fn is_controlled(&self) -> bool {
        self.controlled
    }

    /// Runs a shell command on the host as the runner's user, for a control. Returns whether it succeeds. It must
    /// name only files and processes of the test.
    pub(crate) fn on_host(&self, words: &str) -> bool {
        assert!(!words.contains('*'), "a pattern could match processes of others: `{words}`");
        of(self.user, Path::new("bash")).args(["-c", words]).stdin(Stdio::null()).status().unwrap().success()
    }

    /// Runs a command to its end. The command must end without a kill.
    pub(crate) async fn run(&mut self, grant: Grant) -> (ExecutionId, ExecutionResult) {
        let words = String::from_utf8_lossy(&grant.command.text).into_owned();
        let mut grant = grant;
        grant.command.timeout = LONG;
        let id = self.it.offer(grant).await;
        let result = self.end(id).await;
        assert!(matches!(result.cause, Cause::Exited { .. }), "`{words}`: {result:?}");
        (id, result)
    }

    /// Returns the result of a command, which may take long, or its refusal.
    pub(crate) async fn end(&mut self, id: ExecutionId) -> ExecutionResult {
        let is_end = |phase| matches!(phase, JobPhase::Ended | JobPhase::Refused);
        let ended = |message: &FromRunner| match message {
            FromRunner::Job(job) if job.execution_id == id && is_end(job.phase) => job.result.clone(),
            _ => None,
        };
        self.it.report_within(LONG, ended).await
    }

    pub(crate) async fn session(&mut self) -> SessionId {
        self.it.open("").await
    }

    /// Stops the runner in an orderly way.
    pub(crate) fn stop(mut self) {
        let _ = kill_process(Pid::from_child(&self.runner.0), Signal::TERM);
        let mut status = None;
        eventually("the runner ends", || {
            status = self.runner.0.try_wait().unwrap();
            status.is_some()
        });
        assert!(status.unwrap().success(), "the runner: {status:?}");
    }
}

/// Returns a program that runs as this user.
fn of(user: User, program: &Path) -> Command {
    match user {
        User::Root => Command::new(program),
        User::Ordinary => {
            let mut command = Command::new("setpriv");
            let id = ordinary().to_string();
            command.args(["--reuid", &id, "--regid", &id, "--clear-groups", "--inh-caps=-all", "--"]);
            command.arg(program);
            command
        }
    }
}

fn config(directory: &Path, server: &FakeServer, (shown, env): (&[PathBuf], &[(String, String)])) -> String {
    // The floor allows profiles to pass all variables, so that only the scrub removes secrets.
    let pass: Vec<&String> = env.iter().map(|(name, _)| name).collect();
    format!(
        "runner_id = \"r1\"\nstate_dir = \"{}\"\n[[server]]\nendpoint = \"http://{}\"\ninsecure_loopback = true\n\
         [uids]\nfirst = {}\ncount = {}\n[limits]\ndisk_reserve_bytes = 0\nstart_timeout = \"120s\"\n\
         dial_timeout = \"120s\"\n[floor]\nbind_sources = {shown:?}\npass_env = {pass:?}\n\
         [drain]\ngrace = \"100ms\"\nhandover = \"100ms\"\n[telemetry]\nlog = \"warn\"\n",
        directory.join("state").display(),
        server.address,
        fixture::uids().first,
        fixture::uids().count,
    )
}

/// Copies the sandbox's probe to a path that the runner may show.
fn copy_probe(directory: &Path) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let built = test.ancestors().nth(2).unwrap().join("airlock-probe");
    let probe = directory.join("probe");
    fs::copy(&built, &probe).unwrap_or_else(|error| {
        panic!("{}: {error}; run `cargo build --package airlock-sandbox --bins`", built.display())
    });
    fs::set_permissions(&probe, PermissionsExt::from_mode(0o755)).unwrap();
    probe
}
