//! Steps 10 and 11: edits that the mode accepts, and allow rules.

use super::match_rules::RuleSet;
use crate::analysis::Found;
use crate::decision::{Access, Reason};
use crate::facts::{CommandFacts, Facts};
use crate::parse::Word;
use crate::profile::breadth::runs_anything;
use crate::readonly;
use crate::request::Mode;
use crate::rules::Rule;
use crate::rules::matching::{Element, WordPattern};
use crate::tables::names::is_safe_variable;

/// Reports whether every command only reads, or edits inside the workspace.
pub(super) fn edits_only(facts: &Facts<'_>) -> bool {
    let both = facts.analysis.commands.iter().zip(&facts.commands);
    facts.analysis.complete && both.into_iter().all(|(found, command)| is_edit(found, command, facts))
}

pub(super) fn is_edit(found: &Found, command: &CommandFacts, facts: &Facts<'_>) -> bool {
    if command.refusal.is_none() {
        return true;
    }
    if !writes_known_paths(command) || !facts.has_safe_environment() {
        return false;
    }
    let rest = without_redirects(found);
    let editor = command.writes.as_ref().is_some_and(|writes| writes.is_edit)
        && found.trusted_name().is_some_and(|name| !facts.analysis.defined.contains(name))
        && safe_assignments(found);
    editor || readonly::prove(&rest, &facts.analysis).is_ok()
}

/// Reports whether every written path is known and not outside the workspace. Protected names were checked before,
/// unless a rule permits them.
fn writes_known_paths(command: &CommandFacts) -> bool {
    command.paths.iter().filter(|path| path.access != Access::Read).all(|path| path.exact && !path.outside)
}

fn without_redirects(found: &Found) -> Found {
    let mut rest = found.clone();
    rest.redirects.retain(readonly::redirect_is_harmless);
    rest
}

fn safe_assignments(found: &Found) -> bool {
    found.assignments.iter().all(|assign| is_safe_variable(&assign.name))
}

/// Returns the rules that allow the text, if every command is proven or matched by a rule.
pub(super) fn by_rules(rules: &RuleSet<'_>, facts: &Facts<'_>, mode: Mode) -> Option<Vec<Reason>> {
    if !facts.analysis.complete {
        return None;
    }
    let mut reasons = Vec::new();
    for (index, command) in facts.commands.iter().enumerate() {
        if command.refusal.is_none() {
            continue;
        }
        if is_covered_launcher(index, rules, facts, mode) {
            continue;
        }
        let rule = covering_rule(index, rules, facts, mode)?;
        let span = facts.analysis.commands.get(index).map(|found| found.span);
        reasons.push(Reason {
            rule: Some(rule),
            command_index: Some(index),
            ..Reason::new("allow_rule", "a rule allows it", span)
        });
    }
    (!reasons.is_empty()).then_some(reasons)
}

/// Reports whether this is a safe launcher, which needs no rule: the command that it runs is listed and checked
/// separately.
pub(super) fn is_covered_launcher(index: usize, rules: &RuleSet<'_>, facts: &Facts<'_>, mode: Mode) -> bool {
    let (Some(found), Some(command)) = (facts.analysis.commands.get(index), facts.commands.get(index)) else {
        return false;
    };
    let shadowed = found.trusted_name().is_none_or(|name| facts.analysis.defined.contains(name));
    found.safe_launcher
        && facts.has_safe_environment()
        && !shadowed
        && safe_assignments(found)
        && redirects_permitted(found, command, rules, facts, mode)
}

/// Returns the rule that covers the command itself, or that covers its launcher word for word.
pub(super) fn covering_rule(
    index: usize,
    rules: &RuleSet<'_>,
    facts: &Facts<'_>,
    mode: Mode,
) -> Option<String> {
    let found = facts.analysis.commands.get(index).filter(|_| facts.has_safe_environment())?;
    let command = facts.commands.get(index)?;
    for rule in rules.allow().filter(|rule| rules.must_match(rule, found)) {
        let exact = rule.words().is_some_and(WordPattern::is_exact);
        let shadowed = found.trusted_name().is_some_and(|name| facts.analysis.defined.contains(name));
        let redirects = exact || redirects_permitted(found, command, rules, facts, mode);
        if !shadowed
            && !found.opaque
            && !is_too_broad(rule, found, command)
            && safe_assignments(found)
            && redirects
        {
            return Some(rule.text().to_owned());
        }
    }
    facts.analysis.launcher_chain(index).find_map(|above| {
        let launcher = facts.analysis.commands.get(above)?;
        let mut matching = rules.allow().filter(|rule| rules.must_match(rule, launcher));
        matching.find(|rule| reaches(rule, launcher, found)).map(|rule| rule.text().to_owned())
    })
}

/// Reports whether a rule for a launcher covers the launched command. It does if it matches word for word, or up to the
/// launched program's name, or if the command runs on another host.
fn reaches(rule: &Rule, launcher: &Found, launched: &Found) -> bool {
    let Some(pattern) = rule.words() else {
        return false;
    };
    let literal = pattern.elements().iter().take_while(|element| match element {
        Element::Word(word) => word.iter().all(Option::is_some),
        Element::AnyWords => false,
    });
    let named = launched.words.first().and_then(|program| {
        let same = |word: &Word| word.span == program.span && word.text == program.text;
        launcher.words.iter().position(same).filter(|_| program.text.is_some())
    });
    pattern.is_exact() || launcher.elsewhere || named.is_some_and(|at| at < literal.count())
}

/// Reports whether a rule is too broad. A prefix rule for a program that can run anything (find,
/// sed, awk) covers reading, but not flags and scripts that write or run.
fn is_too_broad(rule: &Rule, found: &Found, command: &CommandFacts) -> bool {
    let name = found.trusted_name().unwrap_or_default();
    let words = rule.words().map_or(&[][..], |pattern| pattern.elements());
    let names_program_only = words.iter().filter(|element| matches!(element, Element::Word(_))).count() < 2;
    let code = command.refusal.as_ref().map_or("", |refusal| refusal.code);
    let harmful = matches!(code, "dangerous_flag" | "sed_script" | "awk_program");
    runs_anything(name) && names_program_only && harmful
}

/// Reports whether each write redirect is permitted, by the mode that accepts edits or by a rule
/// that names the file.
fn redirects_permitted(
    found: &Found,
    command: &CommandFacts,
    rules: &RuleSet<'_>,
    facts: &Facts<'_>,
    mode: Mode,
) -> bool {
    if found.redirects.iter().all(readonly::redirect_is_harmless) {
        return true;
    }
    let writes: Vec<_> = command.paths.iter().filter(|path| path.access != Access::Read).collect();
    let inside = mode == Mode::AcceptEdits && writes_known_paths(command);
    !writes.is_empty() && (inside || writes.iter().all(|path| rules.permits(path, facts)))
}

/// Returns the rules that name every command word for word. No other rules allow a zsh text.
pub(super) fn by_exact_rules(rules: &RuleSet<'_>, facts: &Facts<'_>) -> Option<Vec<Reason>> {
    if !facts.analysis.complete || facts.analysis.commands.is_empty() || !facts.has_safe_environment() {
        return None;
    }
    let mut reasons = Vec::new();
    for (index, found) in facts.analysis.commands.iter().enumerate() {
        let plain = found.redirects.is_empty() && found.assignments.is_empty() && !found.opaque;
        let exact = |rule: &&Rule| rule.words().is_some_and(WordPattern::is_exact);
        let rule = rules.allow().filter(exact).find(|rule| plain && rules.must_match(rule, found))?;
        reasons.push(Reason {
            rule: Some(rule.text().to_owned()),
            command_index: Some(index),
            ..Reason::new("allow_rule", "a rule allows it", Some(found.span))
        });
    }
    Some(reasons)
}
