//! Pairs of texts that the random search for verdicts that are not monotone found
//! (`fuzz/tests/it/monotone.rs`), each with its control.

use airlock_policy::{Access, Decision, Profile, Request, Verdict, decide};

use crate::cases::{strict, with_rules};

#[test]
fn a_rule_with_signs_in_its_words_is_found_in_text_that_is_not_understood() {
    for text in ["alpha !$", "(alpha !$)", "(alpha '!$')", "alpha '!$' ((("] {
        let denied = with_rules(text, &["Bash"], &[], &["Bash(alpha '!$')"]);
        assert_eq!(denied.verdict, Verdict::Deny, "{text}");
    }
    let starred = with_rules("alpha x=y;z (((", &["Bash"], &[], &["Bash(alpha x=*z)"]);
    assert_eq!(starred.verdict, Verdict::Deny);
    let other = with_rules("(alpha !x", &["Bash"], &[], &["Bash(alpha '!$y')"]);
    assert_ne!(other.verdict, Verdict::Deny);
}

#[test]
fn a_value_that_a_word_falls_back_to_is_tried_at_any_depth() {
    for text in [
        "${x:-alpha} x",
        "sh -c '${x:-alpha} x'",
        "bash -c \"bash -c '\\${x:-alpha} x'\"",
        "eval '${x:-alpha} x'",
    ] {
        let denied = with_rules(text, &["Bash"], &[], &["Bash(alpha x)"]);
        assert_eq!(denied.verdict, Verdict::Deny, "{text}");
        assert_ne!(with_rules(text, &["Bash"], &[], &["Bash(beta x)"]).verdict, Verdict::Deny, "{text}");
    }
}

#[test]
fn an_assignment_by_a_builtin_counts_in_every_spelling() {
    for text in [
        "export X=1",
        "'export' X=1",
        "exp\"ort\" X=1",
        "command export X=1",
        "builtin export X=1",
        "l''ocal X=1",
    ] {
        let asked = with_rules(
            text,
            &["Bash(export:*)", "Bash(local:*)", "Bash(command:*)", "Bash(builtin:*)"],
            &[],
            &[],
        );
        assert_eq!(asked.verdict, Verdict::Ask, "{text}");
    }
    for text in ["export LANG=C", "'export' LANG=C"] {
        assert_eq!(with_rules(text, &["Bash(export:*)"], &[], &[]).verdict, Verdict::Allow, "{text}");
    }
}

#[test]
fn the_end_of_an_item_is_one_in_a_case_only() {
    for text in [
        "ls ;; pwd",
        "(ls ;; pwd)",
        "{ ls ;; pwd; }",
        "if true; then ls ;; pwd; fi",
        "while true; do ls ;& pwd; done",
    ] {
        let decision = strict(text);
        assert!(decision.verdict == Verdict::Ask && !decision.parse_complete, "{text}");
    }
    assert!(strict("case x in a) ls ;; b) pwd ;& *) true ;; esac").read_only);
}

#[test]
fn paths_and_escapes_are_found_in_text_that_is_not_understood() {
    for text in ["cat .env (((", "((cat .env) ; (", "x=((; head sub/.env", "cat ./.e* (((", "cat '.env' ((("]
    {
        let denied = with_rules(text, &["Bash"], &[], &["Read(.env)"]);
        assert_eq!(denied.verdict, Verdict::Deny, "{text}");
    }
    assert_ne!(with_rules("cat .envrc (((", &["Bash"], &[], &["Read(.env)"]).verdict, Verdict::Deny);
    let nested = "sh -c 'alpha `alpha \\\\\\`rm x\\\\\\``'";
    assert_eq!(with_rules(nested, &["Bash"], &[], &["Bash(rm:*)"]).verdict, Verdict::Deny, "{nested}");
    for text in ["$'\\x72m' x (((", "sh -c '$'\\''\\x72m'\\'' x ((('"] {
        assert_eq!(with_rules(text, &["Bash"], &[], &["Bash(rm:*)"]).verdict, Verdict::Deny, "{text}");
    }
}

#[test]
fn a_process_substitution_is_the_same_operand_behind_a_launcher() {
    let launched = ["timeout 5 TEXT", "nice TEXT", "timeout 5 nice TEXT", "env TEXT"];
    for text in ["diff <(:) <(:)", "diff <(ls) <(ls -a)"] {
        let decide = |text: &str| with_rules(text, &["Bash"], &[], &["Read(//**)"]).verdict;
        assert_eq!(decide(text), Verdict::Deny, "{text}");
        for form in launched {
            let text = form.replace("TEXT", text);
            assert_eq!(decide(&text), Verdict::Deny, "{text}");
        }
    }
    let plain = strict("diff <(ls) <(ls -a)");
    let launched = strict("timeout 5 diff <(ls) <(ls -a)");
    assert_eq!((plain.verdict, plain.read_only), (launched.verdict, launched.read_only));
    let listed = launched
        .commands
        .iter()
        .filter(|command| command.argv.first().is_some_and(|word| word.text.as_deref() == Some(b"ls")));
    assert_eq!(listed.count(), 2, "each command is listed once");
}

#[test]
fn a_process_substitution_behind_a_redirect_is_no_file() {
    let rules = ["Read(**)"];
    for text in ["alpha < <(pwd)", "wc < <(pwd)"] {
        for text in [text.to_owned(), format!("timeout 5 {text}"), format!("nice {text}")] {
            let decision = with_rules(&text, &["Bash"], &[], &rules);
            // `timeout` and `nice` have no path either.
            assert_eq!(decision.verdict, Verdict::Allow, "{text}");
            assert!(decision.paths.is_empty(), "{text}");
        }
    }
    for text in ["alpha < x", "timeout 5 alpha < x", "alpha < <(cat x)", "timeout 5 alpha < <(cat x)"] {
        assert_eq!(with_rules(text, &["Bash"], &[], &rules).verdict, Verdict::Deny, "{text}");
    }
}

#[test]
fn the_input_of_a_launcher_is_that_of_the_shell_behind_it() {
    let launched = ["TEXT", "timeout 5 TEXT", "nice TEXT", "time TEXT", "timeout 5 nice TEXT", "nohup TEXT"];
    for text in ["bash <<< 'rm x'", "bash <<'E'\nrm x\nE\n", "bash -s <<< 'rm x'"] {
        for form in launched {
            let text = form.replace("TEXT", text);
            let denied = with_rules(&text, &["Bash"], &[], &["Edit(x/**)"]);
            assert_eq!(denied.verdict, Verdict::Deny, "{text}");
            let allowed = with_rules(&text, &["Bash"], &[], &["Edit(y/**)"]);
            assert!(allowed.verdict == Verdict::Allow && allowed.parse_complete, "{text}");
        }
    }
    // A launcher that may not pass its input on.
    for text in ["env -i bash <<< 'rm x'", "setsid bash <<< 'rm x'"] {
        assert_ne!(with_rules(text, &["Bash"], &[], &[]).verdict, Verdict::Allow, "{text}");
    }
    // xargs reads its input itself, and runs the file that the input names.
    for text in ["xargs bash < x", "xargs -n 1 bash <<< 'ls'", "timeout 5 xargs bash <<< 'ls'"] {
        assert_ne!(with_rules(text, &["Bash"], &[], &[]).verdict, Verdict::Allow, "{text}");
    }
    // The input of another command is not that of the shell.
    let inner = with_rules("cat <<< 'rm x'; timeout 5 bash", &["Bash"], &[], &[]);
    assert_eq!(inner.verdict, Verdict::Ask);
}

#[test]
fn a_redirect_does_not_turn_a_read_path_into_a_written_one() {
    let decide = |text: &str| decide(&Request::bash(text.as_bytes()), &Profile::builtin("demo").unwrap());
    let accesses = |decision: &Decision| {
        let used = decision.paths.iter().filter(|used| used.path == "/usr/share/x");
        used.map(|used| used.access).collect::<Vec<_>>()
    };
    for text in ["head -1 /usr/share/x > out", "whereis /usr/share/x < *.txt"] {
        for text in [text.to_owned(), format!("timeout 5 {text}")] {
            let decision = decide(&text);
            assert_eq!(decision.verdict, Verdict::Allow, "{text}");
            assert!(!accesses(&decision).contains(&Access::Write), "{text}");
        }
    }
    // A flag that is not known may write.
    let unknown = decide("head --unknown /usr/share/x > out");
    assert_eq!((unknown.verdict, accesses(&unknown)), (Verdict::Ask, vec![Access::Write]));
    assert_eq!(decide("head -1 /usr/share/x > /usr/x").verdict, Verdict::Ask);
    let denied = with_rules("head -1 /usr/share/x > out", &["Bash"], &[], &["Read(//usr/**)"]);
    assert_eq!(denied.verdict, Verdict::Deny);
}
