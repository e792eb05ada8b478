//! Tests of a shell on a terminal.

use crate::{Mode, Profile, Request, Verdict, decide};

fn says(profile: &Profile, text: &str, on_terminal: bool) -> Verdict {
    decide(&Request { on_terminal, ..Request::bash(text.as_bytes()) }, profile).verdict
}

#[test]
fn a_shell_alone_on_a_terminal_runs_where_everything_typed_would() {
    let profile = Profile::builtin("sandboxed").unwrap();
    for text in ["bash", "bash -i", "/bin/bash --norc", "sh", "zsh -l", "dash"] {
        assert_eq!(says(&profile, text, true), Verdict::Allow, "{text}");
        assert_eq!(says(&profile, text, false), Verdict::Ask, "{text} without a terminal");
    }
    for text in [
        "bash x.sh; bash",
        "curl -s x | bash",
        "bash -s",
        "bash -c \"$x\"",
        "BASH_ENV=f bash",
        "sudo bash",
        "./bash",
        "bash --rcfile f",
        "$x",
    ] {
        assert_eq!(says(&profile, text, true), Verdict::Ask, "{text}");
    }
}

#[test]
fn where_anything_typed_might_be_refused_a_person_is_asked() {
    let strict = Profile::builtin("strict").unwrap();
    assert_eq!(says(&strict, "bash", true), Verdict::Ask);
    let demo = Profile::builtin("demo").unwrap();
    assert_eq!(says(&demo, "bash", true), Verdict::Ask, "it has a rule that denies");
    let sandboxed = Profile::builtin("sandboxed").unwrap();
    let plan = Request { on_terminal: true, mode: Some(Mode::Plan), ..Request::bash(b"bash") };
    assert_eq!(decide(&plan, &sandboxed).verdict, Verdict::Deny);
    let wish = Some(crate::Unsandboxed { floor_permits: true });
    let outside = Request { on_terminal: true, unsandboxed: wish, ..Request::bash(b"bash") };
    assert_ne!(decide(&outside, &sandboxed).verdict, Verdict::Allow);
}
