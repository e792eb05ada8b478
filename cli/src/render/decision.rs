//! A policy decision as text: the verdict, its reasons, and the underlined span of each reason.

use std::fmt::Write as _;

use super::{escape, names};
use airlock_client::v1::{Decision, HookAnswer, HookOutcome, Reason, Verdict};

/// The columns of a line of a command; longer lines are cut.
const COLUMNS: usize = 160;

/// Returns the verdict and the code of its first reason, such as `deny (deny_rule)`.
#[must_use]
pub fn headline(decision: &Decision) -> String {
    let verdict = verdict(decision.verdict());
    let mut line = match decision.reasons.first() {
        Some(reason) => format!("{verdict} ({})", shown(&reason.code)),
        None => verdict.to_owned(),
    };
    if decision.read_only {
        line.push_str(", read-only");
    }
    if !decision.profile.is_empty() {
        let _ = write!(line, ", by the profile `{}`", shown(&decision.profile));
    }
    line
}

/// Returns the name of a verdict. An unknown verdict counts as a denial.
#[must_use]
pub fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Allow => "allow",
        Verdict::Ask => "ask",
        Verdict::Deny | Verdict::Unspecified => "deny",
    }
}

/// Formats each reason with its part of the command, then the answers of hooks, warnings and rewrites. Each line ends
/// with a line feed.
#[must_use]
pub fn reasons(command: &[u8], decision: &Decision) -> String {
    let mut out = String::new();
    for reason in &decision.reasons {
        push_reason(&mut out, command, reason);
    }
    for answer in &decision.hooks {
        push_hook(&mut out, answer);
    }
    for warning in &decision.warnings {
        let _ = writeln!(out, "  warning: {}", shown(warning));
    }
    for rewrite in &decision.rewrites {
        let _ = writeln!(out, "  rewritten: {}", shown(rewrite));
    }
    out
}

/// Formats the rules that would allow the command, one per line; empty if there are none.
#[must_use]
pub fn suggestions(decision: &Decision) -> String {
    decision.suggested_rules.iter().fold(String::new(), |mut out, rule| {
        let _ = writeln!(out, "    {}", shown(rule));
        out
    })
}

fn push_hook(out: &mut String, answer: &HookAnswer) {
    let outcome = names::lower::<HookOutcome>(answer.outcome);
    let _ = write!(out, "  hook `{}`: {outcome}", shown(&answer.hook));
    if answer.required {
        out.push_str(", required");
    }
    if !answer.in_effect {
        out.push_str(", no effect");
    }
    if !answer.reason.is_empty() {
        let _ = write!(out, ": {}", shown(&answer.reason));
    }
    out.push('\n');
}

fn push_reason(out: &mut String, command: &[u8], reason: &Reason) {
    let _ = writeln!(out, "  {}: {}", shown(&reason.code), shown(&reason.message));
    if !reason.rule.is_empty() {
        let _ = writeln!(out, "  by the rule `{}`", shown(&reason.rule));
    }
    if let Some(span) = &reason.span {
        let shown = escape::excerpt(command, offset(span.start)..offset(span.end), COLUMNS);
        for marked in &shown.lines {
            let _ = writeln!(out, "    {}\n    {}", marked.line, marked.marks);
        }
        if shown.more > 0 {
            let _ = writeln!(out, "    and {} more lines", shown.more);
        }
    }
}

fn offset(wire: u32) -> usize {
    usize::try_from(wire).unwrap_or(usize::MAX)
}

fn shown(text: &str) -> String {
    escape::line(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use airlock_client::v1::Span;

    #[test]
    fn shows_the_reason_under_the_text() {
        let decision = Decision {
            verdict: Verdict::Deny.into(),
            reasons: vec![Reason {
                code: "deny_rule".to_owned(),
                message: "a rule denies this".to_owned(),
                span: Some(Span { start: 5, end: 13 }),
                rule: "Bash(git push:*)".to_owned(),
                command_index: None,
            }],
            warnings: vec!["pushes\nby force".to_owned()],
            profile: "demo".to_owned(),
            hooks: vec![
                HookAnswer {
                    hook: "guard".to_owned(),
                    outcome: HookOutcome::Deny.into(),
                    reason: "too\u{202e} risky".to_owned(),
                    in_effect: true,
                    required: true,
                },
                HookAnswer {
                    hook: "slow".to_owned(),
                    outcome: HookOutcome::Timeout.into(),
                    ..HookAnswer::default()
                },
            ],
            ..Default::default()
        };
        assert_eq!(headline(&decision), "deny (deny_rule), by the profile `demo`");
        let text = reasons(b"ls ; git push -f", &decision);
        let expected = "  deny_rule: a rule denies this\n  by the rule `Bash(git push:*)`\n    ls ; git push -f\n         ^^^^^^^^\n  hook `guard`: deny, required: too\\u{202e} risky\n  hook `slow`: timeout, no effect\n  warning: pushes\\u{a}by force\n";
        assert_eq!(text, expected);
        assert_eq!(verdict(Verdict::Unspecified), "deny");
    }
}
