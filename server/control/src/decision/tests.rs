//! Tests of the consequences of a decision and an answer, and of the resulting grants.

use airlock_domain::{
    ApprovalId, BoundFile, EditPreview, ExecutionState, FilePreview, FileState, Requirement,
};
use airlock_store::{
    record::{Micros, Verdict},
    testing::records::record,
};

use airlock_policy::Profile;

use super::*;
use crate::profiles::{ProfileNetwork, Profiles};

fn decided(command: &str, directory: &str) -> Decided {
    decided_with(command, directory, &SessionSnapshot::default())
}

fn decided_with(command: &str, directory: &str, snapshot: &SessionSnapshot) -> Decided {
    decided_by("demo", command, directory, snapshot)
}

fn decided_by(profile: &str, command: &str, directory: &str, snapshot: &SessionSnapshot) -> Decided {
    let profiles = Profiles::builtin();
    let mut spec = record(ExecutionState::Queued).spec;
    spec.command.text = command.as_bytes().to_vec();
    // The same session for all, so that bindings can be compared.
    let session = "0198f000-0000-7000-8000-000000000000".parse().unwrap();
    let encode: DecisionEncoder = |_, profile, _| profile.as_bytes().to_vec();
    decide(
        profiles.get(profile).unwrap(),
        (session, None),
        &spec,
        (spec.mode, false),
        (directory.as_bytes(), snapshot),
        encode,
    )
}

fn approval(state: ApprovalState, binding: Binding) -> ApprovalRecord {
    let about = record(ExecutionState::PendingApproval);
    ApprovalRecord {
        id: ApprovalId::new(),
        execution_id: about.id,
        session_id: about.session_id,
        tenant: about.tenant,
        principal: about.principal,
        state,
        binding: *binding.as_bytes(),
        command: about.spec.command.text,
        shell: about.spec.command.shell,
        directory: about.spec.command.directory,
        description: String::new(),
        decision: about.decision,
        created: Micros(0),
        expires: Micros(0),
        decided_by: String::new(),
        files: Vec::new(),
        terms: Vec::new(),
        connection: None,
        reason: String::new(),
    }
}

#[test]
fn what_is_allowed_is_placed_with_the_hash_of_its_grant() {
    let decided = decided("touch a", "/workspace");
    let binding = decided.binding;
    let Ruling::Place(offer) = decided.rule(None) else { panic!("not placed") };
    let (grant, bound) = offer.into_parts();
    assert_eq!((bound, &bound), (grant.binding(), binding.as_bytes()));
}

#[test]
fn an_ask_is_placed_only_with_a_yes_to_exactly_it() {
    let ask = || decided("make all", "/workspace");
    let yes = approval(ApprovalState::Allowed, ask().binding);
    assert!(matches!(ask().rule(Some(&yes)), Ruling::Place(_)));
    assert!(matches!(ask().rule(None), Ruling::Ask));
    for state in
        [ApprovalState::Open, ApprovalState::Denied, ApprovalState::Expired, ApprovalState::Withdrawn]
    {
        assert!(matches!(ask().rule(Some(&approval(state, ask().binding))), Ruling::Ask), "{state:?}");
    }
    let elsewhere = decided("make all", "/workspace/src");
    assert!(matches!(elsewhere.rule(Some(&yes)), Ruling::Ask), "the directory has changed");
    assert!(matches!(decided("make clean", "/workspace").rule(Some(&yes)), Ruling::Ask));
}

#[test]
fn no_answer_lifts_a_deny() {
    let deny = || decided("git push", "/workspace");
    let yes = approval(ApprovalState::Allowed, deny().binding);
    assert!(matches!(deny().rule(Some(&yes)), Ruling::Deny));
}

#[test]
fn a_grant_takes_from_the_decision_what_the_runner_must_give() {
    let reads = decided("ls", "/workspace").grant;
    assert!(reads.read_only && !reads.keep_directory);
    assert_eq!(reads.requires, [Requirement::ReadOnlyMount, Requirement::TrustedPath]);
    let moves = decided("cd src", "/workspace").grant;
    assert!(moves.read_only && moves.keep_directory);
    let writes = decided("touch a", "/workspace").grant;
    assert!(!writes.read_only && writes.keep_directory && !writes.unsandboxed);
}

/// Returns the layers of the grant of a command with a network, in this mode.
fn network_of(command: &str, mode: Mode, unsandboxed: bool) -> Vec<NetworkRules> {
    let only = |allow: &str| NetworkRules { allow: vec![allow.to_owned()], ..NetworkRules::default() };
    let policy = Profile::from_toml(
        "name = \"p\"\nextends = \"sandboxed\"\n[policy]\nallow_unsandboxed = true\n",
        "p.toml",
        &|name| Profile::builtin(name),
    );
    let mut profile = ResolvedProfile::clone(Profiles::builtin().get("sandboxed").unwrap());
    (profile.policy, profile.network) = (policy.unwrap(), ProfileNetwork::new(only("profile.example")));
    let mut spec = record(ExecutionState::Queued).spec;
    spec.command.text = command.as_bytes().to_vec();
    spec.command.network = Some(only("request.example"));
    spec.dangerously_disable_sandbox = unsandboxed;
    let (session, snapshot) = (only("session.example"), SessionSnapshot::default());
    let of = (SessionId::new(), Some(&session));
    let decided = decide(&profile, of, &spec, (mode, true), (b"/workspace", &snapshot), |_, _, _| Vec::new());
    assert_eq!(decided.grant.unsandboxed, unsandboxed, "{command}");
    decided.grant.egress
}

#[test]
fn a_grant_has_the_network_of_profile_session_and_request() {
    let layers = network_of("make all", Mode::Default, false);
    let allowed: Vec<&str> = layers.iter().flat_map(|rules| &rules.allow).map(String::as_str).collect();
    assert_eq!(allowed, ["profile.example", "session.example", "request.example"]);
}

#[test]
fn read_only_commands_mode_plan_and_commands_outside_the_sandbox_have_no_network() {
    for (command, mode, unsandboxed) in [
        ("ls", Mode::Default, false),
        ("ls", Mode::Plan, false),
        ("make all", Mode::Plan, false),
        ("curl https://example.com", Mode::Plan, false),
        ("make all", Mode::Default, true),
    ] {
        assert_eq!(network_of(command, mode, unsandboxed), [], "{command} {mode:?}");
    }
    assert_eq!(network_of("make all", Mode::Default, false).len(), 3, "the control");
}

#[test]
fn an_answer_does_not_hold_for_another_network() {
    let decided = |allow: &str| {
        let mut profile = ResolvedProfile::clone(Profiles::builtin().get("demo").unwrap());
        profile.network =
            ProfileNetwork::new(NetworkRules { allow: vec![allow.to_owned()], ..NetworkRules::default() });
        let mut spec = record(ExecutionState::Queued).spec;
        spec.command.text = b"make all".to_vec();
        let session = "0198f000-0000-7000-8000-000000000000".parse().unwrap();
        let place = (&b"/workspace"[..], &SessionSnapshot::default());
        decide(&profile, (session, None), &spec, (spec.mode, false), place, |_, _, _| Vec::new())
    };
    let yes = approval(ApprovalState::Allowed, decided("a.example").binding);
    assert!(matches!(decided("a.example").rule(Some(&yes)), Ruling::Place(_)));
    assert!(matches!(decided("b.example").rule(Some(&yes)), Ruling::Ask));
}

#[test]
fn a_permit_for_one_grant_places_no_other() {
    let one = decided("touch a", "/workspace");
    let other = decided("touch b", "/workspace");
    let permit = one.decision.permit(one.binding).unwrap();
    assert!(Offer::new(other.grant, permit).is_none());
    let mut wider = decided("ls", "/workspace");
    let permit = wider.decision.permit(wider.binding).unwrap();
    wider.grant.read_only = false;
    assert!(Offer::new(wider.grant, permit).is_none());
}

#[test]
fn a_fault_inside_the_policy_is_an_ask_of_its_own_kind() {
    let decision = after_fault(Profiles::builtin().get("sandboxed").unwrap());
    assert_eq!(
        (decision.verdict, decision.reasons[0].code),
        (airlock_policy::Verdict::Ask, "internal_fault")
    );
    assert!(decision.permit(Binding::new([0; 32])).is_none());
}

/// Decides in the mode `accept_edits`, which relies on paths.
fn edits(command: &str) -> Decided {
    let mut spec = record(ExecutionState::Queued).spec;
    spec.command.text = command.as_bytes().to_vec();
    let session = "0198f000-0000-7000-8000-000000000000".parse().unwrap();
    let encode: DecisionEncoder = |decision, _, _| decision.reasons[0].code.as_bytes().to_vec();
    let profiles = Profiles::builtin();
    decide(
        profiles.get("demo").unwrap(),
        (session, None),
        &spec,
        (Mode::AcceptEdits, false),
        (b"/workspace", &SessionSnapshot::default()),
        encode,
    )
}

#[test]
fn a_person_lifts_the_requirement_of_a_trusted_path_for_exactly_that_command() {
    let first = edits("touch a");
    assert_eq!(first.grant.requires, [Requirement::TrustedPath]);
    let refused = *first.binding.as_bytes();
    let question = first.question(UNTRUSTED_PATH, "`touch` is not what it was", "demo", |decision, _, _| {
        decision.reasons[0].code.as_bytes().to_vec()
    });
    let question = question.unwrap();
    assert_eq!(
        (question.record.verdict, question.record.reason_code.as_str()),
        (Verdict::Ask, UNTRUSTED_PATH)
    );
    assert_eq!(question.record.encoded, UNTRUSTED_PATH.as_bytes());
    assert_ne!(question.binding.as_bytes(), &refused, "another grant, so another hash");

    let yes = approval(ApprovalState::Allowed, question.binding);
    let Ruling::Place(offer) = edits("touch a").rule(Some(&yes)) else { panic!("not placed") };
    assert!(offer.is_lifted());
    let (grant, binding) = offer.into_parts();
    assert_eq!((grant.requires.as_slice(), binding), ([].as_slice(), yes.binding));

    for (command, state) in [("touch b", ApprovalState::Allowed), ("touch a", ApprovalState::Open)] {
        let other = approval(state, question.binding);
        let Ruling::Place(offer) = edits(command).rule(Some(&other)) else { panic!("not placed") };
        assert!(!offer.is_lifted(), "{command}");
        assert_eq!(offer.into_parts().0.requires, [Requirement::TrustedPath], "{command}");
    }
}

#[test]
fn nobody_lifts_what_is_required_of_a_read_only_command() {
    let reads = edits("ls");
    assert_eq!(reads.grant.requires, [Requirement::ReadOnlyMount, Requirement::TrustedPath]);
    assert!(reads.question(UNTRUSTED_PATH, "x", "demo", |_, _, _| Vec::new()).is_none());
    assert!(
        edits("make").question(UNTRUSTED_PATH, "x", "demo", |_, _, _| Vec::new()).is_none(),
        "the decision has no requirement"
    );
}

#[test]
fn a_person_may_run_a_read_only_command_whose_program_obeys_a_file_that_names_another() {
    let strict = |command: &str| decided_by("strict", command, "/workspace", &SessionSnapshot::default());
    let reads = strict("cargo tree");
    let obeyed = &reads.grant.decided.obeyed;
    let has = |path: &str| obeyed.iter().any(|files| files.paths.iter().any(|known| known == path));
    assert!(has("/workspace/.cargo/config.toml") && has("/home/agent/.cargo/config.toml"), "{obeyed:?}");
    assert!(strict("ls").grant.decided.obeyed.is_empty());

    let question =
        reads.question(NAMES_A_PROGRAM, "a file names a program", "demo", |_, _, _| Vec::new()).unwrap();
    assert_eq!(
        (question.record.verdict, question.record.reason_code.as_str()),
        (Verdict::Ask, NAMES_A_PROGRAM)
    );
    let yes = approval(ApprovalState::Allowed, question.binding);
    let Ruling::Place(offer) = strict("cargo tree").rule(Some(&yes)) else { panic!("not placed") };
    let (grant, _) = offer.into_parts();
    assert!(grant.read_only && grant.decided.obeyed.is_empty());
    assert_eq!(
        grant.requires,
        [Requirement::ReadOnlyMount, Requirement::TrustedPath],
        "the mounts stay read-only"
    );
    assert!(strict("ls").question(NAMES_A_PROGRAM, "x", "demo", |_, _, _| Vec::new()).is_none());
}

#[test]
fn more_than_a_runner_can_be_told_is_asked_about() {
    let many: String = (0..=airlock_domain::limits::DECIDED_PATHS).map(|index| format!(" {index}")).collect();
    let decided = edits(&format!("touch{many}"));
    assert_eq!(decided.record.verdict, Verdict::Ask);
    assert_eq!(decided.record.reason_code, "too_much_to_check");
    assert!(decided.grant.requires.is_empty() && decided.grant.decided.paths.is_empty());
    assert!(matches!(decided.rule(None), Ruling::Ask));
    let reads = edits(&format!("cat{many}"));
    assert_eq!(reads.record.verdict, Verdict::Allow, "a read-only command changes no file");
}

#[test]
fn a_snapshot_is_bound_where_it_is_sourced_and_what_it_says_of_names_counts() {
    let of = |text: &str| SessionSnapshot { text: text.as_bytes().to_vec(), problem: String::new() };
    let harmless = of("# PATH=/usr/bin\nalias ll='ls -l'\n");
    let with = |command: &str| decided_with(command, "/workspace", &harmless);
    let without = |command: &str| decided(command, "/workspace");
    assert_eq!(with("touch a").grant.snapshot_digest, harmless.digest());
    assert_ne!(with("touch a").binding, without("touch a").binding, "the field is in the hash");
    // A read-only command runs without the snapshot.
    assert!(with("ls").decision.read_only && with("ls").grant.snapshot_digest.is_empty());
    let yes = approval(ApprovalState::Allowed, with("make all").binding);
    assert!(matches!(with("make all").rule(Some(&yes)), Ruling::Place(_)));
    assert!(
        matches!(without("make all").rule(Some(&yes)), Ruling::Ask),
        "an approval also covers the sourced snapshot"
    );
    // A function can do anything under the name of a read-only program. An alias is expanded and decided.
    let deletes = of("ls () \n{ \n    rm -rf x\n}\n");
    assert!(matches!(decided_with("ls", "/workspace", &deletes).rule(None), Ruling::Ask));
    let pushes = of("alias ll='git push'\n");
    assert!(matches!(decided_with("ll", "/workspace", &pushes).rule(None), Ruling::Deny));
    assert!(matches!(without("ll").rule(None), Ruling::Place(_)), "the control");
}

/// Decides with the profile `strict`, which asks about scripts.
fn asks(command: &str) -> Decided {
    let mut spec = record(ExecutionState::Queued).spec;
    spec.command.text = command.as_bytes().to_vec();
    let session = "0198f000-0000-7000-8000-000000000000".parse().unwrap();
    let profiles = Profiles::builtin();
    let mode = (Mode::Default, false);
    decide(
        profiles.get("strict").unwrap(),
        (session, None),
        &spec,
        mode,
        (b"/workspace", &SessionSnapshot::default()),
        |_, _, _| Vec::new(),
    )
}

fn bound(path: &str, state: FileState) -> BoundFile {
    BoundFile { path: path.as_bytes().to_vec(), state }
}

fn looked(files: Vec<BoundFile>) -> Looked {
    Looked { files, preview: None }
}

/// Returns a preview of an edit of `f` with this result.
fn preview(after: [u8; 32]) -> EditPreview {
    let file = FilePreview {
        path: b"/workspace/f".to_vec(),
        before: [1; 32],
        after,
        before_bytes: 1,
        after_bytes: 1,
        mode: 0o644,
        is_binary: false,
        replaces_link: false,
        diff: b"-a\n+b\n".to_vec(),
        is_truncated: false,
        backup: None,
    };
    EditPreview { files: vec![file] }
}

#[test]
fn an_answer_to_an_edit_is_bound_to_its_inputs_and_its_results() {
    const EDIT: &str = "sed -i s/a/b/ f";
    let question = asks(EDIT);
    let of = |after| {
        let preview = preview(after);
        asked(&question.grant, Looked { files: edit::states(&preview), preview: Some(Ok(preview)) })
    };
    let about = of([2; 32]);
    let yes = ApprovalRecord {
        files: about.files.clone(),
        terms: about.terms.clone(),
        ..approval(ApprovalState::Allowed, about.binding)
    };
    let Ruling::Place(offer) = asks(EDIT).rule(Some(&yes)) else { panic!("not placed") };
    let (grant, binding) = offer.into_parts();
    assert_eq!((grant.decided.files, binding), (about.files, yes.binding));
    assert_eq!(grant.decided.edit.unwrap().files[0].result, Some([2; 32]));

    let other_result = ApprovalRecord { terms: of([3; 32]).terms, ..yes.clone() };
    let other_input =
        ApprovalRecord { files: vec![bound("/workspace/f", FileState::Digest([9; 32]))], ..yes.clone() };
    let no_preview = ApprovalRecord { terms: Vec::new(), ..yes.clone() };
    let no_files = ApprovalRecord { files: Vec::new(), ..yes.clone() };
    for forged in [other_result, other_input, no_preview, no_files] {
        assert!(matches!(asks(EDIT).rule(Some(&forged)), Ruling::Ask));
    }
    assert!(matches!(asks("sed -i s/a/c/ f").rule(Some(&yes)), Ruling::Ask), "another script");
    assert!(matches!(asks("sed -i s/a/b/ g").rule(Some(&yes)), Ruling::Ask), "another file");
}

#[test]
fn an_answer_without_a_preview_is_not_one_for_an_edit() {
    let question = asks("sed -i s/a/b/ f");
    let missing = Looked { files: Vec::new(), preview: Some(Err("no runner".to_owned())) };
    let about = asked(&question.grant, missing);
    let yes = ApprovalRecord { terms: about.terms, ..approval(ApprovalState::Allowed, about.binding) };
    let Ruling::Place(offer) = asks("sed -i s/a/b/ f").rule(Some(&yes)) else { panic!("not placed") };
    let (grant, _) = offer.into_parts();
    assert_eq!((grant.decided.edit, grant.decided.files), (None, Vec::new()), "an ordinary command");
}

#[test]
fn an_answer_is_bound_to_the_files_as_they_were_looked_at() {
    let question = asks("bash x.sh && ./y");
    let files = |x| vec![bound("/workspace/x.sh", x), bound("/workspace/y", FileState::Absent)];
    let any = [bound("/workspace/x.sh", FileState::Any), bound("/workspace/y", FileState::Any)];
    assert_eq!(question.grant.decided.files, any);
    let shown = files(FileState::Digest([1; 32]));
    let about = asked(&question.grant, looked(shown.clone()));
    assert_ne!(about.binding, question.binding);
    let yes = ApprovalRecord { files: shown.clone(), ..approval(ApprovalState::Allowed, about.binding) };
    let Ruling::Place(offer) = asks("bash x.sh && ./y").rule(Some(&yes)) else { panic!("not placed") };
    let (grant, binding) = offer.into_parts();
    assert_eq!(
        (grant.decided.files, binding),
        (shown, yes.binding),
        "the runner receives the approved fields"
    );

    for other in [files(FileState::Digest([2; 32])), files(FileState::Any), Vec::new()] {
        let forged = ApprovalRecord { files: other, ..yes.clone() };
        assert!(matches!(asks("bash x.sh && ./y").rule(Some(&forged)), Ruling::Ask));
    }
    assert!(matches!(asks("bash z.sh").rule(Some(&yes)), Ruling::Ask));
}

#[test]
fn files_that_have_changed_are_a_question_and_more_than_can_be_bound_are_none() {
    let again = asks("bash x.sh").question(FILES_CHANGED, "changed", "strict", |_, _, _| Vec::new()).unwrap();
    assert_eq!(again.record.reason_code, FILES_CHANGED);
    assert_eq!(again.grant.decided.files.len(), 1);
    let many: String =
        (0..=airlock_domain::limits::BOUND_FILES).map(|index| format!(" ./s{index}")).collect();
    let much = asks(&format!("for x in 1; do python3 -c 1 $x; done; find .{many}"));
    assert_eq!(much.record.verdict, Verdict::Ask, "control: these files are only read");
    let runs: String = (0..33).map(|index| format!("python3 -m m{index};")).collect();
    let much = asks(&runs);
    assert_eq!((much.record.verdict, much.record.reason_code.as_str()), (Verdict::Deny, "too_many_files"));
}
