//! Tests of the variables of session and request: each is treated like the same assignment in the
//! command's text.

use std::collections::BTreeMap;

use airlock_policy::{Decision, Mode, Profile, Request, Rules, Unsandboxed, Verdict, decide};

fn variables(pairs: &[(&str, &str)]) -> BTreeMap<String, Vec<u8>> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec())).collect()
}

/// Returns the decision about a text with this profile and environment.
fn decided(
    profile: &str,
    text: &str,
    env: &[(&str, &str)],
    rules: [&[&str]; 2],
    mode: Option<Mode>,
) -> Decision {
    let env = variables(env);
    let [allow, deny] = rules;
    let rules = Rules::parse(allow, &[], deny).unwrap();
    let request =
        Request { env: Some(&env), extra_rules: Some(&rules), mode, ..Request::bash(text.as_bytes()) };
    decide(&request, &Profile::builtin(profile).unwrap())
}

const STEERING: &[&str] = &[
    "RIPGREP_CONFIG_PATH",
    "KUBECONFIG",
    "RUSTUP_TOOLCHAIN",
    "CARGO_HOME",
    "TF_CLI_CONFIG_FILE",
    "GOENV",
    "GOROOT",
    "AWS_CONFIG_FILE",
    "CLOUDSDK_PYTHON",
    "BAT_PAGER",
    "DOTNET_STARTUP_HOOKS",
    "LESS",
    "PIP_INDEX_URL",
    "PYTHONPATH",
    "NODE_OPTIONS",
    "GIT_DIR",
    "LD_PRELOAD",
    "FOO",
];

#[test]
fn a_variable_off_the_safe_list_takes_the_read_only_verdict() {
    for name in STEERING {
        for text in ["rg foo", "ls", "git status && ls | head -3"] {
            let decision = decided("strict", text, &[(name, "x")], [&[], &[]], None);
            let code = decision.reasons[0].code;
            assert_eq!((decision.verdict, code), (Verdict::Ask, "environment"), "{name} {text}");
            assert!(!decision.read_only && decision.requires.is_empty(), "{name}");
            assert!(decision.reasons[0].message.contains(name), "{name}: {:?}", decision.reasons);
            let plan = decided("strict", text, &[(name, "x")], [&[], &[]], Some(Mode::Plan));
            assert_eq!(plan.verdict, Verdict::Deny, "{name}");
        }
    }
    for name in ["LANG", "TERM", "TZ", "NO_COLOR", "RUST_BACKTRACE", "PYTHONUNBUFFERED"] {
        let decision = decided("strict", "rg foo", &[(name, "x")], [&[], &[]], None);
        assert!(decision.verdict == Verdict::Allow && decision.read_only, "{name}");
    }
}

#[test]
fn it_takes_what_the_mode_and_rules_allow_too() {
    for name in STEERING.iter().chain(&["PATH", "HOME", "PAGER"]) {
        let env = &[(*name, "x")];
        let by_rule = decided("strict", "npm test", env, [&["Bash(npm test:*)"], &[]], None);
        assert_eq!(by_rule.verdict, Verdict::Ask, "{name}");
        assert!(by_rule.reasons.iter().any(|reason| reason.message.contains(name)), "{:?}", by_rule.reasons);
        let exact = decided("strict", "npm test", env, [&["Bash(npm test)"], &[]], None);
        assert_eq!(exact.verdict, Verdict::Ask, "{name}");
        let by_mode = decided("strict", "mkdir a && touch a/b", env, [&[], &[]], Some(Mode::AcceptEdits));
        assert_eq!(by_mode.verdict, Verdict::Ask, "{name}");
        let wrapped = decided("strict", "timeout 5 npm test", env, [&["Bash(npm test:*)"], &[]], None);
        assert_eq!(wrapped.verdict, Verdict::Ask, "{name}");
    }
    let safe = decided("strict", "npm test", &[("CI", "1")], [&["Bash(npm test:*)"], &[]], None);
    assert_eq!(safe.verdict, Verdict::Allow);
    let confined = decided("sandboxed", "npm test", &[("NODE_OPTIONS", "x")], [&[], &[]], None);
    assert_eq!(confined.reasons[0].code, "sandbox_auto_allow");
}

#[test]
fn the_same_assignment_in_the_text_comes_out_the_same() {
    let names = STEERING.iter().chain(&["LANG", "CI", "PS1", "EDITOR"]);
    for name in names {
        for (text, allow) in [("ls", &[][..]), ("npm test", &["Bash(npm test:*)"]), ("touch x", &[])] {
            for mode in [None, Some(Mode::AcceptEdits), Some(Mode::Plan)] {
                for profile in ["strict", "sandboxed"] {
                    let set = decided(profile, text, &[(name, "x")], [allow, &[]], mode);
                    let written = format!("{name}=x {text}");
                    let written = decided(profile, &written, &[], [allow, &[]], mode);
                    assert_eq!(set.verdict, written.verdict, "{name} {text} {mode:?} {profile}");
                }
            }
        }
    }
}

#[test]
fn variables_that_a_read_only_run_sets_are_ignored() {
    let env = [("PATH", "/workspace/bin"), ("HOME", "/etc"), ("PAGER", "git push"), ("GIT_PAGER", "x")];
    for text in ["git log", "ls", "cat ~/notes"] {
        let decision = decided("strict", text, &env, [&[], &["Bash(git push:*)"]], None);
        assert!(decision.verdict == Verdict::Allow && decision.read_only, "{text}: {:?}", decision.reasons);
    }
    // In other runs they count with their values.
    let removed = decided("sandboxed", "rm ~/passwd", &env[1..2], [&[], &[]], None);
    assert_eq!((removed.verdict, removed.reasons[0].code), (Verdict::Ask, "path_outside"));
    let pushed = decided("sandboxed", "make log", &env, [&[], &["Bash(git push:*)"]], Some(Mode::Bypass));
    assert_eq!(pushed.verdict, Verdict::Deny);
}

#[test]
fn rules_that_forbid_see_what_variables_hold() {
    let deny: [&[&str]; 2] = [&[], &["Bash(git push:*)"]];
    for (text, env) in [
        ("$X push", ("X", "git")),
        ("$X", ("X", "git push")),
        ("make", ("PAGER", "git push")),
        ("less f", ("LESSOPEN", "|git push %s")),
    ] {
        let decision = decided("sandboxed", text, &[env], deny, Some(Mode::Bypass));
        assert_eq!(decision.verdict, Verdict::Deny, "{text} with {env:?}");
    }
    let decision = decided("sandboxed", "echo $((x))", &[("x", "a[$(git push)]")], [&[], &[]], None);
    assert_eq!(decision.verdict, Verdict::Ask);
}

#[test]
fn nothing_else_lets_a_steering_variable_pass_without_a_question() {
    let env = variables(&[("PROMPT_COMMAND", "x")]);
    let request = Request { env: Some(&env), on_terminal: true, ..Request::bash(b"bash") };
    let sandboxed = Profile::builtin("sandboxed").unwrap();
    assert_ne!(decide(&request, &sandboxed).reasons[0].code, "terminal_shell");
    let text = "name = \"t\"\n[policy]\nallow_unsandboxed = true\nunsandboxed_without_asking = true\n";
    let profile = Profile::from_toml(text, "case.toml", &|_| None).unwrap();
    let outside = Some(Unsandboxed { floor_permits: true });
    let plain = Request { unsandboxed: outside, ..Request::bash(b"make") };
    assert_eq!(decide(&plain, &profile).verdict, Verdict::Allow, "the control");
    let with = Request { env: Some(&env), ..plain };
    assert_eq!(decide(&with, &profile).verdict, Verdict::Ask);
}
