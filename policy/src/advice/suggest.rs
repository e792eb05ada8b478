//! Rules that would allow the same command later: one for each part that was not proven. A rule that would allow much
//! more is not suggested.

use crate::analysis::{Analysis, Found};
use crate::decision::{Access, Reason};
use crate::facts::{CommandFacts, Facts};
use crate::paths::Located;
use crate::powershell::Call;
use crate::readonly;
use crate::tables::{self, CmdletEffect};

/// The largest length of a suggested rule, in bytes.
const LONGEST: usize = 200;
const MOST: usize = 5;
/// Subcommands that run commands from a project's files.
const RUN_SCRIPTS: &[&[u8]] = &[b"run", b"run-script", b"exec", b"test", b"start", b"x", b"dlx", b"config"];

/// Reason codes that no allow rule can override.
const NO_RULE_HELPS: &[&str] =
    &["ask_rule", "rules_not_certain", "unknown_program", "too_many_commands", "unsandboxed"];

/// Returns the rules for all parts. If no rule can cover one part, the list is empty, because the other rules alone
/// would not allow the command.
pub(super) fn rules(facts: &Facts<'_>, reasons: &[Reason]) -> Vec<String> {
    let no_rule_helps = reasons.iter().any(|reason| NO_RULE_HELPS.contains(&reason.code));
    if !facts.analysis.complete || !facts.analysis.problems.is_empty() || no_rule_helps {
        return Vec::new();
    }
    let mut out: Vec<String> = Vec::new();
    for (index, (found, command)) in facts.analysis.commands.iter().zip(&facts.commands).enumerate() {
        for path in command.paths.iter().filter(|path| is_asked_about(path, index, reasons)) {
            let Some(rule) = path_rule(path, facts) else {
                return Vec::new();
            };
            add(&mut out, rule);
        }
        if needs_rule(&facts.analysis, index, command) {
            let Some(rule) = command_rule(found) else {
                return Vec::new();
            };
            add(&mut out, rule);
        }
    }
    if out.len() > MOST { Vec::new() } else { out }
}

fn is_asked_about(path: &Located, index: usize, reasons: &[Reason]) -> bool {
    reasons.iter().any(|reason| {
        matches!(reason.code, "path_outside" | "protected_path")
            && reason.command_index == Some(index)
            && reason.span == Some(path.span)
    })
}

fn add(out: &mut Vec<String>, rule: String) {
    if !out.contains(&rule) {
        out.push(rule);
    }
}

/// Reports whether a command needs a rule. A safe launcher needs none; a command below another launcher is covered by
/// the launcher's rule.
fn needs_rule(analysis: &Analysis, index: usize, command: &CommandFacts) -> bool {
    let is_safe = |index: usize| analysis.commands.get(index).is_some_and(|found| found.safe_launcher);
    command.refusal.is_some() && !is_safe(index) && analysis.launcher_chain(index).all(is_safe)
}

/// Returns a rule for exactly this file and access.
fn path_rule(path: &Located, facts: &Facts<'_>) -> Option<String> {
    if !path.exact || path.path.contains(['(', ')', '\n']) {
        return None;
    }
    let tool = if path.access == Access::Read { "Read" } else { "Edit" };
    let inside = path.path.strip_prefix(facts.places.workspace).filter(|rest| rest.starts_with('/'));
    // A relative pattern starts with one slash, an absolute pattern with two.
    let named = inside.map_or_else(|| format!("/{}", path.path), str::to_owned);
    let escaped: String =
        named.chars().flat_map(|c| if "*?[]{}\\!".contains(c) { vec!['\\', c] } else { vec![c] }).collect();
    Some(format!("{tool}({escaped})"))
}

fn command_rule(found: &Found) -> Option<String> {
    let redirects = !found.redirects.iter().all(readonly::redirect_is_harmless);
    if let Some(call) = found.call() {
        return if redirects { None } else { cmdlet_rule(call) };
    }
    let tool = if found.in_powershell.is_some() { "PowerShell" } else { "Bash" };
    let name = std::str::from_utf8(found.trusted_name()?).ok()?;
    if let Some(sub) = subcommand(found, name).filter(|_| !redirects) {
        return Some(format!("{tool}({name} {sub}:*)"));
    }
    let words: Option<Vec<&str>> = found
        .words
        .iter()
        .map(|word| word.text.as_deref().and_then(|text| std::str::from_utf8(text).ok()))
        .collect();
    let quoted: Vec<String> = std::iter::once(name).chain(words?.into_iter().skip(1)).map(quote).collect();
    let rule = format!("{tool}({})", quoted.join(" "));
    (rule.len() <= LONGEST && !rule.contains('\n')).then_some(rule)
}

/// Returns a rule for exactly this call of a cmdlet. A cmdlet that may run something that its words do not show gets none.
fn cmdlet_rule(call: &Call) -> Option<String> {
    if call.hides || call.is_open || call.cmdlet.effect == CmdletEffect::Runs {
        return None;
    }
    let mut words = vec![call.cmdlet.name.to_owned()];
    for (name, values, _) in &call.parameters {
        words.push(format!("-{name}"));
        for value in values {
            words.push(quote(std::str::from_utf8(value.text.as_deref()?).ok()?));
        }
    }
    let rule = format!("PowerShell({})", words.join(" "));
    (rule.len() <= LONGEST && !rule.contains('\n')).then_some(rule)
}

/// Returns the subcommand, if a rule for all its uses would not allow arbitrary programs.
fn subcommand<'f>(found: &'f Found, name: &str) -> Option<&'f str> {
    tables::global(&[name.as_bytes()])?;
    let text = found.words.get(1)?.text.as_deref()?;
    let plain =
        text.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-') && !text.starts_with(b"-");
    let full = [name.as_bytes(), text];
    let runs = RUN_SCRIPTS.contains(&text)
        || tables::launcher(&full).is_some()
        || tables::has_launching_subcommands(&full);
    if !plain || text.is_empty() || runs {
        return None;
    }
    std::str::from_utf8(text).ok()
}

/// Quotes a word for a rule. A literal `*` is escaped.
fn quote(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    let escaped: String =
        word.chars().flat_map(|c| if matches!(c, '"' | '\\') { vec!['\\', c] } else { vec![c] }).collect();
    format!("\"{escaped}\"")
}
