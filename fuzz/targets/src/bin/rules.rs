//! Decides a command with a rule. The rule is on the first line and the command follows. Rules
//! never panic, and they apply.
#![no_main]

use airlock_fuzz_targets::{asked, decision};
use airlock_policy::{Request, Rule, Rules, Verdict};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &[u8]| {
    let end = text.iter().position(|byte| *byte == b'\n').unwrap_or(text.len());
    let (rule, command) = (String::from_utf8_lossy(&text[..end]), &text[(end + 1).min(text.len())..]);
    let Ok(parsed) = Rule::parse(&rule) else {
        return;
    };
    assert_eq!(parsed.text(), rule.trim(), "a rule is kept as it was written");
    let (strict, _) = asked::strict_and_sandboxed();
    let none: [&str; 0] = [];
    let rule = [rule.as_ref()];
    let with = |allow: &[&str], ask: &[&str], deny: &[&str]| {
        let rules = Rules::parse(allow, ask, deny).expect("the rule was read before");
        decision::checked(&Request { extra_rules: Some(&rules), ..Request::bash(command) }, strict)
    };
    let plain = with(&none, &none, &none);
    let denied = with(&rule, &none, &rule);
    assert!(denied.verdict >= plain.verdict, "a deny rule never loosens");
    if with(&none, &rule, &none).reasons[0].code == "ask_rule" {
        assert_eq!(denied.verdict, Verdict::Deny, "a deny rule matches whatever the same ask rule matches");
    }
    let allowed = with(&rule, &none, &none);
    assert!(allowed.verdict <= plain.verdict, "an allow rule never tightens");
    if allowed.verdict == Verdict::Allow && plain.verdict != Verdict::Allow {
        assert!(allowed.parse_complete, "only understood text is allowed");
    }
});
