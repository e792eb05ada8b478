//! The capability report of a host. It is found by starting real sandboxes and trying to escape from them.
//!
//! Must not report a layer as enforced without an observation from inside a sandbox.

mod check;
mod facts;
mod host;
mod inside;
mod landlock;
mod layers;
mod observe;
mod shells;

use std::path::Path;

use airlock_init::wire::HostIds;
use serde::Serialize;

use crate::error::LaunchError;
use crate::launcher::Launcher;
use crate::profile::Profile;
use crate::session::Session;
use crate::spec::{Network, Shape};
use facts::{Facts, confined};
use inside::Observations;
use layers::lost;
use observe::{NotObserved, SESSION, Scratch, Targets};

pub use check::{Check, State};
pub use layers::{LAYER_NAMES, LAYERS, Layer, layer};
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

const READER: Shape = Shape { read_only: true, network: Network::Empty };

impl Launcher {
    /// Starts a session's sandbox and a read-only one, tries to escape from both, and reports the layers that hold.
    /// Then starts each shell once. Blocks for tens of milliseconds, and up to a second more if PowerShell is
    /// installed. `scratch` is a directory of the runner. It is left empty.
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
        let [in_session, as_reader] = [&in_session, &as_reader].map(|observation| Observations {
            sight: &observation.sight,
            here: &here,
            facts,
            owner: observation.owner,
        });
        checks.push(landlock::check(landlock, as_reader.sight.command_directory_writable));
        checks.extend(in_session.of_session());
        checks.extend(as_reader.of_reader());
        checks.extend(in_session.uid_isolation(ids));
        checks.push(inside::escapes(&in_session, &as_reader));
        Ok(self.shells(profile, &session))
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

#[cfg(test)]
mod tests;
