//! Tests that imported profiles are valid and decide as the settings define.

use proptest::prelude::*;

use super::*;
use crate::decision::Verdict::{self, Allow, Ask, Deny};
use crate::request::Request;
use crate::{Case, Mode};

fn imported(settings: &str) -> (Profile, Vec<LeftOut>) {
    let Imported { toml, left_out } = import(settings, "settings.json", "imported").unwrap();
    let profile = Profile::from_toml(&toml, "imported.toml", &|_| None).unwrap();
    (profile, left_out)
}

/// Settings, and the expected verdicts of commands.
const MEANINGS: &[(&str, &[(&str, Verdict)])] = &[
    ("{}", &[("git status", Allow), ("make", Ask)]),
    (
        r#"{"permissions": {"allow": ["Bash(npm run test *)", "Bash(make)"]}}"#,
        &[
            ("npm run test", Allow),
            ("npm run test -- --watch", Allow),
            ("npm run testing", Ask),
            ("npm run build", Ask),
            ("make", Allow),
            ("make install", Ask),
            ("make && npm run test x", Allow),
            ("make; rm -r x", Ask),
        ],
    ),
    (
        r#"{"permissions": {"allow": ["Bash(git:*)"], "deny": ["Bash(git push:*)"], "ask": ["Bash(git commit *)"]}}"#,
        &[
            ("git fetch", Allow),
            ("git push --force", Deny),
            ("git -C sub push", Deny),
            ("sh -c 'git push'", Deny),
            ("git commit -m x", Ask),
            ("gitk", Ask),
        ],
    ),
    (
        r#"{"permissions": {"allow": ["Bash(git * main)"]}}"#,
        &[("git checkout main", Allow), ("git merge --no-ff main", Allow), ("git merge main --no-ff", Ask)],
    ),
    (
        r#"{"permissions": {"allow": ["Bash(cargo test*)", "Bash(npm i*ll x)"]}}"#,
        &[
            ("cargo test", Allow),
            ("cargo test -p x", Allow),
            ("cargo tests", Allow),
            ("cargo build", Ask),
            ("npm install x", Allow),
            ("npm i --save-dev hull x", Allow),
            ("npm install y", Ask),
        ],
    ),
    (
        r#"{"permissions": {"allow": ["Bash(make *check)"]}}"#,
        &[("make check", Allow), ("make -j2 lint-check", Allow), ("make checks", Ask)],
    ),
    (
        r#"{"permissions": {"allow": ["Bash(git commit -m \"a b\")", "Bash(make \\*)"]}}"#,
        &[("git commit -m 'a b'", Allow), ("git commit -m a b", Ask), ("make '*'", Allow), ("make x", Ask)],
    ),
    (r#"{"permissions": {"allow": ["Bash"]}}"#, &[("make x", Allow), ("make x | tee /etc/x", Ask)]),
    (
        r#"{"permissions": {"allow": ["Bash(*)"], "deny": ["Bash(curl *)"]}}"#,
        &[("make", Allow), ("curl x", Deny)],
    ),
    (r#"{"permissions": {"deny": ["Bash"]}}"#, &[("ls", Deny)]),
    (
        r#"{"permissions": {"allow": ["Bash(/usr/bin/make *)"]}}"#,
        &[("/usr/bin/make x", Allow), ("make", Allow), ("./make", Ask)],
    ),
    (r#"{"permissions": {"ask": ["Bash(ls *)"]}}"#, &[("ls", Ask), ("ls -l", Ask), ("cat x", Allow)]),
    (
        r#"{"permissions": {"deny": ["Bash(FOO=1 deploy *)", "Bash(rm -rf $HOME)"]}}"#,
        &[("deploy now", Deny), ("FOO=1 deploy", Deny), ("rm -rf /home/agent", Deny)],
    ),
    (
        r#"{"permissions": {"deny": ["Read(./.env)", "Read(~/.zshrc)", "Read(//etc/**)", "Read(secrets/**)"]}}"#,
        &[
            ("cat .env", Deny),
            ("cat sub/.env", Deny),
            ("cat ~/.zshrc", Deny),
            ("cat /etc/passwd", Deny),
            ("cat secrets/a/b", Deny),
            ("cat src/main.c", Allow),
        ],
    ),
    (
        r#"{"permissions": {"allow": ["Read(//etc/**)"]}}"#,
        &[("cat /etc/hosts", Allow), ("cat /var/log/syslog", Ask)],
    ),
    (r#"{"permissions": {"allow": ["Read"]}}"#, &[("cat /var/log/syslog", Allow)]),
    (
        r#"{"permissions": {"deny": ["Edit(/src/**)", "Write(./x)"]}}"#,
        &[("touch src/a/b", Deny), ("touch x", Deny), ("touch lib/src", Ask), ("cat src/a", Allow)],
    ),
    (
        r#"{"permissions": {"allow": ["Bash(make:*)", "Edit(/out/**)"]}}"#,
        &[("make > out/log", Allow), ("make > log", Ask), ("make > .git/config", Ask)],
    ),
    (
        r#"{"permissions": {"allow": ["Bash(make:*)", "Edit"]}}"#,
        &[("make > log", Allow), ("make > .git/config", Ask), ("make > /etc/x", Ask)],
    ),
    (
        r#"{"permissions": {"defaultMode": "acceptEdits"}}"#,
        &[("touch x", Allow), ("touch /etc/x", Ask), ("make", Ask)],
    ),
    (r#"{"permissions": {"defaultMode": "plan"}}"#, &[("ls", Allow), ("touch x", Deny)]),
    (
        r#"{"permissions": {"defaultMode": "bypassPermissions", "deny": ["Bash(git push:*)"]}}"#,
        &[("make", Allow), ("git push", Deny)],
    ),
    (
        r#"{"permissions": {"defaultMode": "bypassPermissions", "disableBypassPermissionsMode": "disable"}}"#,
        &[("make", Ask)],
    ),
    (r#"{"permissions": {"additionalDirectories": ["/opt/data"]}}"#, &[("cat /opt/data/x", Allow)]),
    (r#"{"sandbox": {"enabled": true}}"#, &[("make", Allow)]),
    (r#"{"sandbox": {"enabled": true, "autoAllowBashIfSandboxed": false}}"#, &[("make", Ask)]),
    (r#"{"sandbox": {"enabled": false, "autoAllowBashIfSandboxed": true}}"#, &[("make", Ask)]),
    (
        r#"{"sandbox": {"filesystem": {"denyRead": ["/opt/keys", "~/.aws"], "denyWrite": ["./dist"]}}}"#,
        &[("cat /opt/keys/a", Deny), ("cat ~/.aws/x", Deny), ("rm dist/x", Deny), ("cat dist/x", Allow)],
    ),
];

#[test]
fn network_settings_become_the_key_network() {
    let settings = r#"{
        "permissions": {
            "allow": ["WebFetch(domain:docs.example)", "WebFetch(domain:a.example)"], "deny": ["WebFetch(domain:b.example)"],
            "ask": ["WebFetch(domain:c.example)"]
        },
        "sandbox": {"network": {
            "allowedDomains": ["a.example", "*.npmjs.org"], "deniedDomains": ["b.example"], "allowLocalBinding": true,
            "allowAllUnixSockets": false, "strictAllowlist": true
        }}
    }"#;
    let Imported { toml, left_out } = import(settings, "settings.json", "team").unwrap();
    let places: Vec<&str> = left_out.iter().map(|one| one.place.as_str()).collect();
    assert_eq!(places, [""; 0], "{toml}");
    assert!(toml.contains("\"Network(c.example)\""), "{toml}");
    let table: toml::Table = toml.parse().unwrap();
    let entries = |key: &str| -> Vec<String> {
        let list = table["network"][key].as_array().unwrap().iter();
        list.map(|entry| entry.as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(entries("allow"), ["docs.example", "a.example", "*.npmjs.org"]);
    assert_eq!(entries("deny"), ["b.example"]);
}

#[test]
fn a_profile_decides_as_the_settings_mean() {
    let pairs: usize = MEANINGS.iter().map(|(_, commands)| commands.len()).sum();
    assert!(pairs >= 60, "{pairs}");
    for (settings, commands) in MEANINGS {
        let (profile, _) = imported(settings);
        for (command, verdict) in *commands {
            let decision = crate::decide(&Request::bash(command.as_bytes()), &profile);
            assert_eq!(decision.verdict, *verdict, "{settings}\n{command}\n{:?}", decision.reasons);
        }
    }
}

/// Settings for PowerShell, and the expected verdicts of texts.
const POWERSHELL: &[(&str, &[(&str, Verdict)])] = &[
    (
        r#"{"permissions": {"allow": ["PowerShell(New-Item:*)", "PowerShell(make *)"]}}"#,
        &[
            ("ni x", Allow),
            ("New-Item x -Force", Allow),
            ("make all", Allow),
            ("ri x", Ask),
            ("ni x; ri y", Ask),
        ],
    ),
    (
        r#"{"permissions": {"deny": ["PowerShell(Remove-Item:*)"], "ask": ["PowerShell(gci *)"]}}"#,
        &[("del x", Deny), ("& 'ri' x", Deny), ("gci x", Ask), ("Get-Content x", Allow)],
    ),
    (
        r#"{"permissions": {"allow": ["PowerShell(Set-Content 'a b' *)", "PowerShell(ni sub\\x)"]}}"#,
        &[("sc a x", Ask), ("Set-Content 'a b' x", Allow), ("Set-Content 'a c' x", Ask), ("ni y", Ask)],
    ),
    (
        r#"{"permissions": {"deny": ["PowerShell(echo \"it`\"s\")", "PowerShell(echo 'it''s')", "PowerShell(echo a` b)"]}}"#,
        &[("echo 'it\"s'", Deny), ("echo \"it's\"", Deny), ("echo 'a b'", Deny), ("echo its", Allow)],
    ),
    (r#"{"permissions": {"allow": ["PowerShell"]}}"#, &[("New-Item x", Allow), ("iex $x", Ask)]),
];

#[test]
fn rules_for_powershell_keep_their_meaning() {
    for (settings, texts) in POWERSHELL {
        let (profile, left_out) = imported(settings);
        assert!(left_out.is_empty(), "{settings}: {left_out:?}");
        for (text, verdict) in *texts {
            let request = Request { shell: crate::Shell::Pwsh, ..Request::bash(text.as_bytes()) };
            let decision = crate::decide(&request, &profile);
            assert_eq!(decision.verdict, *verdict, "{settings}\n{text}\n{:?}", decision.reasons);
        }
    }
}

#[test]
fn what_has_no_equal_is_left_out_with_place_and_reason() {
    let settings = r#"{
        "permissions": {
            "allow": ["WebSearch", "mcp__github__list", "Bash(./run.sh)", "Bash(a && b)", "Bash(echo 'x)",
                      7, "Bash(X=1 make)", "Bash(rm $X)", "Grep", "", "Bash(a", "Bash(a*b*c*d*e*f x)"],
            "deny": ["Read(../x)", "Read(!x)", "Read(C:\\x)", "Read(~other/x)", "PowerShell(Get-Item 'x)"],
            "ask": "Bash",
            "defaultMode": "dontAsk",
            "additionalDirectories": ["../docs", "/ok"],
            "disableBypassPermissionsMode": true,
            "disableAutoMode": "disable"
        },
        "sandbox": {
            "enabled": "yes", "excludedCommands": ["docker*", "docker *"], "allowUnsandboxedCommands": [],
            "network": {"allowedDomains": ["x.org", "*", 1], "deniedDomains": ["a b"], "allowUnixSockets": ["/x"],
                "allowAllUnixSockets": true, "allowLocalBinding": false, "httpProxyPort": 1, "new": 1}, "filesystem": {"allowWrite": ["/x"]}, "ripgrep": {}
        },
        "hooks": {"PreToolUse": []}, "env": {"TOKEN": "secret"}, "model": "x", "$schema": "y"
    }"#;
    let (_, left_out) = imported(settings);
    let mut places: Vec<&str> = left_out.iter().map(|one| one.place.as_str()).collect();
    places.sort_unstable();
    let mut expected: Vec<String> = (0..12).map(|index| format!("permissions.allow[{index}]")).collect();
    expected.extend((0..5).map(|index| format!("permissions.deny[{index}]")));
    expected.extend(
        [
            "env",
            "hooks",
            "model",
            "permissions.additionalDirectories[0]",
            "permissions.ask",
            "permissions.defaultMode",
            "permissions.disableAutoMode",
            "permissions.disableBypassPermissionsMode",
            "sandbox.allowUnsandboxedCommands",
            "sandbox.enabled",
            "sandbox.excludedCommands[0]",
            "sandbox.filesystem.allowWrite",
            "sandbox.network.allowAllUnixSockets",
            "sandbox.network.allowLocalBinding",
            "sandbox.network.allowUnixSockets",
            "sandbox.network.allowedDomains[1]",
            "sandbox.network.allowedDomains[2]",
            "sandbox.network.deniedDomains[0]",
            "sandbox.network.httpProxyPort",
            "sandbox.network.new",
            "sandbox.ripgrep",
        ]
        .map(str::to_owned),
    );
    expected.sort_unstable();
    assert_eq!(places, expected);
    assert!(left_out.iter().all(|one| !one.why.is_empty() && !one.value.contains("secret")));
}

#[test]
fn the_profile_says_where_each_entry_comes_from() {
    let settings = r#"{"permissions": {"deny": ["Bash(git push:*)", "Bash(a | b)"], "defaultMode": "plan"}}"#;
    let Imported { toml, .. } = import(settings, "a\nb.json", "team").unwrap();
    assert_eq!(
        toml,
        r#"# Created by `airlock policy import` from a\u{a}b.json.
#
# Not imported:
#   permissions.deny[1]: "Bash(a | b)": the rule contains several commands or a redirect; an Airlock rule matches one command
name = "team"
extends = "strict"
description = "imported from a\u000Ab.json"

[policy]
modes = ["accept_edits", "default", "plan"]
default_mode = "plan"  # permissions.defaultMode: "plan"
deny = [
  "Bash(git push:*)",  # permissions.deny[0]: "Bash(git push:*)"
]
"#
    );
}

#[test]
fn what_is_no_settings_file_is_refused_with_its_place() {
    let error = import("{\n  \"permissions\": }", "s", "n").unwrap_err().to_string();
    assert!(error.starts_with("2:18: the file is not valid JSON: "), "{error}");
    assert_eq!(import("[]", "s", "n"), Err(ImportError::NoObject));
    let many = format!("{{\"permissions\": {{\"deny\": [{}\"Bash(x)\"]}}}}", "\"Bash(x)\",".repeat(3000));
    assert!(matches!(import(&many, "s", "n"), Err(ImportError::Profile(_))));
    let deep = "[".repeat(100_000);
    assert!(matches!(import(&deep, "s", "n"), Err(ImportError::Json { .. })));
    assert!(import("\u{feff}{}", "s", "n").is_ok());
}

#[test]
fn an_imported_profile_can_be_tested_as_any_other() {
    let Imported { toml, .. } = import(r#"{"permissions": {"deny": ["Bash(make)"]}}"#, "s", "n").unwrap();
    let text = format!("{toml}[[policy.test]]\ncommand = \"make\"\nexpect = \"deny\"\n");
    assert!(Profile::from_toml(&text, "n.toml", &|_| None).is_ok());
    let (profile, _) = imported(r#"{"permissions": {"defaultMode": "bypassPermissions"}}"#);
    assert_eq!((profile.default_mode(), profile.modes().len()), (Mode::Bypass, 4));
    let cases = Case::read_all("[[test]]\ncommand = \"x\"\nexpect = \"allow\"\n", "c").unwrap();
    assert_eq!(cases[0].failure(&cases[0].decide(&profile)), None);
}

/// Returns arbitrary JSON in the shape of settings.
fn value() -> impl Strategy<Value = Value> {
    let rule = prop_oneof![
        "(Bash|Read|Edit|Write|PowerShell)\\([a-z*~/.:'\"\\\\$=! {}\\[\\]]{0,12}\\)",
        "\\PC{0,20}",
        ".{0,20}",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        rule.prop_map(Value::from),
    ];
    let key = prop_oneof![
        proptest::sample::select(vec![
            "permissions",
            "sandbox",
            "allow",
            "ask",
            "deny",
            "defaultMode",
            "additionalDirectories",
            "disableBypassPermissionsMode",
            "enabled",
            "autoAllowBashIfSandboxed",
            "excludedCommands",
            "allowUnsandboxedCommands",
            "network",
            "filesystem",
            "denyRead",
            "denyWrite",
        ])
        .prop_map(str::to_owned),
        ".{0,6}",
    ];
    leaf.prop_recursive(4, 48, 6, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            proptest::collection::vec((key.clone(), inner), 0..6)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn any_json_makes_a_profile_that_loads_or_an_error(value in value(), name in ".{0,9}", source in ".{0,9}") {
        let text = value.to_string();
        match import(&text, &source, &name) {
            Ok(imported) => prop_assert!(Profile::from_toml(&imported.toml, "x", &|_| None).is_ok()),
            Err(error) => prop_assert_eq!(error, ImportError::NoObject),
        }
    }

    #[test]
    fn any_settings_make_a_profile_that_loads(permissions in value(), sandbox in value()) {
        let settings = serde_json::json!({ "permissions": permissions, "sandbox": sandbox }).to_string();
        prop_assert!(import(&settings, "s", "n").is_ok());
    }

    #[test]
    fn any_text_is_answered(text in ".{0,200}") {
        let _ = import(&text, "s", "n");
    }
}

#[test]
fn excluded_commands_are_carried_over_as_first_words_or_left_out() {
    for (entry, words) in [
        ("docker", "docker"),
        ("docker *", "docker"),
        ("docker:*", "docker"),
        ("bazel  build:*", "bazel build"),
        ("'docker' compose *", "docker compose"),
        ("/usr/bin/docker ps", "/usr/bin/docker ps"),
    ] {
        let settings = serde_json::json!({ "sandbox": { "excludedCommands": [entry] } }).to_string();
        let (profile, left_out) = imported(&settings);
        assert_eq!(profile.excluded_commands(), [words], "{entry}");
        assert!(!profile.allow_unsandboxed() && left_out.is_empty(), "the name adds no other key: {entry}");
    }
    let none =
        ["", "*", ":*", "docker*", "* x", "a * b", "X=1 docker", "$D run", "~/x", "'a b' c", "a; b", "'a"];
    for entry in none {
        let settings = serde_json::json!({ "sandbox": { "excludedCommands": [entry] } }).to_string();
        let (profile, left_out) = imported(&settings);
        assert!(profile.excluded_commands().is_empty(), "{entry}");
        assert_eq!(left_out[0].place, "sandbox.excludedCommands[0]", "{entry}");
    }
}

#[test]
fn a_profile_that_does_not_let_excluded_commands_out_says_so() {
    let hint = "Without `allow_unsandboxed = true`";
    for more in ["", ", \"allowUnsandboxedCommands\": false"] {
        let text = format!("{{\"sandbox\": {{\"excludedCommands\": [\"docker\"]{more}}}}}");
        assert!(import(&text, "s", "n").unwrap().toml.contains(hint), "{more}");
    }
    let open = r#"{"sandbox": {"excludedCommands": ["docker"], "allowUnsandboxedCommands": true}}"#;
    let (profile, _) = imported(open);
    assert!(profile.allow_unsandboxed());
    assert!(!import(open, "s", "n").unwrap().toml.contains(hint));
    assert!(!import("{}", "s", "n").unwrap().toml.contains(hint));
}
