//! PowerShell text is not parsed. Deny and ask rules are matched with it. If there are such rules, no mode allows it.

use airlock_policy::{Decision, Mode, Profile, Request, Rules, Shell, Verdict, decide};

fn decided(shell: Shell, text: &str, mode: Mode, deny: &[&str], ask: &[&str]) -> Decision {
    let rules = Rules::parse(&[], ask, deny).unwrap();
    let request =
        Request { shell, mode: Some(mode), extra_rules: Some(&rules), ..Request::bash(text.as_bytes()) };
    decide(&request, &Profile::builtin("sandboxed").unwrap())
}

fn verdict(shell: Shell, text: &str, deny: &[&str]) -> Verdict {
    let verdicts = [Mode::Bypass, Mode::AcceptEdits, Mode::Default];
    let all = verdicts.map(|mode| decided(shell, text, mode, deny, &[]).verdict);
    assert!(all.iter().all(|one| *one == all[0]), "{text}: {all:?}");
    all[0]
}

#[test]
fn words_of_a_deny_rule_in_the_text_deny_it() {
    for text in [
        "remove-item x",
        "Remove-Item x",
        "Re`move-Item x",
        "re`\nmove; Remove`-Item x",
        "'Remove-Item' x",
        "& \"Remove-Item\" x",
        "Re''move-Item x",
        "\u{2018}Remove-Item\u{2019} x",
        "Remove\u{2013}Item x",
        "gci | %{Remove-Item $_}",
        "if ($true) {\n  REMOVE-ITEM x }",
        "iex \"$(Remove-Item x)\"",
    ] {
        assert_eq!(verdict(Shell::Pwsh, text, &["PowerShell(Remove-Item:*)"]), Verdict::Deny, "{text}");
    }
    for text in ["git push", "Get-Date; git `\n push -f", "GIT 'push'"] {
        assert_eq!(verdict(Shell::Pwsh, text, &["Bash(git push:*)"]), Verdict::Deny, "{text}");
    }
    for rule in ["PowerShell", "Bash", "PowerShell(Remove-*)"] {
        assert_eq!(verdict(Shell::Pwsh, "Remove-Item x", &[rule]), Verdict::Deny, "{rule}");
    }
}

#[test]
fn where_a_rule_forbids_anything_text_of_powershell_is_asked_about_in_every_mode() {
    for text in ["Get-Date", "iex ('Remove' + '-Item x')", "ri x", "push git"] {
        for rule in ["PowerShell(Remove-Item:*)", "Bash(git push:*)", "Read(.env)"] {
            assert_eq!(verdict(Shell::Pwsh, text, &[rule]), Verdict::Ask, "{text} with {rule}");
            let asked = decided(Shell::Pwsh, text, Mode::Bypass, &[], &[rule]);
            assert_eq!(asked.reasons[0].code, "powershell_opaque");
        }
    }
    let asked = decided(Shell::Pwsh, "remove-item x", Mode::Bypass, &[], &["PowerShell(Remove-Item:*)"]);
    assert_eq!((asked.verdict, asked.reasons[0].code), (Verdict::Ask, "ask_rule"));
    let plan = decided(Shell::Pwsh, "Get-Date", Mode::Plan, &["Bash(git push:*)"], &[]);
    assert_eq!(plan.verdict, Verdict::Deny);
    let free = decided(Shell::Pwsh, "Get-Date", Mode::Bypass, &[], &[]);
    assert_eq!(free.verdict, Verdict::Allow);
}

#[test]
fn powershell_that_bash_starts_is_held_by_the_same_rules() {
    let deny = &["Bash(git push:*)", "PowerShell(Remove-Item:*)"];
    for text in [
        "pwsh -c 'git push'",
        "pwsh -NoProfile -Command \"GIT  push\"",
        "powershell 're`move-item x'",
        "/usr/bin/pwsh -nop -c Remove-Item x",
        "sudo pwsh -c 'git push'",
        "bash -c 'pwsh -c \"git push\"'",
        "pwsh -nop <<'E'\ngit push\nE",
        "pwsh <<< 'git push'",
        "echo 'git push' | pwsh -",
        "ls; timeout 5 pwsh -c 'git push' &",
    ] {
        let decision = decided(Shell::Bash, text, Mode::Bypass, deny, &[]);
        assert_eq!(decision.verdict, Verdict::Deny, "{text}");
        assert!(decision.reasons[0].command_index.is_some() && decision.reasons[0].rule.is_some(), "{text}");
    }
    for text in [
        "pwsh -c 'Get-Date'",
        "pwsh -EncodedCommand ZwBpAHQAIABwAHUAcwBoAA==",
        "pwsh -c \"$x\"",
        "pwsh",
        "cat x | pwsh",
        "pwsh -File -",
    ] {
        assert_eq!(verdict(Shell::Bash, text, deny), Verdict::Ask, "{text}");
        let free = decided(Shell::Bash, text, Mode::Bypass, &[], &[]);
        assert_eq!(free.verdict, Verdict::Allow, "{text}");
    }
    for text in ["pwsh --version", "pwsh -NoProfile -File build.ps1 a", "pwsh ./x.ps1", "echo pwsh git push"]
    {
        let decision = decided(Shell::Bash, text, Mode::Bypass, deny, &[]);
        assert_eq!(decision.verdict, Verdict::Allow, "{text}: {:?}", decision.reasons);
    }
    assert_eq!(verdict(Shell::Bash, "git push", &["PowerShell(git push:*)"]), Verdict::Deny);
}
