//! The pure part of `airlock check`: converts an input line to an output line, and formats a
//! decision. It prints nothing and opens no file.

mod reading;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use airlock_escape as escape;
use serde::Deserialize;
use serde_json::json;

use crate::decide::Part;
use crate::decision::{Decision, Reason, Requirement, Span, Verdict};
use crate::profile::Profile;
use crate::request::{Mode, Request, Shell};
use crate::rules::Rules;

/// One line of `airlock check --jsonl`.
#[derive(Deserialize)]
struct Line {
    command: String,
    shell: Option<Shell>,
    rules: Option<LineRules>,
    cwd: Option<String>,
    mode: Option<Mode>,
    #[serde(default)]
    env: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct LineRules {
    #[serde(default)]
    allow: Vec<String>,
    #[serde(default)]
    ask: Vec<String>,
    #[serde(default)]
    deny: Vec<String>,
}

/// Returns the output line for an input line, without a line feed. For an invalid line, the output
/// has `error` and the decision `ask`.
#[must_use]
pub fn answer_line(line: &str, profile: &Profile) -> String {
    match answer(line, profile) {
        Ok(text) => text,
        Err(error) => json!({ "decision": "ask", "error": error }).to_string(),
    }
}

fn answer(line: &str, profile: &Profile) -> Result<String, String> {
    let input: Line =
        serde_json::from_str(line).map_err(|error| format!("the line is not a valid request: {error}"))?;
    let rules = match &input.rules {
        Some(rules) => {
            Some(Rules::parse(&rules.allow, &rules.ask, &rules.deny).map_err(|error| error.to_string())?)
        }
        None => None,
    };
    let env = input.env.into_iter().map(|(name, value)| (name, value.into_bytes())).collect();
    let layers = profile.network_layers();
    let decision = crate::decide(
        &Request {
            shell: input.shell.unwrap_or(Shell::Bash),
            cwd: input.cwd.as_deref(),
            mode: input.mode,
            extra_rules: rules.as_ref(),
            env: Some(&env),
            network: layers.as_ref(),
            ..Request::bash(input.command.as_bytes())
        },
        profile,
    );
    serde_json::to_string(&decision).map_err(|error| format!("the answer cannot be written as JSON: {error}"))
}

/// Returns the exit code of `airlock check` for one command: 0 for allow, 10 for ask, 11 for deny.
#[must_use]
pub fn exit_code(decision: &Decision) -> u8 {
    match decision.verdict {
        Verdict::Allow => 0,
        Verdict::Ask => 10,
        Verdict::Deny => 11,
    }
}

/// The largest number of commands that are listed.
const PARTS: usize = 20;
const INDENT: &str = "      ";

/// The style of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Whether to use terminal colours.
    pub colours: bool,
    /// The columns of a line; longer lines are cut.
    pub columns: usize,
}

impl Style {
    /// No colours, and lines of 100 columns.
    pub const PLAIN: Self = Self { colours: false, columns: 100 };

    fn paint(self, text: &str, colour: &str) -> String {
        if self.colours { format!("\x1b[{colour}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

const RED: &str = "1;31";
const YELLOW: &str = "1;33";
const GREEN: &str = "1;32";

fn colour(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Allow => GREEN,
        Verdict::Ask => YELLOW,
        Verdict::Deny => RED,
    }
}

fn name(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Allow => "allow",
        Verdict::Ask => "ask",
        Verdict::Deny => "deny",
    }
}

/// Formats the decision as lines: the verdict, each command with its own verdict, the reasons for the whole text, and
/// the informative parts. Each line ends with a line feed. `parts` must belong to the same request.
#[must_use]
pub fn render(command: &[u8], decision: &Decision, parts: &[Part], style: Style) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{}", headline(decision, style));
    for part in parts.iter().take(PARTS) {
        let verdict = style.paint(name(part.verdict), colour(part.verdict));
        let _ = writeln!(out, "\n  {verdict}: {}", why(&part.why));
        out.push_str(&excerpt(command, part.why.span.unwrap_or_default(), style, colour(part.verdict)));
        let found = part.why.command_index.and_then(|index| decision.commands.get(index));
        if let Some(line) = found.and_then(|found| found.powershell.as_ref()).and_then(reading::line) {
            let _ = writeln!(out, "{INDENT}{line}");
        }
    }
    if let Some(more @ 1..) = parts.len().checked_sub(PARTS) {
        let _ = writeln!(out, "\n  and {more} more commands");
    }
    let said = |reason: &&Reason| parts.iter().any(|part| says_the_same(part, reason));
    for reason in decision.reasons.iter().filter(|reason| !said(reason)) {
        let _ = writeln!(out, "\n  {}", why(reason));
        if let Some(span) = reason.span {
            out.push_str(&excerpt(command, span, style, colour(decision.verdict)));
        }
    }
    inform(&mut out, command, decision, style);
    out
}

/// Reports whether the reason repeats one that is already shown, or refers to an allowed command.
fn says_the_same(part: &Part, reason: &Reason) -> bool {
    let of_all = matches!(reason.code, "read_only" | "plan_mode" | "mode_bypass");
    let of_this = part.why.message == reason.message;
    let allowed = part.verdict == Verdict::Allow && part.why.command_index == reason.command_index;
    allowed || part.why.code == reason.code && (of_this || of_all)
}

fn why(reason: &Reason) -> String {
    let mut text = format!("{} ({})", printable(&reason.message), reason.code);
    if let Some(rule) = &reason.rule {
        let _ = write!(text, ": the rule `{}`", printable(rule));
    }
    text
}

/// Appends the parts that do not affect the verdict.
fn inform(out: &mut String, command: &[u8], decision: &Decision, style: Style) {
    for warning in &decision.warnings {
        let _ = writeln!(out, "\n  {}: {}", style.paint("warning", YELLOW), printable(&warning.message));
        if let Some(span) = warning.span {
            out.push_str(&excerpt(command, span, style, YELLOW));
        }
    }
    for rewrite in &decision.rewrites {
        let _ = writeln!(out, "\n  read as `{}`", printable(&rewrite.text));
        out.push_str(&excerpt(command, rewrite.span, style, YELLOW));
    }
    if let Some(edit) = &decision.edit {
        let files: Vec<String> = edit.files.iter().map(|file| printable(&file.path)).collect();
        let script = edit.expressions.join("\n");
        let _ = writeln!(out, "\n  a file edit of `{}` by `{}`", files.join("`, `"), printable(&script));
    }
    for hit in &decision.shadow {
        let _ = writeln!(
            out,
            "\n  the shadow rule `{}` would {} the command",
            printable(&hit.rule),
            name(hit.verdict)
        );
    }
    if !decision.suggested_rules.is_empty() {
        let _ = writeln!(out, "\n  rules that would allow the command:");
        for rule in &decision.suggested_rules {
            let _ = writeln!(out, "    {}", printable(rule));
        }
    }
}

fn headline(decision: &Decision, style: Style) -> String {
    let mut line = style.paint(name(decision.verdict), colour(decision.verdict));
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

/// Returns the lines of a command that a span touches, with marks below them.
fn excerpt(command: &[u8], span: Span, style: Style, colour: &str) -> String {
    let shown = escape::excerpt(command, span.start..span.end, style.columns.saturating_sub(INDENT.len()));
    let mut out = String::new();
    for marked in &shown.lines {
        let (lead, marks) = marked.marks.split_at(marked.marks.find('^').unwrap_or_default());
        let _ = writeln!(out, "{INDENT}{}\n{INDENT}{lead}{}", marked.line, style.paint(marks, colour));
    }
    if shown.more > 0 {
        let _ = writeln!(out, "{INDENT}and {} more lines", shown.more);
    }
    out
}

fn printable(text: &str) -> String {
    escape::line(text.as_bytes())
}

#[cfg(test)]
mod tests;
