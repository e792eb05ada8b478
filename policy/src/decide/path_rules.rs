//! Deny and ask rules for paths. A rule applies to every path that a command may read or write, as far as its words
//! show. A word with an unknown value matches no rule; the sandbox limits the paths that it can reach.

use std::cell::OnceCell;

use crate::analysis::Found;
use crate::decision::{Access, Span};
use crate::facts::{CommandFacts, Facts};
use crate::launch::base_name;
use crate::parse::Word;
use crate::paths::Located;
use crate::readonly::PathWord;
use crate::rules::globs::{PATH_STEPS, PathPattern};
use crate::rules::matching::StepBudget;
use crate::rules::{Rule, Tool};

/// Reports whether the rule covers this access.
pub(super) fn fits(rule: &Rule, access: Access) -> bool {
    match rule.tool() {
        Tool::Read => access == Access::Read,
        Tool::Edit => access != Access::Read,
        Tool::Bash | Tool::PowerShell | Tool::Network => false,
    }
}

/// Returns the span of the command that the rule applies to. `loose` holds the command's loose paths once they are
/// needed.
pub(super) fn hit(
    rule: &Rule,
    facts: &Facts<'_>,
    index: usize,
    loose: &OnceCell<Vec<Located>>,
    budget: &StepBudget,
) -> Option<Span> {
    let (found, command) = (facts.analysis.commands.get(index)?, facts.commands.get(index)?);
    let pattern = rule.path()?;
    let used = command.paths.iter().filter(|path| fits(rule, path.access));
    if let Some(path) = used.clone().find(|path| meets(pattern, path, facts, budget)) {
        return Some(path.span);
    }
    let searched = || by_names_searched(pattern, facts, found, budget);
    if let Some(span) = (rule.tool() == Tool::Read).then(searched).flatten() {
        return Some(span);
    }
    if understands_paths(found, command) {
        return None;
    }
    let loose = loose.get_or_init(|| loose_paths(found, facts));
    loose.iter().find(|path| meets(pattern, path, facts, budget)).map(|path| path.span)
}

fn meets(pattern: &PathPattern, path: &Located, facts: &Facts<'_>, budget: &StepBudget) -> bool {
    let glob_steps = path.glob.as_ref().map_or(0, |glob| glob.len() * pattern.text().len());
    if !budget.spend(PATH_STEPS + path.path.len() + glob_steps) {
        return false;
    }
    let (workspace, home) = (facts.places.workspace, facts.places.home);
    if let Some(glob) = &path.glob {
        return pattern.may_match(glob, workspace, home);
    }
    // For a word that is known only in part, `path` is the directory that it starts with.
    let below = || pattern.matches(&format!("{}/_", path.path), workspace, home);
    let named = if path.exact {
        // A file that is created at this path can end up in a directory of that name. A program that reads a directory
        // reads its contents.
        let contents = matches!(path.access, Access::Create | Access::Read);
        pattern.matches(&path.path, workspace, home) || (contents && below())
    } else {
        below()
    };
    let removed =
        path.exact && path.access == Access::Delete && pattern.lies_below(&path.path, workspace, home);
    named || removed
}

/// Reports whether a table describes the paths of the command. Its other words are then not paths. Example: git takes
/// revisions and paths in the same position.
fn understands_paths(found: &Found, command: &CommandFacts) -> bool {
    let edits = command.writes.as_ref().is_some_and(|writes| writes.is_edit);
    let understood = command.refusal.is_none() || edits;
    let is_git = found.program().is_some_and(|program| base_name(program) == b"git");
    understood && !is_git && (!command.paths.is_empty() || crate::advice::knows_paths(found))
}

/// Returns the loose paths of a command: each word, and each part of a word, that could be a path.
fn loose_paths(found: &Found, facts: &Facts<'_>) -> Vec<Located> {
    let parts = [whole as fn(&[u8]) -> Option<&[u8]>, value, behind_colon, behind_at, behind_short_flag];
    let words = found.words.iter().skip(1);
    let texts = words.flat_map(|word| parts.iter().filter_map(move |part| Some((word, part(&word.lead)?))));
    let located = texts.flat_map(|(word, text)| {
        let path =
            Word { text: word.text.is_some().then(|| text.to_vec()), lead: text.to_vec(), ..word.clone() };
        crate::paths::locate(&PathWord::read(&path), &found.directory, &facts.places)
    });
    located.filter(|path| path.exact || path.glob.is_some()).collect()
}

fn whole(text: &[u8]) -> Option<&[u8]> {
    Some(text)
}

fn behind(text: &[u8], mark: u8) -> Option<&[u8]> {
    let at = text.iter().position(|byte| *byte == mark)?;
    text.get(at + 1..)
}

/// Returns the path in a form such as `--file=.env` or `if=.env`.
fn value(text: &[u8]) -> Option<&[u8]> {
    behind(text, b'=')
}

/// Returns the path in a form such as `HEAD:.env`.
fn behind_colon(text: &[u8]) -> Option<&[u8]> {
    behind(text, b':')
}

/// Returns the path in a form such as `-d @.env`.
fn behind_at(text: &[u8]) -> Option<&[u8]> {
    behind(text, b'@')
}

/// Returns the path in a form such as `-f.env`.
fn behind_short_flag(text: &[u8]) -> Option<&[u8]> {
    text.strip_prefix(b"-").filter(|rest| !rest.starts_with(b"-")).and_then(|rest| rest.get(1..))
}

/// Matches a command such as `find . -name .env -exec cat {} ;`, which passes the names that it searches for to
/// another program.
fn by_names_searched(
    pattern: &PathPattern,
    facts: &Facts<'_>,
    found: &Found,
    budget: &StepBudget,
) -> Option<Span> {
    let launcher = facts.analysis.commands.get(found.launcher?)?;
    let takes_names = found.words.iter().skip(1).any(|word| word.text.is_none());
    if !takes_names || base_name(launcher.program()?) != b"find" {
        return None;
    }
    let pairs = launcher.words.windows(2);
    pairs
        .filter_map(|pair| match pair {
            [flag, name] if matches!(flag.text.as_deref(), Some(b"-name" | b"-iname" | b"-path")) => {
                Some(name)
            }
            _ => None,
        })
        .find(|name| {
            let text = String::from_utf8_lossy(&name.lead);
            let last = text.rsplit('/').next().unwrap_or_default();
            budget.spend(PATH_STEPS + last.len() * pattern.text().len()) && pattern.may_match_name(last)
        })
        .map(|name| name.span)
}
