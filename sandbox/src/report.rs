//! What this host can enforce, found by really starting a sandbox.
//!
//! Must not say that a layer is there because it ought to be: what was not seen
//! from inside is not enforced.

mod check;
mod landlock;

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use airlock_init::wire::{HostIds, Landlock};
use serde::Serialize;

use crate::WORKSPACE;
use crate::cgroup::NotEnforced;
use crate::env::{EnvRequest, build_env};
use crate::error::LaunchError;
use crate::launcher::Launcher;
use crate::profile::Profile;
use crate::running::Cause;
use crate::session::{Folders, Session};
use crate::spec::{LaunchSpec, Limits, Network, Shape, Shell, Stdin};
use crate::uid::UidIsolation;

pub use check::{Check, State};

/// The most of a check's output that is read, in bytes.
const MAX_OUTPUT: u64 = 64 << 10;

/// Says what it sees, with nothing but the shell itself.
const LOOK: &str = r#"
while read -r name value; do
  case $name in Cap*|NoNewPrivs:|Seccomp:) echo "$name $value";; esac
done </proc/self/status
while read -r name _; do echo "interface $name"; done </proc/net/dev
for folder in /proc/[0-9]*; do echo "process $folder"; done
(: >/workspace/try) 2>/dev/null && echo 'wrote /workspace'
(: >/tmp/try) 2>/dev/null && echo 'wrote /tmp'
(: >"$HOME/try") 2>/dev/null && echo 'wrote HOME'
(: >/var/tmp/try) 2>/dev/null && echo 'wrote /var/tmp'
(: >/run/airlock/report/try) 2>/dev/null && echo 'made a file beside the report'
"#;

/// What this host can enforce.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CapabilityReport {
    /// The kernel's release.
    pub kernel: String,
    /// bubblewrap's version, as it says it.
    pub bwrap_version: String,
    /// `per_session` or `none`.
    pub uid_isolation: &'static str,
    /// Every layer.
    pub checks: Vec<Check>,
}

impl CapabilityReport {
    /// The layers that hold.
    pub fn enforced(&self) -> impl Iterator<Item = &'static str> {
        self.checks.iter().filter(|check| check.is_enforced()).map(|check| check.name)
    }

    /// The layers that do not.
    pub fn not_enforced(&self) -> impl Iterator<Item = &'static str> {
        self.checks.iter().filter(|check| !check.is_enforced()).map(|check| check.name)
    }
}

impl Launcher {
    /// Starts a session's sandbox and a read-only one, looks around in both, and
    /// says what holds. Blocks for tens of milliseconds. `scratch` is a folder of
    /// the runner's own; nothing stays in it.
    #[must_use]
    pub fn report(&self, profile: &Profile, scratch: &Path, ids: Option<HostIds>) -> CapabilityReport {
        let mut checks = match Folders::create(scratch, ids) {
            Ok(folders) => {
                let root = folders.root.clone();
                let checks = self.look(profile, folders, ids);
                // A stray empty folder would do no harm.
                let _ = fs::remove_dir_all(root);
                checks
            }
            Err(error) => vec![missing("sandbox", &error.to_string())],
        };
        checks.push(uid_check(self.uid_isolation()));
        checks.extend(cgroup_checks(&self.limits_not_enforced()));
        for layer in ["disk_quota", "protected_names"] {
            checks.push(missing(layer, "this version does not have it"));
        }
        CapabilityReport {
            kernel: fs::read_to_string("/proc/sys/kernel/osrelease")
                .map_or_else(|_| "unknown".to_owned(), |text| text.trim().to_owned()),
            bwrap_version: self.bwrap_version().to_owned(),
            uid_isolation: self.uid_isolation().as_str(),
            checks,
        }
    }

    fn look(&self, profile: &Profile, folders: Folders, ids: Option<HostIds>) -> Vec<Check> {
        let (net, mut checks) = match self.session_net(ids) {
            Ok(net) => (Some(net), Vec::new()),
            Err(error) => (None, vec![missing("session_net", &describe(&error))]),
        };
        let session = Session { folders, ids, net };
        if session.net.is_some() {
            let shape = Shape { read_only: false, network: Network::SessionLoopback };
            match self.look_inside(profile, &session, shape) {
                Ok((seen, _)) => checks.push(only_loopback("session_net", &seen)),
                Err(cause) => checks.push(missing("session_net", &cause)),
            }
        }
        let shape = Shape { read_only: true, network: Network::Empty };
        match self.look_inside(profile, &session, shape) {
            Ok((seen, landlock)) => {
                checks.extend(inside_checks(&seen));
                let made = seen.lines().any(|line| line == "made a file beside the report");
                checks.push(landlock::check(landlock, made));
            }
            Err(cause) => checks.push(missing("sandbox", &cause)),
        }
        checks
    }

    fn look_inside(
        &self,
        profile: &Profile,
        session: &Session,
        shape: Shape,
    ) -> Result<(String, Landlock), String> {
        let request = EnvRequest {
            profile,
            session_id: "probe",
            session: &[],
            request: &[],
            traceparent: None,
            read_only: shape.read_only,
        };
        let env = build_env(&request).map_err(|_| "the environment cannot be built".to_owned())?;
        let spec = LaunchSpec {
            command: LOOK.as_bytes().to_vec(),
            shell: Shell::Bash,
            cwd: WORKSPACE.into(),
            env,
            shape,
            separate_stderr: false,
            stdin: Stdin::Null,
            masks: Vec::new(),
        };
        let running =
            self.start(profile, session, &Limits::default(), &spec).map_err(|error| describe(&error))?;
        let landlock = running.landlock;
        let mut seen = String::new();
        let read = File::from(running.streams.stdout).take(MAX_OUTPUT).read_to_string(&mut seen);
        let ended = running.waiter.wait();
        match (read, ended.cause) {
            (Ok(_), Cause::Exited(_)) => Ok((seen, landlock)),
            (Ok(_), Cause::SandboxFailed { step, detail }) => Err(format!("{step}: {detail}")),
            (Ok(_), cause) => Err(format!("the check ended early: {cause:?}")),
            (Err(error), _) => Err(error.to_string()),
        }
    }
}

fn inside_checks(seen: &str) -> Vec<Check> {
    let lines = |start: &str| seen.lines().filter(|line| line.starts_with(start)).count();
    let zero =
        |line: &&str| line.starts_with("Cap") && line.split_whitespace().nth(1) == Some("0000000000000000");
    let processes = lines("process ");
    let written: Vec<_> = seen.lines().filter_map(|line| line.strip_prefix("wrote ")).collect();
    vec![
        seen_to_hold(
            "capabilities",
            seen.lines().filter(zero).count() == 5 && lines("Cap") == 5,
            "the five sets, as /proc/self/status says",
        ),
        seen_to_hold(
            "no_new_privs",
            seen.lines().any(|line| line == "NoNewPrivs: 1"),
            "as /proc/self/status says",
        ),
        // Pid 1 has made sure that it is ours, or nothing would have started.
        seen_to_hold(
            "seccomp",
            seen.lines().any(|line| line == "Seccomp: 2"),
            "as /proc/self/status says, and pid 1 tried a call that only our filter refuses",
        ),
        seen_to_hold("fresh_proc", (1..=3).contains(&processes), &format!("{processes} processes in sight")),
        only_loopback("empty_net", seen),
        seen_to_hold("read_only", written == ["/var/tmp"], &format!("could write: {}", written.join(" "))),
    ]
}

fn only_loopback(layer: &'static str, seen: &str) -> Check {
    // The first two lines are the head of the table.
    let names: Vec<_> = seen.lines().filter_map(|line| line.strip_prefix("interface ")).skip(2).collect();
    seen_to_hold(layer, names == ["lo:"], &format!("interfaces: {}", names.join(" ")))
}

/// The cgroup itself, and each limit that it is there for.
fn cgroup_checks(gaps: &[NotEnforced]) -> Vec<Check> {
    const CURE: &str = "give the runner a cgroup of its own: under systemd `Delegate=yes`";
    let layers = [
        ("cgroup", "the end of a command by one write, and what it used in all"),
        ("memory", "a command can use all of the host's memory"),
        ("swap", "a command can use all of the host's swap"),
        ("pids", "processes are counted by RLIMIT_NPROC alone"),
        ("cpu", "a command can use every processor"),
        ("io", "a command can use all of the disk's time"),
    ];
    let check = |(name, lost)| match gaps.iter().find(|gap| gap.limit == name) {
        None => Check::ok(name, "held by a cgroup of each sandbox"),
        Some(gap) if name == "pids" => Check::degraded(name, &gap.cause, lost, CURE),
        Some(gap) => Check::missing(name, &gap.cause, lost, CURE),
    };
    layers.into_iter().map(check).collect()
}

fn uid_check(isolation: UidIsolation) -> Check {
    match isolation {
        UidIsolation::PerSession => Check::ok("uid_isolation", "each session has a host uid of its own"),
        UidIsolation::None => Check::missing(
            "uid_isolation",
            "the runner cannot change uid",
            "sessions share the runner's host uid: a flaw in another layer would show one to the other",
            "start the runner as root",
        ),
    }
}

fn seen_to_hold(name: &'static str, holds: bool, seen: &str) -> Check {
    if holds { Check::ok(name, seen) } else { missing(name, seen) }
}

fn missing(name: &'static str, seen: &str) -> Check {
    Check::missing(name, seen, "commands cannot be isolated", "")
}

fn describe(error: &LaunchError) -> String {
    let hint = error.hint().map(|hint| format!(" (try: {hint})")).unwrap_or_default();
    format!("{}: {error}{hint}", error.step())
}
