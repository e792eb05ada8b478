//! Attempts to read the runner's own environment, which is not visible inside the sandbox by any route.

use std::fs;
use std::os::fd::AsFd;

use crate::again::{self, Again};
use crate::host_state::HostState;
use crate::layer::Layer::Root;
use crate::row::find;
use crate::stage::Stage;
use crate::support::{Findings, PROBE};

/// The unique prefix of every secret value, in two halves.
const FIRST: &str = "9c41e7d0";
const SECOND: &str = "5ab2f836";
const EVERY_ROUTE: [&str; 8] = [
    "own environment",
    "environments",
    "arguments",
    "other files in /proc",
    "descriptors",
    "open files",
    "memory",
    "files",
];
const OTHERS: usize = 50;

/// Names that contain secrets, one per line.
const NAMES: &str = include_str!("secrets.txt");

fn secrets() -> Vec<(String, String)> {
    let listed = NAMES.lines().filter(|line| !line.starts_with('#')).map(str::to_owned);
    let twins: Vec<String> = listed.clone().map(|name| format!("INPUT_{name}")).collect();
    let others = (0..OTHERS).map(|index| format!("SOMETHING_ELSE_{index}"));
    let names: Vec<String> = listed.chain(twins).chain(others).collect();
    names.into_iter().map(|name| (name.clone(), format!("{FIRST}{SECOND}-{name}"))).collect()
}

/// Searches a process for secrets: in its environment, its arguments, a file of its state, and an inherited descriptor.
fn searched(test: &'static str, read_only: bool, user: bool) {
    let (secrets, word) = (secrets(), format!("{FIRST}{SECOND}"));
    if !again::is_it() {
        let before = HostState::now();
        let uid = again::run(test, &Again { user, env: secrets, word: Some(word) });
        before.assert_unchanged(&[uid][..usize::from(user)]);
        return;
    }
    for (name, value) in &secrets {
        assert_eq!(std::env::var(name).as_ref(), Ok(value), "this process has the secret");
    }
    assert!(std::env::args().any(|given| given == word));
    let mut stage = Stage::new();
    let state = stage.fill("{state}");
    fs::write(&state, &word).unwrap();
    let leaked = fs::File::open(&state).unwrap();
    rustix::io::fcntl_setfd(leaked.as_fd(), rustix::io::FdFlags::empty()).unwrap();

    let command = format!("{PROBE} search {FIRST} {SECOND}");
    let spec = if read_only { stage.host.read_only_spec(&command) } else { stage.host.spec(&command) };
    let findings = stage.host.probe_in(&stage.own, &spec);
    for route in EVERY_ROUTE {
        let (found, detail) = find(&findings, route);
        assert!(!found, "{route}: {detail}");
    }
    println!("stopped by {Root}: none of {} secrets was seen", secrets.len());
    given_on_purpose(&mut stage);
}

/// The control: the search finds a value that is passed by each route. `exec` sets the name of a process before its
/// arguments, so the search waits for the arguments.
fn given_on_purpose(stage: &mut Stage) {
    let (value, half) = (format!("{FIRST}{SECOND}-given"), FIRST);
    let shown = format!("/run/{value}");
    stage.host.profile = stage.host.profile.clone().with_bind("/usr/share", shown);
    let command = format!(
        "v={half}; v=${{v}}{SECOND}; echo $v > file; mkdir $v; exec 8< file 9< $v; \
         bash -c \"exec -a $v sleep 1000\" & \
         until read -rd '' a < /proc/$!/cmdline && [ $a = $v ]; do :; done; \
         {PROBE} search {FIRST} {SECOND}; kill $!"
    );
    let mut spec = stage.host.spec(command);
    spec.env.push(("GIVEN".into(), value.into()));
    let output = stage.host.run(&stage.own, &spec);
    let findings = Findings::parse(&output.stdout);
    for route in EVERY_ROUTE {
        let (found, detail) = find(&findings, route);
        assert!(found, "the control was not found by `{route}`: {detail}");
    }
}

#[test]
fn nothing_of_a_root_runners_environment_is_seen_by_any_route() {
    searched("secrets::nothing_of_a_root_runners_environment_is_seen_by_any_route", false, false);
}

#[test]
fn nothing_of_a_root_runners_environment_is_seen_by_a_read_only_command() {
    searched("secrets::nothing_of_a_root_runners_environment_is_seen_by_a_read_only_command", true, false);
}

#[test]
fn nothing_of_a_users_runners_environment_is_seen_by_any_route() {
    searched("secrets::nothing_of_a_users_runners_environment_is_seen_by_any_route", false, true);
}

#[test]
fn nothing_of_a_users_runners_environment_is_seen_by_a_read_only_command() {
    searched("secrets::nothing_of_a_users_runners_environment_is_seen_by_a_read_only_command", true, true);
}
