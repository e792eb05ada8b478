//! Tests of the floor. Also tests that a layer without an observation counts as missing.

use airlock_init::sight::{Attempt, Sight};

use super::*;

#[test]
fn every_layer_is_told_once_and_in_order_whatever_was_found() {
    let some = vec![Check::ok("read_only", "x"), Check::ok("kernel", "y"), Check::ok("capabilities", "z")];
    let all = complete(some);
    let names: Vec<&str> = all.iter().map(|check| check.name).collect();
    let layers = LAYERS.map(|layer| layer.name);
    assert_eq!(names, [&["kernel"][..], &layers].concat());
    let told: Vec<&str> = all.iter().filter(|check| check.is_enforced()).map(|check| check.name).collect();
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
    let of = |checks: &[Check], name: &str| checks.iter().find(|check| check.name == name).cloned().unwrap();
    let held = drawn(&session, &reader);
    assert!(of(&held, "read_only").is_enforced() && of(&held, "escapes").is_enforced(), "{held:#?}");

    let writes = Sight { writable: places(&["/workspace", "/var/tmp"]), ..reader.clone() };
    let found = drawn(&session, &writes);
    assert!(of(&found, "read_only").seen.contains("/workspace"), "{found:#?}");
    assert!(of(&found, "escapes").seen.contains("write /workspace (read-only)"), "{found:#?}");

    let worked = Attempt { name: "ptrace pid 1".to_owned(), errno: None };
    let traced = Sight { attempts: vec![worked], writable: places(&["/usr"]), ..session };
    let found = of(&drawn(&traced, &reader), "escapes");
    assert_eq!((found.state, found.seen.as_str()), (State::Missing, "not refused: ptrace pid 1, write /usr"));
}
