//! Tests of every combination of the three permissions, and of excluded commands.

use airlock_domain::{ExecutionState, Mode, SessionSnapshot};
use airlock_policy::Verdict;
use airlock_store::testing::records::record;

use crate::{
    decision::{Decided, decide},
    profiles::Profiles,
};

/// Decides a command. The keys are the permissions of request, profile and floor.
fn decided(command: &str, keys: (bool, bool, bool), more: &str) -> Decided {
    in_mode(command, keys, more, Mode::Default)
}

fn in_mode(command: &str, (request, profile, floor): (bool, bool, bool), more: &str, mode: Mode) -> Decided {
    let text =
        format!("name = \"p\"\nextends = \"sandboxed\"\n[policy]\nallow_unsandboxed = {profile}\n{more}\n");
    by_profile(command, &text, (request, floor), mode)
}

fn by_profile(command: &str, text: &str, (request, floor): (bool, bool), mode: Mode) -> Decided {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("p.toml"), text).unwrap();
    let profiles = Profiles::load(Some(directory.path())).unwrap();
    let mut spec = record(ExecutionState::Queued).spec;
    spec.command.text = command.as_bytes().to_vec();
    spec.dangerously_disable_sandbox = request;
    let session = "0198f000-0000-7000-8000-000000000000".parse().unwrap();
    decide(
        profiles.get("p").unwrap(),
        (session, None),
        &spec,
        (mode, floor),
        (b"/workspace", &SessionSnapshot::default()),
        |_, _, _| Vec::new(),
    )
}

/// Returns the verdict, the deciding reason, and whether the grant is for a run outside the sandbox.
fn outcome(decided: &Decided) -> (Verdict, &str, bool) {
    (decided.decision.verdict, &decided.record.reason_code, decided.grant.unsandboxed)
}

const ALL: (bool, bool, bool) = (true, true, true);

#[test]
fn each_of_the_eight_combinations_of_the_three_keys() {
    for profile in [false, true] {
        for floor in [false, true] {
            let sandboxed = decided("make", (false, profile, floor), "");
            assert_eq!(
                outcome(&sandboxed),
                (Verdict::Allow, "sandbox_auto_allow", false),
                "{profile} {floor}"
            );
        }
    }
    let refused = |profile, floor| decided("make", (true, profile, floor), "");
    assert_eq!(outcome(&refused(false, false)), (Verdict::Deny, "unsandboxed_profile", false));
    assert_eq!(outcome(&refused(false, true)), (Verdict::Deny, "unsandboxed_profile", false));
    assert_eq!(outcome(&refused(true, false)), (Verdict::Deny, "unsandboxed_floor", false));
    assert_eq!(outcome(&refused(true, true)), (Verdict::Ask, "unsandboxed", true));
}

#[test]
fn a_profile_may_do_without_asking_but_not_about_git_or_paths_outside() {
    let more = "unsandboxed_without_asking = true";
    assert_eq!(outcome(&decided("make", ALL, more)), (Verdict::Allow, "unsandboxed_allowed", true));
    for command in ["git status", "cat /etc/passwd", "make $(x", "ls /etc && make"] {
        assert_eq!(decided(command, ALL, more).decision.verdict, Verdict::Ask, "{command}");
    }
    for more in ["allow = [\"Bash(make:*)\"]", "modes = [\"bypass\", \"default\"]"] {
        assert_eq!(decided("make", ALL, more).decision.verdict, Verdict::Ask, "{more}");
        assert_eq!(in_mode("make", ALL, more, Mode::Bypass).decision.verdict, Verdict::Ask, "{more}");
    }
}

#[test]
fn outside_nothing_is_read_only() {
    let reads = decided("ls", ALL, "");
    assert!(!reads.grant.read_only && reads.grant.requires.is_empty() && reads.grant.unsandboxed);
    assert_eq!(in_mode("ls", ALL, "", Mode::Plan).decision.verdict, Verdict::Deny);
}

#[test]
fn what_is_excluded_stands_for_the_requests_key_and_for_no_other() {
    let more = "excluded_commands = [\"docker\", \"bazel build\"]";
    let outside = |command, profile, floor| decided(command, (false, profile, floor), more).grant.unsandboxed;
    for command in ["docker run x", "docker build . && bazel build //x", "bazel build | docker load"] {
        assert!(outside(command, true, true), "{command}");
        for (profile, floor) in [(false, false), (false, true), (true, false)] {
            assert!(
                !outside(command, profile, floor),
                "if a key is missing, the command runs sandboxed: {command}"
            );
        }
        let asked = decided(command, (false, true, true), more);
        assert_eq!(asked.decision.verdict, Verdict::Ask, "{command}");
    }
    let others = ["make", "docker run x; make", "docker x $(make)", "dockerx", "bazel", "bazel test", ""];
    let hidden = [
        "docker x; [[ a ]]",
        "docker x & (make)",
        "docker x; >f",
        "docker() { make; }; docker x",
        "if make; then docker x; fi",
        "docker x <(make)",
    ];
    for command in others
        .into_iter()
        .chain(["echo docker", "./docker x", "$D run", "docker 'x", "env docker x"])
        .chain(hidden)
    {
        assert!(!outside(command, true, true), "{command}");
    }
    let plan = in_mode("docker ps", (false, true, true), more, Mode::Plan);
    assert_eq!((plan.decision.verdict, plan.grant.unsandboxed), (Verdict::Allow, false));
}

#[test]
fn approver_and_audit_see_it_whatever_the_verdict_rests_on() {
    let ruled = decided("make", ALL, "ask = [\"Bash(make:*)\"]");
    assert_eq!(outcome(&ruled), (Verdict::Ask, "unsandboxed", true));
    assert!(ruled.decision.reasons.iter().any(|reason| reason.code == "ask_rule"));
    assert_ne!(ruled.binding, decided("make", (false, true, true), "ask = [\"Bash(make:*)\"]").binding);
}

#[test]
fn what_was_imported_as_excluded_runs_outside_with_all_keys_and_sandboxed_without() {
    let outside = |more: &str, command, floor| {
        let settings =
            format!(r#"{{"sandbox": {{"enabled": true, "excludedCommands": ["docker *"]{more}}}}}"#);
        let text = airlock_policy::import::import(&settings, "settings.json", "p").unwrap().toml;
        by_profile(command, &text, (false, floor), Mode::Default).grant.unsandboxed
    };
    let permits = r#", "allowUnsandboxedCommands": true"#;
    assert!(outside(permits, "docker build . && docker push x", true));
    assert!(!outside(permits, "docker build . && make", true));
    assert!(!outside(permits, "docker build .", false), "without the runner's key");
    assert!(!outside("", "docker build .", true), "without the profile's key");
}
