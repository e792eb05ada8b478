//! A decision for a person: what was decided by what, with the span underlined.

use std::fmt::Write as _;

use crate::decision::{Decision, Requirement, Span, Verdict};

/// The decision as text of several lines, each ended by a line feed.
#[must_use]
pub fn render(command: &[u8], decision: &Decision) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{}", headline(decision));
    for reason in &decision.reasons {
        let _ = writeln!(out, "\n  {}: {}", reason.code, printable(reason.message.as_bytes()));
        if let Some(rule) = &reason.rule {
            let _ = writeln!(out, "  by the rule `{}`", printable(rule.as_bytes()));
        }
        if let Some(span) = reason.span {
            underline(&mut out, command, span);
        }
    }
    for warning in &decision.warnings {
        let _ = writeln!(out, "\n  warning: {}", printable(warning.message.as_bytes()));
        if let Some(span) = warning.span {
            underline(&mut out, command, span);
        }
    }
    if !decision.suggested_rules.is_empty() {
        let _ = writeln!(out, "\n  rules that would allow it:");
        for rule in &decision.suggested_rules {
            let _ = writeln!(out, "    {}", printable(rule.as_bytes()));
        }
    }
    out
}

fn headline(decision: &Decision) -> String {
    let verdict = match decision.verdict {
        Verdict::Allow => "allow",
        Verdict::Ask => "ask",
        Verdict::Deny => "deny",
    };
    let mut line = verdict.to_owned();
    if decision.read_only {
        line.push_str(" (read-only)");
    }
    let needs: Vec<&str> = decision
        .requires
        .iter()
        .map(|requirement| match requirement {
            Requirement::ReadOnlyMount => "a read-only mount",
            Requirement::TrustedPath => "a trusted path",
        })
        .collect();
    if !needs.is_empty() {
        let _ = write!(line, ", needs {}", needs.join(" and "));
    }
    line
}

/// The line of the command that holds the span's start, and a line of marks.
fn underline(out: &mut String, command: &[u8], span: Span) {
    let before = command.get(..span.start).unwrap_or(command);
    let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let rest = command.get(start..).unwrap_or_default();
    let length = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
    let line = rest.get(..length).unwrap_or_default();
    let lead = printable(line.get(..span.start.saturating_sub(start)).unwrap_or(line));
    let end = span.end.saturating_sub(start).min(line.len());
    let marked = printable(line.get(span.start.saturating_sub(start)..end).unwrap_or_default());
    let _ = writeln!(out, "    {}", printable(line));
    let marks = "^".repeat(marked.chars().count().max(1));
    let _ = writeln!(out, "    {}{marks}", " ".repeat(lead.chars().count()));
}

/// Control characters must not reach a terminal.
fn printable(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes)
        .chars()
        .map(|c| if c == '\t' { ' ' } else { c })
        .map(|c| if is_unprintable(c) { '\u{fffd}' } else { c })
        .collect()
}

fn is_unprintable(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}
