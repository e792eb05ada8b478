//! Programs that start a shell if no command follows. The commands of that shell are unknown.

use airlock_policy::Verdict;

use crate::support::with_rules;

/// Each program without a command and with one.
const STARTS: &[(&str, &str)] = &[
    ("setarch x86_64", "setarch x86_64 ls"),
    ("setarch -R", "setarch -R x86_64 ls"),
    ("linux32", "linux32 ls"),
    ("linux64 -v", "linux64 -v ls"),
    ("i386", "i386 ls"),
    ("x86_64", "x86_64 ls"),
    ("chroot d", "chroot d ls"),
    ("unshare -r", "unshare -r ls"),
    ("nsenter -t 1 -a", "nsenter -t 1 -a ls"),
    ("script f", "script -c ls f"),
    ("fakeroot", "fakeroot ls"),
    ("fakechroot", "fakechroot ls"),
    ("pkexec", "pkexec ls"),
    ("sudo -s", "sudo -s ls"),
    ("sudo -u a -i", "sudo -u a -i ls"),
    ("doas -s", "doas -s ls"),
    ("systemd-run -S", "systemd-run ls"),
    ("podman unshare", "podman unshare ls"),
    ("nix-shell x.nix", "nix-shell --run ls x.nix"),
    ("nix develop", "nix develop -c ls"),
    ("guix shell", "guix shell -- ls"),
    ("npx", "npx ls"),
    ("npm exec", "npm exec ls"),
    ("aws-vault exec a", "aws-vault exec a -- ls"),
];

/// Programs that always start a user's shell.
const LOGIN: &[&str] = &["newgrp", "newgrp g", "sg g", "su", "su a", "runuser a", "poetry shell"];

/// Programs that read commands in their own language.
const OWN: &[&str] = &["gdb", "lldb", "expect", "tmux", "screen", "firejail", "proot"];

fn asked(command: &str) -> bool {
    let decision = with_rules(command, &["Bash"], &[], &[]);
    decision.verdict == Verdict::Ask && !decision.parse_complete
}

#[test]
fn a_shell_for_want_of_a_command_is_asked_about() {
    for (without, with) in STARTS {
        assert!(asked(without), "{without}");
        assert!(asked(&format!("{without} <<< ls")), "{without}");
        assert!(asked(&format!("echo ls | {without}")), "{without}");
        assert!(!asked(with), "{with}");
    }
    for command in LOGIN.iter().chain(OWN) {
        assert!(asked(command), "{command}");
    }
    for command in OWN {
        assert!(asked(&format!("{command} <<< ls")), "{command}");
    }
}

#[test]
fn a_deny_rule_sees_what_such_a_shell_reads() {
    let login = LOGIN.iter().copied();
    for command in STARTS.iter().map(|(without, _)| *without).chain(login) {
        let denied = |text: &str| with_rules(text, &["Bash"], &[], &["Bash(rm:*)"]).verdict;
        assert_eq!(denied(&format!("{command} <<< 'rm x'")), Verdict::Deny, "{command}");
        assert_eq!(denied(&format!("{command} <<'E'\nrm x\nE")), Verdict::Deny, "{command}");
        assert_ne!(denied(&format!("{command} <<< 'ls x'")), Verdict::Deny, "{command}");
    }
}
