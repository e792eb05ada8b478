//! What this host can enforce, found by really starting a sandbox.
//!
//! Must not say that a layer is there because it ought to be: what was not seen
//! from inside is not enforced.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use airlock_init::wire::HostIds;
use serde::Serialize;

use crate::WORKSPACE;
use crate::env::{EnvRequest, build_env};
use crate::error::LaunchError;
use crate::launcher::Launcher;
use crate::profile::Profile;
use crate::running::Cause;
use crate::session::{Folders, Session};
use crate::spec::{LaunchSpec, Limits, Network, Shape, Shell, Stdin};
use crate::uid::UidIsolation;

/// The most of a check's output that is read, in bytes.
const MAX_OUTPUT: u64 = 64 << 10;

/// Says what it sees, with nothing but the shell itself.
const LOOK: &str = r#"
while read -r name value; do
  case $name in Cap*|NoNewPrivs:) echo "$name $value";; esac
done </proc/self/status
while read -r name _; do echo "interface $name"; done </proc/net/dev
for folder in /proc/[0-9]*; do echo "process $folder"; done
(: >/workspace/try) 2>/dev/null && echo 'wrote /workspace'
(: >/tmp/try) 2>/dev/null && echo 'wrote /tmp'
(: >"$HOME/try") 2>/dev/null && echo 'wrote HOME'
(: >/var/tmp/try) 2>/dev/null && echo 'wrote /var/tmp'
"#;

/// One layer, and whether it was seen to hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// The layer, as a stable lower-case name.
    pub layer: &'static str,
    /// Whether it was seen to hold.
    pub enforced: bool,
    /// What was seen, or why it does not hold, in one line.
    pub detail: String,
}

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
        self.checks.iter().filter(|check| check.enforced).map(|check| check.layer)
    }

    /// The layers that do not.
    pub fn not_enforced(&self) -> impl Iterator<Item = &'static str> {
        self.checks.iter().filter(|check| !check.enforced).map(|check| check.layer)
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
        for layer in ["seccomp", "landlock", "cgroup", "disk_quota", "protected_names"] {
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
                Ok(seen) => checks.push(only_loopback("session_net", &seen)),
                Err(cause) => checks.push(missing("session_net", &cause)),
            }
        }
        let shape = Shape { read_only: true, network: Network::Empty };
        match self.look_inside(profile, &session, shape) {
            Ok(seen) => checks.extend(inside_checks(&seen)),
            Err(cause) => checks.push(missing("sandbox", &cause)),
        }
        checks
    }

    fn look_inside(&self, profile: &Profile, session: &Session, shape: Shape) -> Result<String, String> {
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
        let mut seen = String::new();
        let read = File::from(running.streams.stdout).take(MAX_OUTPUT).read_to_string(&mut seen);
        let ended = running.waiter.wait();
        match (read, ended.cause) {
            (Ok(_), Cause::Exited(_)) => Ok(seen),
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
        Check {
            layer: "capabilities",
            enforced: seen.lines().filter(zero).count() == 5 && lines("Cap") == 5,
            detail: "five empty sets, or not".to_owned(),
        },
        Check {
            layer: "no_new_privs",
            enforced: seen.lines().any(|line| line == "NoNewPrivs: 1"),
            detail: "as /proc/self/status says".to_owned(),
        },
        Check {
            layer: "fresh_proc",
            enforced: (1..=3).contains(&processes),
            detail: format!("{processes} processes in sight"),
        },
        only_loopback("empty_net", seen),
        Check {
            layer: "read_only",
            enforced: written == ["/var/tmp"],
            detail: format!("could write: {}", written.join(" ")),
        },
    ]
}

fn only_loopback(layer: &'static str, seen: &str) -> Check {
    // The first two lines are the head of the table.
    let names: Vec<_> = seen.lines().filter_map(|line| line.strip_prefix("interface ")).skip(2).collect();
    Check { layer, enforced: names == ["lo:"], detail: format!("interfaces: {}", names.join(" ")) }
}

fn uid_check(isolation: UidIsolation) -> Check {
    match isolation {
        UidIsolation::PerSession => Check {
            layer: "uid_isolation",
            enforced: true,
            detail: "each session has a host uid of its own".to_owned(),
        },
        UidIsolation::None => missing("uid_isolation", "the runner cannot change uid"),
    }
}

fn missing(layer: &'static str, cause: &str) -> Check {
    Check { layer, enforced: false, detail: cause.to_owned() }
}

fn describe(error: &LaunchError) -> String {
    let hint = error.hint().map(|hint| format!(" (try: {hint})")).unwrap_or_default();
    format!("{}: {error}{hint}", error.step())
}
