//! Tests of the session's snapshot. Aliases are expanded as in bash, and rules apply to the result. Functions and text
//! that is not understood make names unknown.

use std::process::Command;

use airlock_policy::{Decision, Mode, Profile, Request, Rules, Snapshot, Verdict, decide};

use crate::cases::{code, codes};

const ALIASES: &[(&str, &str)] = &[
    ("ll", "ls -la"),
    ("ls", "ls --color=auto"),
    ("la", "ll -A"),
    ("sudo", "sudo "),
    ("twice", "echo a; echo b"),
    ("open", "echo 'it is"),
    ("both", "sudo twice"),
    ("a", "b x"),
    ("b", "a y"),
    ("tail1", "head1 "),
    ("head1", "echo "),
    ("inner", "head1"),
    ("pipe", "cat | "),
    ("cond", "true &&"),
    ("redir", "cat <"),
    ("num", "echo 2"),
    ("v", "X=1"),
    ("sub", "echo $(ll)"),
    ("g", "git"),
    ("rmi", "rm -i"),
    ("tabbed", "echo\t"),
    ("brace", "{ ls; }"),
    ("loop", "for i in 1 2; do"),
];

const COMMANDS: &[&str] = &[
    "ll",
    "ll x",
    "la",
    "sudo ll",
    "sudo sudo ll x",
    "sudo x ll",
    "both ll",
    "a",
    "b",
    "echo ll",
    "'ll' x",
    "\\ll x",
    "l\"l\" x",
    "X=1 ll",
    ">f ll",
    "ll; la | ll && ll || ll",
    "(ll)",
    "{ ll; }",
    "if ll; then la; else ls; fi",
    "while ll; do la; done",
    "for ll in la; do ll; done",
    "case ll in ll) ll;; esac",
    "ll > ll",
    "f() { ll; }",
    "! ll",
    "time ll",
    "twice x",
    "twice ll",
    "tail1 ll",
    "inner ll",
    "head1 head1 ll",
    "pipe ll",
    "cond ll",
    "redir ll",
    "num>x",
    "v ll",
    "g status",
    "tabbed ll",
    "brace",
    "loop ll; done",
    "ll\nll\n\nla",
    "ll & ll",
    "ll=1 la",
    "llx",
    "ll-x",
    "./ll",
    "$ll",
    "ll # ll",
    "[[ ll == ll ]]",
    "coproc ll",
    "time -p X=1 ll",
    "sudo time ll",
    "l\\\nl x",
    "\\\nll x",
    "ll\\\n x",
    "sudo l\\\nl x",
    "sudo ll\\\n x",
    "sudo \\\nll x",
    "sudo \\\n \\\n l\\\nl\\\n",
    "sudo 'x' ll",
    "sudo '' ll",
    "sudo \"x\" 'y' ll",
    "sudo \\x ll",
    "sudo x\\ y ll",
    "sudo \"$x\"y ll",
    "sudo \"a b\" \"c;d\" ll",
    "sudo $'x' ll",
    "sudo a='b' ll",
    "sudo 'x' y ll",
    "sudo 'x' >f ll",
    "sudo 'x' >ll ll",
    "sudo >f ll",
    "sudo >'f' ll",
    "sudo $x ll",
    "sudo ${x} ll",
    "sudo 'x' # ll",
    "sudo 'x'; ll",
    "sudo 'x'& x ll",
    "echo 'x' sudo ll",
    "coproc N ll x",
    "coproc N X=1 ll",
    "coproc N >f ll",
    "coproc >f ll",
    "coproc ll ll",
    "coproc X=1 </dev/null ll",
    "coproc </dev/null X=1 ll",
    "coproc N sudo ll",
    "X=1 >f ll",
    ">f X=1 ll",
    "X=1 >f Y=2 ll",
    "X=1 Y=2 ll",
];

/// Substitutions, which bash expands only when it runs them. Each only prints.
const SUBSTITUTIONS: &[&str] = &[
    "echo $(hi) `hi`",
    "echo \"$(hi)\"",
    "cat <(hi)",
    "cat <<E\nhi $(hi)\nE",
    "x=$(hi) hi; echo $x",
    "echo $(echo hi $(hi))",
    "echo \"${x:-$(hi)}\"",
    "echo '$(hi)' \"\\$(hi)\"",
];

fn snapshot_text() -> String {
    let quoted = |text: &str| format!("'{}'", text.replace('\'', "'\\''"));
    let aliases = ALIASES.iter().map(|(name, text)| format!("alias {name}={}\n", quoted(text)));
    format!("shopt -s expand_aliases\n{}", aliases.collect::<String>())
}

/// Returns bash's printed form of a function with this body. bash reads the body but does not run
/// it.
fn as_bash_reads(before: &str, body: &str) -> Option<String> {
    let script = format!("{before}\nprobe() {{\n{body}\n}}\ndeclare -f probe\n");
    let out =
        Command::new("bash").args(["--norc", "--noprofile", "-c", &script]).env_clear().output().unwrap();
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    (out.status.success() && !text.is_empty()).then_some(text)
}

#[test]
fn aliases_are_expanded_as_bash_does() {
    let text = snapshot_text();
    let snapshot = Snapshot::parse(text.as_bytes());
    let mut differences = Vec::new();
    for command in COMMANDS {
        let ours = String::from_utf8(snapshot.expanded(command.as_bytes())).unwrap();
        let (expected, found) = (as_bash_reads(&text, command), as_bash_reads("", &ours));
        if expected != found {
            differences.push(format!("{command:?} became {ours:?}: {expected:?} and {found:?}"));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

fn printed(script: &str) -> Vec<u8> {
    Command::new("bash").args(["--norc", "--noprofile", "-c", script]).output().unwrap().stdout
}

#[test]
fn aliases_in_substitutions_are_expanded_as_bash_does() {
    let aliases = "shopt -s expand_aliases\nalias hi='echo hello'\n";
    let snapshot = Snapshot::parse(aliases.as_bytes());
    for command in SUBSTITUTIONS {
        let ours = String::from_utf8(snapshot.expanded(command.as_bytes())).unwrap();
        assert_eq!(printed(&format!("{aliases}{command}")), printed(&ours), "{command:?} became {ours:?}");
    }
}

#[test]
fn an_alias_in_a_text_for_the_shell_is_asked_about() {
    for command in ["eval r x", "eval 'ls; r x'", "trap 'r x' EXIT"] {
        let decision = asked(command, &format!("{ON}alias r=rm\n"), &["Bash"], &[], Some(Mode::Bypass));
        assert_eq!((decision.verdict, code(&decision)), (Verdict::Ask, "snapshot_name"), "{command}");
    }
}

#[test]
fn a_command_that_is_not_read_only_is_shown_with_its_aliases() {
    let decision = asked("ls; cat /proc/*", &format!("{ON}alias ls='ls -l'\n"), &[], &[], None);
    assert_eq!((decision.verdict, decision.read_only), (Verdict::Ask, false));
    let words: Vec<_> = decision.commands[0].argv.iter().map(|word| word.text.clone().unwrap()).collect();
    assert_eq!(words, [b"ls".to_vec(), b"-l".to_vec()]);
}

#[test]
fn the_aliases_and_functions_that_bash_prints_are_parsed() {
    let define = "shopt -s expand_aliases; alias q=\"it's \\\"x\\\" \\$y\"; alias n='a\nb'; alias -- -='cd x'; \
                  f() { echo '}'; cat <<E\n x\nE\n}; export -f f; g() ( ls ); \
                  shopt -p; set +o; alias -p; declare -f; declare -fx";
    let printed =
        Command::new("bash").args(["--norc", "--noprofile", "-c", define]).env_clear().output().unwrap();
    let snapshot = Snapshot::parse(&printed.stdout);
    assert!(!snapshot.is_unknown(b"ls"), "{}", String::from_utf8_lossy(&printed.stdout));
    assert!(snapshot.is_unknown(b"f") && snapshot.is_unknown(b"g"));
    assert_eq!(snapshot.expanded(b"q z"), b"it's \"x\" $y  z");
    assert_eq!(snapshot.expanded(b"n"), b"a\nb ");
    assert_eq!(snapshot.expanded(b"-"), b"cd x ");
}

fn asked(command: &str, snapshot: &str, allow: &[&str], deny: &[&str], mode: Option<Mode>) -> Decision {
    let rules = Rules::parse(allow, &[], deny).unwrap();
    let snapshot = Snapshot::parse(snapshot.as_bytes());
    let request = Request {
        extra_rules: Some(&rules),
        snapshot: Some(&snapshot),
        mode,
        ..Request::bash(command.as_bytes())
    };
    decide(&request, &Profile::builtin("sandboxed").unwrap())
}

const ON: &str = "shopt -s expand_aliases\n";

#[test]
fn rules_see_what_an_alias_expands_to() {
    let aliases = format!("{ON}alias ls='rm -rf'\nalias clean='git clean -f'\nalias r=rm\nalias s='sudo '\n");
    for (command, rule) in [
        ("ls x", "Bash(rm:*)"),
        ("clean", "Bash(git clean:*)"),
        ("s r x", "Bash(rm:*)"),
        ("s r x", "Bash(sudo:*)"),
        ("echo $(r x)", "Bash(rm:*)"),
        ("ls x", "Bash(ls:*)"),
    ] {
        assert_eq!(
            asked(command, &aliases, &[], &[rule], None).verdict,
            Verdict::Deny,
            "{command} and {rule}"
        );
        // A snapshot that switches alias expansion off is not trusted.
        let off = aliases.replace(ON, "shopt -u expand_aliases\n");
        assert_eq!(asked(command, &off, &[], &[rule], None).verdict, Verdict::Deny, "{command} and {rule}");
    }
    assert_eq!(asked("echo r x", &aliases, &[], &["Bash(rm:*)"], None).verdict, Verdict::Allow);
    let hidden = asked("r x", &aliases, &[], &["Bash(rm:*)"], None);
    let span = hidden.reasons[0].span.unwrap();
    assert_eq!((span.start, span.end), (0, 3));
}

#[test]
fn only_what_reads_with_and_without_aliases_is_proven() {
    let run =
        |command: &str, aliases: &str| asked(command, &format!("{ON}{aliases}"), &[], &[], Some(Mode::Plan));
    let plain = run("ls x", "alias ls='ls --color=auto'\n");
    assert_eq!((plain.verdict, plain.read_only), (Verdict::Allow, true));
    assert_eq!(run("ls x", "alias ls='touch'\n").verdict, Verdict::Deny);
    assert_eq!(run("touch x", "alias touch='ls'\n").verdict, Verdict::Deny);
    assert_eq!(run("ll", "alias ll='ls -la'\n").verdict, Verdict::Deny);
}

#[test]
fn an_allow_rule_is_about_what_the_alias_expands_to() {
    let strict = Profile::builtin("strict").unwrap();
    let run = |command: &str, aliases: &str, allow: &str| {
        let (rules, snapshot) =
            (Rules::parse(&[allow], &[], &[]).unwrap(), Snapshot::parse(aliases.as_bytes()));
        let request = Request {
            extra_rules: Some(&rules),
            snapshot: Some(&snapshot),
            ..Request::bash(command.as_bytes())
        };
        decide(&request, &strict)
    };
    let aliases = format!("{ON}alias m='make'\nalias make='rm'\nalias ll='ls -la'\nalias t='make test'\n");
    assert_eq!(run("t", &aliases, "Bash(rm test)").verdict, Verdict::Allow);
    assert_eq!(run("t", &aliases, "Bash(make test)").verdict, Verdict::Ask);
    assert_eq!(run("make x", &aliases, "Bash(make:*)").verdict, Verdict::Ask);
    assert_eq!(code(&run("ll", &aliases, "Bash(make:*)")), "read_only_by_alias");
    let off = aliases.replace(ON, "shopt -u expand_aliases\n");
    assert_eq!(run("make x", &off, "Bash(make:*)").verdict, Verdict::Allow);
}

#[test]
fn functions_make_their_names_unknown() {
    let functions = "ls () \n{ \n    rm -rf x\n}\n";
    for command in ["ls", "ls x | head", "echo $(ls)", "sh -c ls"] {
        let decision = asked(command, functions, &["Bash"], &[], Some(Mode::Bypass));
        assert_eq!((decision.verdict, code(&decision)), (Verdict::Ask, "snapshot_name"), "{command}");
        assert!(!decision.read_only);
    }
    assert_eq!(asked("cat ls", functions, &[], &[], Some(Mode::Plan)).verdict, Verdict::Allow);
    let by_path = "/bin/ls () \n{ \n    rm -rf x\n}\n";
    assert_eq!(code(&asked("/bin/ls", by_path, &[], &[], None)), "snapshot_name");
}

#[test]
fn what_is_not_understood_makes_every_name_unknown() {
    for text in [
        "eval x\n",
        "alias x=$(rm y)\n",
        "alias x=\"`rm y`\"\n",
        "alias if='rm'\n",
        "source /etc/profile\n",
        "f () \n{ \n    cat <<E\n}\nE\n\n}\n",
        "f () \n{ \n",
        "IFS=x\n",
        "HOME=/x\n",
        "shopt -s extglob\n",
        "set -o posix\n",
        "set -o histexpand\n",
        "set -o allexport\n",
        "PATH=/workspace/bin\n",
        "builtin () \n{ \n    :\n}\n",
        "alias x='y\n",
        "\u{0}\n",
        "trap 'rm x' DEBUG\n",
        "alias x='a'; rm y\n",
    ] {
        let decision = asked("ls", text, &["Bash"], &[], Some(Mode::Bypass));
        assert_eq!((decision.verdict, code(&decision)), (Verdict::Ask, "snapshot_name"), "{text:?}");
    }
    let long = format!("# {}\n", "x".repeat(airlock_policy::limits::MAX_SNAPSHOT_BYTES));
    assert_eq!(asked("ls", &long, &[], &[], None).verdict, Verdict::Ask);
}

#[test]
fn expansion_is_bounded() {
    let many: String = (0..100).map(|n| format!("alias a{n}='a{} ; a{}'\n", n + 1, n + 1)).collect();
    let decision = asked("a0", &format!("{ON}{many}"), &["Bash"], &[], None);
    assert!(codes(&decision).contains(&"aliases_not_expanded"), "{:?}", codes(&decision));
    assert_eq!(decision.verdict, Verdict::Ask);
}

#[test]
fn aliases_that_a_text_makes_itself_are_not_followed_where_they_are_used() {
    for text in [
        "alias ls='touch'\nls x",
        "alias s='command '\ns rm -rf x",
        "alias q='echo \"a'\nq; rm -rf x; echo \"",
        "builtin alias s='sudo '\ns rm x",
        "alias then='rm x; then'\nif true; then ls; fi",
        "BASH_ALIASES[ls]='rm -rf'\nls x",
        "eval \"alias s='command '\"\ns rm x",
    ] {
        let decision = asked(text, ON, &[], &[], None);
        assert_eq!(decision.verdict, Verdict::Ask, "{text}");
        let denied = asked(text, ON, &[], &["Bash(rm:*)", "Bash(touch:*)"], None);
        assert_eq!(denied.verdict, Verdict::Deny, "{text}");
        assert!(!decision.read_only, "{text}");
    }
    for text in ["alias ll='ls -l'", "alias ll='ls -l'\nls", "echo alias s='x '; ls"] {
        assert_eq!(asked(text, ON, &[], &[], None).verdict, Verdict::Allow, "{text}");
    }
}

#[test]
fn an_alias_that_may_be_gone_or_not_looked_for_is_not_taken_for_certain() {
    let aliases = format!("{ON}alias ls='echo from-alias'\n");
    for text in
        ["unalias -a; echo $(ls)", "eval 'unalias ls'; echo $(ls)", "x=<(x= <f ls)", "echo $(x= <f ls)"]
    {
        let decision = asked(text, &aliases, &["Bash"], &[], None);
        assert!(!decision.parse_complete, "{text}");
        assert_eq!(decision.verdict, Verdict::Ask, "{text}");
    }
    for text in ["unalias -a; echo $(date)", "echo $(ls)", "x= <f ls", "x=<(x= <f date)"] {
        let decision = asked(text, &aliases, &["Bash"], &[], None);
        assert_eq!(decision.verdict, Verdict::Allow, "{text}");
    }
}
