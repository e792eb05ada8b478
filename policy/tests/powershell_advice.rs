//! The parts of a decision about PowerShell other than the verdict, the protection of names, and the mode that accepts
//! edits. Attacks and look-alikes are in `test_data/powershell_advice.toml`.

use airlock_policy::{
    Category, Decision, Mode, Profile, Request, Rules, Shell, Verdict, check, decide, parts,
};

use crate::cases::{Class, classes};

fn class(name: &str) -> Class {
    let classes = classes("powershell_advice.toml");
    classes.into_iter().find(|class| class.name == name).unwrap()
}

fn decided(text: &str, profile: &str, mode: Mode, allow: &[&str]) -> Decision {
    let none: &[&str] = &[];
    let rules = Rules::parse(allow, none, none).unwrap();
    let request = Request {
        shell: Shell::Pwsh,
        mode: Some(mode),
        extra_rules: Some(&rules),
        ..Request::bash(text.as_bytes())
    };
    decide(&request, &Profile::builtin(profile).unwrap())
}

fn strict(text: &str) -> Decision {
    decided(text, "strict", Mode::Default, &[])
}

/// Checks which texts of a class are allowed.
fn check_class(name: &str, allowed: &dyn Fn(&str) -> Decision) {
    let class = class(name);
    let mut wrong = Vec::new();
    for (at, text) in class.attacks.iter().enumerate() {
        let decision = allowed(text);
        if decision.verdict == Verdict::Allow {
            wrong.push(format!("attack {at}: {text}"));
        }
    }
    for (at, text) in class.lookalikes.iter().enumerate() {
        let decision = allowed(text);
        if decision.verdict != Verdict::Allow {
            wrong.push(format!("look-alike {at}: {text}: {:?}", decision.reasons));
        }
    }
    assert_eq!(wrong, [] as [&str; 0], "{name}: {wrong:#?}");
}

#[test]
fn no_rule_and_no_sandbox_allows_a_change_of_a_protected_name() {
    check_class("protected names", &|text| decided(text, "sandboxed", Mode::Default, &[]));
    check_class("protected names", &|text| decided(text, "strict", Mode::Default, &["PowerShell"]));
}

#[test]
fn the_mode_accept_edits_covers_edits_inside_the_workspace_only() {
    check_class("edits", &|text| decided(text, "strict", Mode::AcceptEdits, &[]));
}

#[test]
fn the_categories_of_cmdlets_are_those_of_the_same_programs() {
    for (text, category) in [
        ("Get-ChildItem", Category::List),
        ("gci sub", Category::List),
        ("Get-ChildItem -Recurse", Category::Search),
        ("dir -r", Category::Search),
        ("gci -Recurse:$false", Category::List),
        ("sls x a", Category::Search),
        ("gci -r | ? Name -like *.rs | select Name", Category::Search),
        ("Get-Content a", Category::Read),
        ("gc a | Sort-Object | Get-Unique", Category::Read),
        ("gc a | sls x", Category::Read),
        ("Write-Output 1", Category::Neutral),
        ("1..3 | % { $_ }", Category::Neutral),
        ("Remove-Item x", Category::Silent),
        ("Copy-Item a b; cd sub", Category::Silent),
        ("Copy-Item a b -PassThru", Category::Other),
        ("gci; make", Category::Other),
        ("Get-Process", Category::Other),
        ("ls", Category::List),
        ("grep x a", Category::Search),
        ("function gci { rm x }; gci", Category::Other),
    ] {
        assert_eq!(strict(text).category, category, "{text}");
    }
    assert!(strict("Remove-Item x").no_output_expected);
    assert!(!strict("Remove-Item x; gci").no_output_expected);
}

#[test]
fn destructive_commands_have_a_warning() {
    for (text, code) in [
        ("Remove-Item -Recurse build", "remove_item"),
        ("ri x -fo", "remove_item"),
        ("del x -r -Force", "remove_item"),
        ("1 | % { rd $_ -Recurse }", "remove_item"),
        ("iex 'ri -r build'", "remove_item"),
        ("Clear-Content x", "clear_content"),
        ("spps -Name x", "stop_process"),
        ("Restart-Computer", "stop_computer"),
        ("Set-ExecutionPolicy Bypass", "execution_policy"),
        ("cpi a b -Force", "overwrite_item"),
        ("iex $x", "runs_text"),
        ("saps x", "runs_text"),
        ("git reset --hard", "git_reset_hard"),
        ("git push --force origin x", "git_push_force"),
        ("rm -rf build", "rm_recursive"),
        ("bash -c 'git clean -fdx'", "git_clean"),
    ] {
        let decision = decided(text, "sandboxed", Mode::Default, &[]);
        let codes: Vec<&str> = decision.warnings.iter().map(|warning| warning.code).collect();
        assert!(codes.contains(&code), "{text}: {codes:?}");
    }
    for text in [
        "Remove-Item x",
        "Remove-Item -Recurse build -WhatIf",
        "Remove-Item x -Recurse:$false",
        "Get-Content x",
        "Write-Output 'Remove-Item -Recurse'",
        "Copy-Item a b",
        "Get-Process",
        "Get-ExecutionPolicy",
        "git status",
        "rm x",
        "New-Item x",
    ] {
        assert_eq!(decided(text, "sandboxed", Mode::Default, &[]).warnings, [], "{text}");
    }
}

#[test]
fn suggested_rules_allow_the_command_and_nothing_else() {
    for (text, expected) in [
        ("New-Item x", &["PowerShell(New-Item -Path x)"][..]),
        ("ni x -Force", &["PowerShell(New-Item -Force -Path x)"]),
        ("git push origin", &["PowerShell(git push:*)"]),
        ("make all", &["PowerShell(make all)"]),
        ("make all; ni x", &["PowerShell(make all)", "PowerShell(New-Item -Path x)"]),
        ("gci | % { ri $_.Name }", &[]),
        ("Set-Content 'a b' '*'", &["PowerShell(Set-Content -Path \"a b\" -Value \"*\")"]),
        ("Set-Content /root/x y", &["Edit(//root/x)", "PowerShell(Set-Content -Path /root/x -Value y)"]),
        ("Get-Content /root/x", &["Read(//root/x)"]),
        ("iwr https://x.example", &["PowerShell(Invoke-WebRequest -Uri https://x.example)"]),
    ] {
        let decision = strict(text);
        assert_eq!(decision.suggested_rules, expected, "{text}");
        let rules: Vec<&str> = expected.to_vec();
        let with = decided(text, "strict", Mode::Default, &rules);
        assert!(expected.is_empty() || with.verdict == Verdict::Allow, "{text}: {:?}", with.reasons);
    }
    let rules = &["PowerShell(New-Item -Path x)"];
    for other in ["New-Item y", "New-Item x -Force", "New-Item x -Value z", "ni $x", "ni x, y"] {
        assert_eq!(decided(other, "strict", Mode::Default, rules).verdict, Verdict::Ask, "{other}");
    }
}

#[test]
fn what_can_run_anything_is_never_suggested() {
    for text in [
        "Invoke-Expression x",
        "iex 'make'",
        "Start-Process make",
        "saps make",
        "Start-Job { make }",
        "sajb { make }",
        "Register-ObjectEvent $x Changed -Action { make }",
        "pwsh -c make",
        "powershell -c make",
        "cmd /c dir",
        "wsl ls",
        "Invoke-Command { make }",
        "Add-Type x",
        "Import-Module x",
        "& $x",
        "Set-Alias ls rm",
        "New-Item @args",
        "New-Item $x",
        "'x' > y; ni z",
    ] {
        let rules = strict(text).suggested_rules;
        let broad = rules.iter().any(|rule| rule.ends_with(":*)"));
        let names = ["Invoke-", "Start-", "Register-", "Add-Type", "Import-Module", "Set-Alias", "New-Item"];
        let told = rules.iter().any(|rule| names.iter().any(|name| rule.contains(name)));
        assert!(!broad && !told, "{text}: {rules:?}");
    }
}

#[test]
fn rules_for_all_uses_of_what_runs_anything_cause_a_warning() {
    let warnings = |rule: &str| {
        let text = format!("name = \"p\"\n[policy]\nallow = ['{rule}']\n");
        Profile::from_toml(&text, "p.toml", &|_| None).unwrap().warnings().len()
    };
    for name in [
        "pwsh",
        "powershell",
        "cmd",
        "wsl",
        "iex",
        "Invoke-Expression",
        "Start-Process",
        "saps",
        "Start-Job",
        "sajb",
        "Register-ObjectEvent",
        "INVOKE-EXPRESSION",
        "cmd.exe",
        "Invoke-Command",
        "icm",
        "Add-Type",
        "ipmo",
    ] {
        assert_eq!(warnings(&format!("PowerShell({name}:*)")), 1, "{name}");
        assert_eq!(warnings(&format!("PowerShell({name} *)")), 1, "{name}");
    }
    for name in ["pwsh", "powershell", "cmd", "wsl", "iex", "Start-Process"] {
        assert_eq!(warnings(&format!("Bash({name}:*)")), 1, "{name}");
    }
    for rule in [
        "PowerShell(iex x)",
        "PowerShell(Get-Item:*)",
        "PowerShell(gci:*)",
        "PowerShell(Remove-Item:*)",
        "PowerShell(Start-Sleep:*)",
        "PowerShell(New-Item:*)",
        "PowerShell(git push:*)",
        "PowerShell(Get-Job:*)",
        "PowerShell(cmdkey:*)",
        "PowerShell(Set-Content:*)",
        "PowerShell(Expand-Archive:*)",
    ] {
        assert_eq!(warnings(rule), 0, "{rule}");
    }
}

#[test]
fn check_shows_how_powershell_reads_each_command() {
    let text = "gci sub -r | ri -Force -Path $x";
    let request = Request { shell: Shell::Pwsh, ..Request::bash(text.as_bytes()) };
    let profile = Profile::builtin("strict").unwrap();
    let shown = check::render(
        text.as_bytes(),
        &decide(&request, &profile),
        &parts(&request, &profile),
        check::Style::PLAIN,
    );
    for line in [
        "      `gci` is Get-ChildItem: -Recurse, -Path `sub`",
        "      `ri` is Remove-Item: -Force, -Path (not known)",
        "      gci sub -r | ri -Force -Path $x",
        "      ^^^^^^^^^^",
        "                   ^^^^^^^^^^^^^^^^^^",
    ] {
        assert!(shown.lines().any(|shown| shown == line), "{line}\n{shown}");
    }
}

#[test]
fn the_demo_asks_before_a_cmdlet_removes_a_directory() {
    let decision = decided("ri -r build", "demo", Mode::Bypass, &[]);
    assert_eq!((decision.verdict, decision.reasons[0].code), (Verdict::Ask, "ask_rule"));
    assert_eq!(decided("ri build", "demo", Mode::Bypass, &[]).verdict, Verdict::Allow);
}
