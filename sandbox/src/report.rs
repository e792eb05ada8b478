//! The capability report of a host. It is found by starting real sandboxes and trying to escape from them.
//!
//! Must not report a layer as enforced without an observation from inside a sandbox.

mod facts;
mod host;
mod inside;
mod layers;
mod observe;
mod shells;

use std::path::Path;

use airlock_init::wire::{HostIds, Landlock};
use serde::Serialize;

use crate::error::LaunchError;
use crate::launcher::Launcher;
use crate::profile::Profile;
use crate::session::Session;
use facts::{Facts, confined};
use inside::Observations;
use layers::lost;
use observe::{NotObserved, READER, SESSION, Scratch, Targets};

pub use layers::{Check, LAYER_NAMES, LAYERS, Layer, State, layer};
pub use shells::InstalledShell;

/// The layers that this host can enforce.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CapabilityReport {
    /// The checks of the host, then those of every layer of [`LAYERS`], each once.
    pub checks: Vec<Check>,
    /// The shells that were seen to execute a command in the profile's root.
    pub shells: Vec<InstalledShell>,
}

impl CapabilityReport {
    /// Returns the layers that keep commands from running: those of the floor and of `required` that do not hold fully.
    pub fn below_floor<'a>(&'a self, required: &'a [String]) -> impl Iterator<Item = &'a Check> {
        let needed = move |name: &str| {
            layer(name).is_some_and(|layer| layer.floor) || required.iter().any(|one| one == name)
        };
        self.checks.iter().filter(move |check| !check.is_enforced() && needed(check.name))
    }
}

/// Returns the report of a host on which no launcher can be created.
#[must_use]
pub fn unusable(error: &LaunchError) -> CapabilityReport {
    let NotObserved { cause, remedy } = NotObserved::from(error);
    let mut checks = vec![host::kernel(&Facts::read())];
    if error.step() == "bubblewrap" {
        checks.push(Check::missing("bubblewrap", &cause, lost("sandbox"), &remedy));
    }
    checks.push(Check::missing("sandbox", cause, lost("sandbox"), remedy));
    CapabilityReport { checks: complete(checks), shells: Vec::new() }
}

impl Launcher {
    /// Starts a session's sandbox and a read-only one, tries to escape from both, and reports the layers that hold.
    /// Then starts each shell. Blocks for tens of milliseconds, and up to some seconds more if PowerShell is installed.
    /// `scratch` is a directory of the runner. It is left empty.
    #[must_use]
    pub fn report(&self, profile: &Profile, scratch: &Path, ids: Option<HostIds>) -> CapabilityReport {
        let facts = Facts::read();
        let confined = confined(self.bwrap(), &["--args", "0"]);
        let confined = confined.as_deref();
        let mut checks = vec![host::kernel(&facts), host::bubblewrap(self, confined), host::git()];
        let mut shells = Vec::new();
        match self.observe_all(profile, scratch, ids, &facts, &mut checks) {
            Ok(found) => {
                shells = found;
                checks.push(Check::ok("sandbox", "two sandboxes were started, and checked from inside"));
            }
            Err(unobserved) => {
                let held =
                    checks.iter().find(|check| check.name == "user_namespaces" && !check.is_enforced());
                let held = held.map(|check| check.remedy.clone());
                checks.push(host::no_sandbox(unobserved, held.as_deref(), confined));
                checks.extend(host::masked_proc(&facts));
            }
        }
        checks.extend(host::no_uid_isolation(self.uid_isolation(), &facts));
        checks.extend(host::limits(self));
        CapabilityReport { checks: complete(checks), shells }
    }

    fn observe_all(
        &self,
        profile: &Profile,
        scratch: &Path,
        ids: Option<HostIds>,
        facts: &Facts,
        checks: &mut Vec<Check>,
    ) -> Result<Vec<InstalledShell>, NotObserved> {
        let net = self.session_net(ids).map_err(|error| NotObserved::from(&error));
        checks.push(host::user_namespaces(facts, net.as_ref().err()));
        let net = net?;
        let targets = Targets::set(scratch, ids)?;
        let own = Scratch::create(scratch, ids)?;
        let session = Session { directories: own.directories.clone(), ids, net: Some(net) };
        let here = airlock_init::sight::namespaces();
        let [in_session, as_reader] =
            [SESSION, READER].map(|shape| self.observe(profile, &session, shape, &targets.wanted));
        let (in_session, as_reader) = (in_session?, as_reader?);
        let landlock = as_reader.landlock;
        checks.push(host::violations(self, in_session.counts_calls && as_reader.counts_calls, landlock));
        let [in_session, as_reader] = [&in_session, &as_reader].map(|observation| Observations {
            sight: &observation.sight,
            here: &here,
            facts,
            owner: observation.owner,
        });
        checks.push(landlock_check(landlock, as_reader.sight.command_directory_writable));
        checks.extend(in_session.of_session());
        checks.extend(as_reader.of_reader());
        checks.extend(in_session.uid_isolation(ids));
        checks.push(inside::escapes(&in_session, &as_reader));
        Ok(self.shells(profile, &session, checks))
    }
}

/// Returns the checks of the host, and those of all layers in order. A layer without a check counts as missing.
fn complete(checks: Vec<Check>) -> Vec<Check> {
    let is_layer = |check: &Check| layer(check.name).is_some();
    let (mut found, host): (Vec<Check>, Vec<Check>) = checks.into_iter().partition(is_layer);
    let mut all = host;
    for Layer { name, lost, .. } in LAYERS {
        match found.iter().position(|check| check.name == name) {
            Some(at) => all.push(found.swap_remove(at)),
            None => all.push(Check::missing(name, "it was not observed from inside a sandbox", lost, "")),
        }
    }
    all
}

const LANDLOCK: &str = "landlock";
const LANDLOCK_REMEDY: &str =
    "run a kernel from 6.12 on with `landlock` among the `lsm=` of its command line";

/// Compares the kernel's answer with the result of creating a file that only Landlock forbids. `made`: the file was
/// created.
fn landlock_check(landlock: Landlock, made: bool) -> Check {
    if !landlock.files() || made {
        let seen = format!("ABI {}, a file could be created: {made}", landlock.abi);
        return Check::missing(
            LANDLOCK,
            seen,
            "mounts and namespaces are the only layer that protects files",
            LANDLOCK_REMEDY,
        );
    }
    let parts = [
        (true, "files"),
        (landlock.tcp_denied, "TCP"),
        (landlock.devices(), "devices"),
        (landlock.scopes(), "signals and abstract sockets"),
    ];
    let named = |held: bool| {
        let names = parts.iter().filter(|(holds, _)| *holds == held).map(|(_, name)| *name);
        names.collect::<Vec<_>>().join(", ")
    };
    let seen = format!("ABI {}: {}", landlock.abi, named(true));
    match named(false) {
        missing if missing.is_empty() => Check::ok(LANDLOCK, seen),
        missing => {
            Check::degraded(LANDLOCK, seen, format!("no second layer protects {missing}"), LANDLOCK_REMEDY)
        }
    }
}

#[cfg(test)]
mod tests {
    use airlock_init::sight::{Attempt, Sight};

    use super::*;

    #[test]
    fn every_layer_is_told_once_and_in_order_whatever_was_found() {
        let some =
            vec![Check::ok("read_only", "x"), Check::ok("kernel", "y"), Check::ok("capabilities", "z")];
        let all = complete(some);
        let names: Vec<&str> = all.iter().map(|check| check.name).collect();
        let layers = LAYERS.map(|layer| layer.name);
        assert_eq!(names, [&["kernel"][..], &layers].concat());
        let told: Vec<&str> =
            all.iter().filter(|check| check.is_enforced()).map(|check| check.name).collect();
        assert_eq!(told, ["kernel", "capabilities", "read_only"]);
    }

    #[test]
    fn below_the_floor_is_what_the_floor_and_the_configuration_ask_for() {
        let report = CapabilityReport { checks: complete(Vec::new()), shells: Vec::new() };
        let names =
            |required: &[String]| report.below_floor(required).map(|check| check.name).collect::<Vec<_>>();
        let floor: Vec<&str> = LAYERS.iter().filter(|layer| layer.floor).map(|layer| layer.name).collect();
        assert_eq!(names(&[]), floor);
        assert_eq!(names(&["landlock".to_owned()]).len(), floor.len() + 1);
        assert_eq!(names(&["seccomp".to_owned()]), floor, "it already belongs to the floor");

        let all = LAYERS.iter().map(|layer| Check::ok(layer.name, "seen")).collect();
        let whole = CapabilityReport { checks: all, shells: Vec::new() };
        assert_eq!(whole.below_floor(&["landlock".to_owned()]).count(), 0);
        let mut part = whole;
        part.checks[4].state = State::Degraded;
        assert_eq!(part.below_floor(&[]).map(|check| check.name).collect::<Vec<_>>(), [LAYERS[4].name]);
    }

    /// Returns the checks that follow from the observations in a session's and in a read-only sandbox.
    fn drawn(session: &Sight, reader: &Sight) -> Vec<Check> {
        let facts = Facts::default();
        let seen = |sight| Observations { sight, here: &[], facts: &facts, owner: None };
        let mut checks = seen(session).of_session();
        checks.extend(seen(reader).of_reader());
        checks.push(inside::escapes(&seen(session), &seen(reader)));
        checks
    }

    #[test]
    fn from_nothing_seen_it_follows_that_nothing_holds() {
        let nothing = Sight::default();
        for check in drawn(&nothing, &nothing) {
            assert_eq!(check.state, State::Missing, "{check:?}");
        }
    }

    #[test]
    fn what_could_be_written_or_got_through_is_named() {
        let places = |all: &[&str]| all.iter().map(ToString::to_string).collect();
        let refused = Attempt { name: "mount a tmpfs".to_owned(), errno: Some(1) };
        let session = Sight {
            writable: places(&["/workspace", "/tmp"]),
            attempts: vec![refused.clone()],
            ..Sight::default()
        };
        let reader = Sight { writable: places(&["/var/tmp"]), attempts: vec![refused], ..Sight::default() };
        let of =
            |checks: &[Check], name: &str| checks.iter().find(|check| check.name == name).cloned().unwrap();
        let held = drawn(&session, &reader);
        assert!(of(&held, "read_only").is_enforced() && of(&held, "escapes").is_enforced(), "{held:#?}");

        let writes = Sight { writable: places(&["/workspace", "/var/tmp"]), ..reader.clone() };
        let found = drawn(&session, &writes);
        assert!(of(&found, "read_only").seen.contains("/workspace"), "{found:#?}");
        assert!(of(&found, "escapes").seen.contains("write /workspace (read-only)"), "{found:#?}");

        let worked = Attempt { name: "ptrace pid 1".to_owned(), errno: None };
        let traced = Sight { attempts: vec![worked], writable: places(&["/usr"]), ..session };
        let found = of(&drawn(&traced, &reader), "escapes");
        assert_eq!(
            (found.state, found.seen.as_str()),
            (State::Missing, "not refused: ptrace pid 1, write /usr")
        );
    }

    #[test]
    fn what_an_older_kernel_lacks_is_named() {
        let check = |abi| landlock_check(Landlock { abi, tcp_denied: abi >= 4 }, false);
        let cases = [
            (0, State::Missing, ""),
            (1, State::Missing, ""),
            (2, State::Degraded, "TCP, devices, signals and abstract sockets"),
            (4, State::Degraded, "devices, signals and abstract sockets"),
            (5, State::Degraded, "signals and abstract sockets"),
            (6, State::Ok, ""),
        ];
        for (abi, state, lost) in cases {
            let found = check(abi);
            assert_eq!(found.state, state, "{abi}");
            assert!(found.lost.ends_with(lost), "{found:?}");
        }
    }

    #[test]
    fn a_file_that_could_be_made_is_not_out_of_reach() {
        let landlock = Landlock { abi: 7, tcp_denied: true };
        assert_eq!(landlock_check(landlock, true).state, State::Missing);
    }
}
