//! A hook's answer creates a permit only for the ASK of the last step, and only for its own binding.

use airlock_policy::{
    Answer, Binding, Decision, Mode, PermitError, Profile, Request, Shell, Unsandboxed, Verdict, decide,
};

const BINDING: [u8; 32] = [7; 32];

fn allowed_by_hook(decision: &Decision) -> Result<(), PermitError> {
    let answer = Answer { binding: Binding::new(BINDING), approved: true };
    decision.permit_with_hook(Binding::new(BINDING), &answer).map(drop)
}

fn profile(policy: &str) -> Profile {
    let text = format!("name = \"team\"\nextends = \"strict\"\n[policy]\n{policy}");
    Profile::from_toml(&text, "team.toml", &|_| None).unwrap()
}

fn with(policy: &str, command: &str) -> Decision {
    decide(&Request::bash(command.as_bytes()), &profile(policy))
}

#[test]
fn a_hook_can_allow_what_no_step_decides() {
    for command in ["make", "python3 script.py", "touch a && make", "echo x > file", "npm install"] {
        let decision = with("", command);
        assert_eq!(decision.verdict, Verdict::Ask, "{command}");
        assert_eq!(allowed_by_hook(&decision), Ok(()), "{command}");
    }
}

#[test]
fn a_hook_cannot_allow_what_a_rule_or_a_check_asks_about() {
    for (policy, command) in [
        ("ask = [\"Bash(make:*)\"]", "make all"),
        ("ask = [\"Bash(make:*)\"]", "sh -c 'make all'"),
        ("ask = [\"Edit(secret/**)\"]", "touch secret/x"),
        ("ask = [\"Network(example.org)\"]", "curl https://example.org/x"),
        ("", "touch /outside/x"),
        ("", "rm -rf ../../x"),
        ("", "echo x >> .bashrc"),
        ("", "$X --all"),
        ("", "make 'unclosed"),
        ("", "make\u{200b}x"),
        ("", "m\\ ake x"),
    ] {
        let decision = with(policy, command);
        assert_eq!(decision.verdict, Verdict::Ask, "{policy} {command}");
        assert_eq!(allowed_by_hook(&decision), Err(PermitError::NotLastStep), "{policy} {command}");
    }
}

#[test]
fn a_hook_cannot_allow_a_denial_or_change_an_allow() {
    let denied = with("deny = [\"Bash(make:*)\"]", "make all");
    assert_eq!(allowed_by_hook(&denied), Err(PermitError::Denied));
    let plan = Request { mode: Some(Mode::Plan), ..Request::bash(b"make") };
    let profile = profile("modes = [\"default\", \"plan\"]");
    assert_eq!(allowed_by_hook(&decide(&plan, &profile)), Err(PermitError::Denied));
    let control = Request { mode: Some(Mode::Default), ..Request::bash(b"make") };
    assert_eq!(allowed_by_hook(&decide(&control, &profile)), Ok(()));
    assert_eq!(allowed_by_hook(&with("", "ls")), Err(PermitError::NotLastStep));
}

#[test]
fn a_hook_cannot_allow_a_run_outside_the_sandbox_or_a_text_of_zsh() {
    let profile = profile("allow_unsandboxed = true");
    let outside =
        Request { unsandboxed: Some(Unsandboxed { floor_permits: true }), ..Request::bash(b"make") };
    let decision = decide(&outside, &profile);
    assert_eq!(decision.verdict, Verdict::Ask);
    assert_eq!(allowed_by_hook(&decision), Err(PermitError::NotLastStep));
    let zsh = Request { shell: Shell::Zsh, ..Request::bash(b"make") };
    let decision = decide(&zsh, &profile);
    assert_eq!(decision.verdict, Verdict::Ask);
    assert_eq!(allowed_by_hook(&decision), Err(PermitError::NotLastStep));
}

#[test]
fn an_answer_counts_for_its_own_binding_only() {
    let decision = with("", "make");
    let binding = Binding::new(BINDING);
    let other = Answer { binding: Binding::new([8; 32]), approved: true };
    assert_eq!(decision.permit_with_hook(binding, &other).map(drop), Err(PermitError::OtherBinding));
    let refused = Answer { binding, approved: false };
    assert_eq!(decision.permit_with_hook(binding, &refused).map(drop), Err(PermitError::Refused));
}
