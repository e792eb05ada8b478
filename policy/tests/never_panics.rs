//! `decide` returns a decision for every input.

use proptest::prelude::*;

const PARTS: &[&str] = &[
    "ls",
    "rm",
    "git",
    " ",
    " -x ",
    "\n",
    ";",
    "|",
    "&&",
    "||",
    "&",
    "(",
    ")",
    "{",
    "}",
    "$(",
    "`",
    "${",
    "x",
    "$x",
    "\"",
    "'",
    "\\",
    "\\\n",
    "<<E\n",
    "E\n",
    "<<<",
    "<",
    ">",
    ">>",
    "2>&1",
    "$((",
    "))",
    "[[ ",
    " ]]",
    "[ ",
    " ]",
    "if ",
    "then ",
    "fi",
    "for x in ",
    "do ",
    "done",
    "case x in ",
    "esac",
    "*",
    "?",
    "{a,b}",
    "=",
    "#",
    "~",
    "$'",
    "\u{a0}",
    "\r",
    "é",
    "xargs ",
    "sh -c ",
    "find . -exec ",
    "eval ",
    "time ",
    "cd ",
    "awk ",
    "sed ",
    "-n ",
    "1,5p",
    "--",
    "sort ",
    "a[1]",
    "@P}",
    "!",
];

/// Generates parts of shell text, so that random texts reach all parts of the parser.
fn part() -> impl Strategy<Value = String> {
    prop_oneof![prop::sample::select(PARTS).prop_map(str::to_owned), "\\PC{0,4}"]
}

mod sample {
    use airlock_policy::{Mode, Profile, Request, Rules, Shell, Unsandboxed, Verdict, decide};
    use proptest::test_runner::RngSeed;

    use super::*;

    fn config() -> ProptestConfig {
        ProptestConfig {
            cases: u32::try_from(airlock_sampling::extent(400, 1500)).unwrap(),
            rng_seed: RngSeed::Fixed(airlock_sampling::seed()),
            failure_persistence: None,
            ..ProptestConfig::default()
        }
    }

    proptest! {
        #![proptest_config(config())]

        #[test]
        fn any_bytes_get_an_answer(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            for name in Profile::builtin_names() {
                let profile = Profile::builtin(name).unwrap();
                let request = Request::bash(&bytes);
                let decision = decide(&request, &profile);
                prop_assert!(!decision.reasons.is_empty());
                prop_assert_ne!(decision.reasons[0].code, "internal_fault");
                prop_assert!(serde_json::to_string(&decision).is_ok());
                let parts = airlock_policy::parts(&request, &profile);
                let narrow = airlock_policy::check::Style { colours: true, columns: 3 };
                let _ = airlock_policy::check::render(&bytes, &decision, &parts, narrow);
            }
        }

        #[test]
        fn any_shell_like_text_gets_an_answer(parts in prop::collection::vec(part(), 0..25)) {
            let text = parts.concat();
            let profile = Profile::builtin("strict").unwrap();
            let decision = decide(&Request::bash(text.as_bytes()), &profile);
            prop_assert_ne!(decision.reasons[0].code, "internal_fault", "{:?}", text);
            let each = airlock_policy::parts(&Request::bash(text.as_bytes()), &profile);
            let allowed = each.iter().all(|part| part.verdict == Verdict::Allow);
            prop_assert!(decision.verdict != Verdict::Allow || allowed, "{:?} {:?}", text, each);
            for reason in &decision.reasons {
                if let Some(span) = reason.span {
                    prop_assert!(span.start <= span.end && span.end <= text.len(), "{:?} {:?}", text, reason);
                }
            }
            for command in &decision.commands {
                prop_assert!(command.span.end <= text.len(), "{:?} {:?}", text, command.span);
            }
            if decision.read_only {
                prop_assert!(decision.parse_complete);
            }
        }

        #[test]
        fn a_bare_deny_rule_denies_whatever_runs(parts in prop::collection::vec(part(), 0..25)) {
            let text = parts.concat();
            let none: &[&str] = &[];
            let rules = Rules::parse(none, none, &["Bash"]).unwrap();
            let profile = Profile::builtin("sandboxed").unwrap();
            let request = Request { extra_rules: Some(&rules), mode: Some(Mode::Bypass), ..Request::bash(text.as_bytes()) };
            let decision = decide(&request, &profile);
            let named = decision.commands.iter().any(|c| c.argv.first().is_some_and(|w| w.text.is_some()));
            prop_assert!(!named || decision.verdict == Verdict::Deny, "{:?}", text);
        }

        #[test]
        fn zsh_is_never_allowed_by_the_proof(parts in prop::collection::vec(part(), 1..10)) {
            let text = parts.concat();
            let profile = Profile::builtin("strict").unwrap();
            let zsh = Request { shell: Shell::Zsh, ..Request::bash(text.as_bytes()) };
            prop_assert_eq!(decide(&zsh, &profile).verdict, Verdict::Ask);
        }

        #[test]
        fn powershell_is_allowed_only_if_all_of_it_is_understood(parts in prop::collection::vec(part(), 1..10)) {
            let text = parts.concat();
            let profile = Profile::builtin("strict").unwrap();
            let decision = decide(&Request { shell: Shell::Pwsh, ..Request::bash(text.as_bytes()) }, &profile);
            prop_assert_ne!(decision.reasons[0].code, "internal_fault", "{:?}", text);
            let allowed = decision.verdict == Verdict::Allow;
            prop_assert!(!allowed || (decision.parse_complete && decision.read_only), "{:?}", text);
            let length = text.len();
            prop_assert!(decision.commands.iter().all(|command| command.span.end <= length), "{:?}", text);
        }

        #[test]
        fn nothing_is_read_only_outside_the_sandbox(parts in prop::collection::vec(part(), 1..10)) {
            let text = parts.concat();
            let profile = Profile::builtin("sandboxed").unwrap();
            let unsandboxed = Some(Unsandboxed { floor_permits: true });
            let decision = decide(&Request { unsandboxed, ..Request::bash(text.as_bytes()) }, &profile);
            prop_assert_ne!(decision.verdict, Verdict::Allow);
            prop_assert!(!decision.read_only);
        }
    }
}
