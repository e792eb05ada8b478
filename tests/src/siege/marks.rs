//! How often each command began, by its own account in its workspace.

use std::{collections::BTreeMap, fs, path::Path};

use crate::fleet::runner_name;

/// Of the commands that ran at a runner of the fleet in this folder, by name.
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

/// Of those at any of so many runners.
pub(super) fn anywhere(fleet: &Path, runners: u8) -> BTreeMap<String, u32> {
    let mut all = BTreeMap::new();
    for number in 0..usize::from(runners) {
        for (name, count) in at(fleet, &runner_name(number)) {
            *all.entry(name).or_default() += count;
        }
    }
    all
}
