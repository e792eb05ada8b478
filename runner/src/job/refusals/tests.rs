//! Tests of the conversion of refusals to violations, and of its bounds.

use std::time::Duration;

use airlock_sandbox::{Landlock, Mask, MaskKind, MaskOrigin, Network, Profile, SessionDirectory, Shape};

use super::*;

fn ended(cause: sandbox::Cause) -> Ended {
    Ended {
        cause,
        cwd: None,
        leftovers: false,
        user: Duration::ZERO,
        system: Duration::ZERO,
        peak_memory: None,
        elapsed: Duration::ZERO,
        refused_calls: Vec::new(),
        processes_refused: 0,
    }
}

fn refusals() -> Refusals {
    let mask = Mask { directory: SessionDirectory::Workspace, path: "secret".into(), kind: MaskKind::Hidden };
    let shape = Shape { read_only: false, network: Network::Empty };
    let landlock = Landlock { abi: 7, tcp_denied: false };
    Refusals::new(&Profile::default(), shape, vec![(MaskOrigin::PathRules, mask)], landlock)
}

fn shown(violations: &[Violation]) -> Vec<(&str, &str, String)> {
    violations
        .iter()
        .map(|one| (one.layer.as_str(), one.kind.as_str(), String::from_utf8_lossy(&one.path).into_owned()))
        .collect()
}

#[test]
fn a_system_call_is_named_once_with_its_count_and_there_are_not_too_many() {
    let call = |count| RefusedCall { name: "mount", why: "changes mounts or the root", count };
    let found = calls(&[call(1), call(3)]);
    assert_eq!(found[0].detail, "the system call `mount` was refused: it changes mounts or the root");
    assert_eq!(found[1].detail, "the system call `mount` was refused 3 times: it changes mounts or the root");
    assert_eq!((found[0].layer.as_str(), found[0].kind.as_str()), ("seccomp", "mount"));
    let many = calls(&vec![call(1); 64]);
    assert_eq!(many.len(), NAMED + 1);
    assert_eq!(many[NAMED].detail, "44 more system calls were refused");
}

#[test]
fn limits_are_reported_as_the_cgroup_counts_them() {
    let exited = ended(sandbox::Cause::Exited(1));
    assert!(resources(&exited, 64).is_empty());
    let found = resources(&Ended { processes_refused: 9, ..exited }, 64);
    assert_eq!(found[0].detail, "the limit of 64 processes was reached 9 times");
    assert_eq!(found[0].action, ViolationAction::Reported);
    let found = resources(&ended(sandbox::Cause::OomKilled), 64);
    assert_eq!(shown(&found), [("resources", "memory", String::new())]);
    assert_eq!(found[0].action, ViolationAction::Failed);
}

#[test]
fn a_message_counts_only_if_the_sandbox_refuses_the_path_and_a_path_counts_once() {
    let text = b"cat: /workspace/secret/a: Permission denied\n\
        cat: /workspace/other: Permission denied\n\
        cat: ./b/../secret/a: Permission denied\n\
        touch: cannot touch '/usr/x': Read-only file system\n\
        echo: /etc/shadow: Permission denied\n";
    let found = paths(text, Path::new("/workspace"), &refusals());
    assert_eq!(
        shown(&found),
        [("masks", "path", "/workspace/secret/a".to_owned()), ("mounts", "path", "/usr/x".to_owned()),]
    );
    assert!(found.iter().all(|one| one.action == ViolationAction::Reported));
}

#[test]
fn forged_messages_cannot_fill_a_result() {
    let text: String = (0..1000).map(|n| format!("cat: /usr/{n}: Read-only file system\n")).collect();
    let found = paths(text.as_bytes(), Path::new("/workspace"), &refusals());
    assert_eq!(found.len(), NAMED);
}
