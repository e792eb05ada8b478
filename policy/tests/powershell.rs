//! PowerShell texts: what is read-only, what a rule sees, and what stays unproven. Attacks and look-alikes are in
//! `test_data/powershell.toml`.

use airlock_policy::{Decision, Mode, Profile, Request, Rules, Shell, Snapshot, Verdict, decide};

use crate::cases::classes;

fn strict(text: &str) -> Decision {
    let request = Request { shell: Shell::Pwsh, ..Request::bash(text.as_bytes()) };
    decide(&request, &Profile::builtin("strict").unwrap())
}

fn with(text: &str, allow: &[&str], deny: &[&str]) -> Verdict {
    let rules = Rules::parse(allow, &[], deny).unwrap();
    let request = Request {
        shell: Shell::Pwsh,
        mode: Some(Mode::Default),
        extra_rules: Some(&rules),
        ..Request::bash(text.as_bytes())
    };
    decide(&request, &Profile::builtin("strict").unwrap()).verdict
}

#[test]
fn no_attack_is_read_only_or_allowed() {
    for class in classes("powershell.toml") {
        for (at, text) in class.attacks.iter().enumerate() {
            let decision = strict(text);
            let kept = !decision.read_only && decision.verdict != Verdict::Allow;
            assert!(kept, "{} attack {at}: {text}: {:?}", class.name, decision.reasons);
        }
    }
}

#[test]
fn look_alikes_are_read_only() {
    for class in classes("powershell.toml") {
        for (at, text) in class.lookalikes.iter().enumerate() {
            let decision = strict(text);
            assert!(decision.read_only, "{} look-alike {at}: {text}: {:?}", class.name, decision.reasons);
        }
    }
}

#[test]
fn rules_see_the_resolved_command_and_its_parameters() {
    for text in [
        "Remove-Item -Recurse x",
        "ri x -r",
        "REMOVE-ITEM x -Rec:$true",
        "del -Path x -Recurse",
        "rm -Recurse x",
        "Microsoft.PowerShell.Management\\Remove-Item x -Recurse",
        "1 | % { rd $_ -Recurse }",
        "\"$(erase x -recurse)\"",
        "& 'Remove-Item' -Force -Recurse x",
        "Remove-Item @args",
    ] {
        assert_eq!(with(text, &[], &["PowerShell(Remove-Item -Recurse:*)"]), Verdict::Deny, "{text}");
    }
    for text in ["Remove-Item x", "Get-ChildItem -Recurse", "Write-Output 'Remove-Item -Recurse x'"] {
        assert_ne!(with(text, &[], &["PowerShell(Remove-Item -Recurse:*)"]), Verdict::Deny, "{text}");
    }
    for text in ["git push", "GIT push", "1 | git push -f", "if (1) { sudo git push }", "xargs git push"] {
        assert_eq!(with(text, &[], &["Bash(git push:*)"]), Verdict::Deny, "{text}");
    }
}

#[test]
fn an_allow_rule_covers_only_commands_of_its_own_tool() {
    assert_eq!(with("make x", &["Bash(make:*)"], &[]), Verdict::Ask);
    assert_eq!(with("make x", &["PowerShell(make:*)"], &[]), Verdict::Allow);
    assert_eq!(with("New-Item x", &["PowerShell(New-Item:*)"], &[]), Verdict::Allow);
    assert_eq!(with("ni x", &["PowerShell(New-Item:*)"], &[]), Verdict::Allow);
    assert_eq!(with("ni x; ri y", &["PowerShell(New-Item:*)"], &[]), Verdict::Ask);
    assert_eq!(with("ni x -Force", &["PowerShell(New-Item x)"], &[]), Verdict::Ask);
    assert_eq!(with("iex $x", &["PowerShell(Invoke-Expression:*)"], &[]), Verdict::Ask);
}

#[test]
fn the_answer_shows_each_command_as_powershell_reads_it() {
    let decision = strict("gci sub -r | ? Name -eq x");
    let [list, filter] = decision.commands.as_slice() else { panic!("{:?}", decision.commands) };
    let reading = list.powershell.as_ref().unwrap();
    assert_eq!((reading.name.as_deref(), reading.command.as_deref()), (Some("gci"), Some("Get-ChildItem")));
    let names: Vec<&str> = reading.parameters.iter().map(|parameter| parameter.name.as_str()).collect();
    assert_eq!(names, ["Recurse", "Path"]);
    let names: Vec<&str> = filter
        .powershell
        .as_ref()
        .unwrap()
        .parameters
        .iter()
        .map(|parameter| parameter.name.as_str())
        .collect();
    assert_eq!(names, ["EQ", "Property", "Value"]);
    assert_eq!((list.span.start, list.span.end), (0, 10));
}

#[test]
fn rules_for_paths_see_the_files_of_cmdlets() {
    for text in [
        "gc .env",
        "Get-Content -LiteralPath .\\.env",
        "sls x .env",
        "cat .env",
        "gi a, .env",
        "[IO.File]::ReadAllText('.env')",
        "1 | % { [io.file]::ReadLines('.\\.env') }",
        "[IO.FileInfo]::new('.env').OpenText().ReadToEnd()",
        "$p = @{ Path = '.env' }; gc @p",
        "function f { gc .env }; f",
    ] {
        assert_eq!(with(text, &[], &["Read(.env)"]), Verdict::Deny, "{text}");
    }
    for text in ["sc a 1", "1 > a", "ri a", "copy b a", "1 | Out-File a"] {
        assert_eq!(with(text, &[], &["Edit(a)"]), Verdict::Deny, "{text}");
    }
    assert_eq!(with("gc a.env", &[], &["Read(.env)"]), Verdict::Allow);
}

#[test]
fn paths_outside_the_workspace_are_asked_about() {
    for text in [
        "Get-Content /root/x",
        "gc ..\\..\\x",
        "1 > /root/x",
        "cd /root; gc x",
        "[IO.File]::ReadAllText('/root/x')",
        "$p = @{ LiteralPath = '/root/x' }; gc @p",
    ] {
        assert_eq!(strict(text).verdict, Verdict::Ask, "{text}");
    }
    for text in ["Get-Content a/x", "gc .\\a\\x", "1 > $null", "cd sub; gc x"] {
        assert_eq!(strict(text).verdict, Verdict::Allow, "{text}");
    }
}

/// Returns the sorted names of the parameters of the first command.
fn parameters(text: &str) -> Vec<String> {
    let decision = strict(text);
    let reading = decision.commands[0].powershell.as_ref().unwrap();
    let mut names: Vec<String> = reading.parameters.iter().map(|found| found.name.clone()).collect();
    names.sort();
    names
}

#[test]
fn arguments_are_bound_as_powershell_binds_them() {
    let cases: &[(&str, &[&str])] = &[
        ("gci a -r", &["Path", "Recurse"]),
        ("Get-Job Build", &["Name"]),
        ("Get-Job 1", &["Id"]),
        ("Start-Sleep 1.5", &["Seconds"]),
        ("% { $_ }", &["Process"]),
        ("% Name", &["MemberName"]),
        ("? Name -e x", &["EQ", "Property", "Value"]),
        // A switch that is off, a missing value, and parameters that exclude each other.
        ("gci -Recurse:$false", &[]),
        ("gci -Path", &[]),
        ("gci -Path a -LiteralPath b", &[]),
        // An unknown parameter takes the next argument.
        ("gci -Nope a b", &["Path"]),
        ("Write-Host @a", &["Object"]),
    ];
    for (text, wanted) in cases {
        assert_eq!(parameters(text), *wanted, "{text}");
    }
}

#[test]
fn a_rule_holds_however_arguments_are_bound() {
    for text in [
        "ri -- a -Recurse",
        "ri -Nope a -r",
        "ri -Path a -LiteralPath b -Recurse",
        "ri @p",
        "ri a -Recurse -",
    ] {
        assert_eq!(with(text, &[], &["PowerShell(Remove-Item -Recurse:*)"]), Verdict::Deny, "{text}");
    }
    for text in ["ri -- a", "ri -Nope a", "ri -Path a -LiteralPath b", "sc -Nope a 1"] {
        assert_eq!(with(text, &[], &["Edit(a)"]), Verdict::Deny, "{text}");
    }
}

#[test]
fn a_function_of_the_session_may_replace_a_cmdlet() {
    let snapshot = Snapshot::parse(b"Get-ChildItem () \n{ \n    rm x\n}\n");
    for (text, proven) in [("gci", false), ("get-childitem a", false), ("gc a", true)] {
        let request =
            Request { shell: Shell::Pwsh, snapshot: Some(&snapshot), ..Request::bash(text.as_bytes()) };
        let decision = decide(&request, &Profile::builtin("strict").unwrap());
        assert_eq!(decision.read_only, proven, "{text}");
    }
}
