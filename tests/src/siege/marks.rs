//! The number of starts of each command, from its own record in the workspace.

use std::{collections::BTreeMap, fs, path::Path};

use crate::fleet::runner_name;

/// Returns the starts of commands on a runner of the fleet in this directory, by name.
pub(super) fn at(fleet: &Path, runner: &str) -> BTreeMap<String, u32> {
    let mut ran = BTreeMap::new();
    let sessions = fs::read_dir(fleet.join(runner).join("sessions")).into_iter().flatten().flatten();
    for session in sessions {
        let file = session.path().join("disk/workspace/ran.txt");
        for line in fs::read_to_string(file).unwrap_or_default().lines() {
            *ran.entry(line.to_owned()).or_default() += 1;
        }
    }
    ran
}

/// Returns the starts of commands on all runners.
pub(super) fn anywhere(fleet: &Path, runners: u8) -> BTreeMap<String, u32> {
    let mut all = BTreeMap::new();
    for number in 0..usize::from(runners) {
        for (name, count) in at(fleet, &runner_name(number)) {
            *all.entry(name).or_default() += count;
        }
    }
    all
}
