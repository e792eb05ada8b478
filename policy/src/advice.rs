//! The parts of a decision other than its verdict: categories, warnings, suggestions. They never
//! change the verdict.

mod edit;
mod network;
mod remember;
mod runs;
mod suggest;
pub(crate) mod warn;

use crate::analysis::Found;
use crate::decision::{Category, Decision, FoundCommand, Verdict};
use crate::facts::Facts;
use crate::powershell::Call;
use crate::request::Request;
use crate::tables;

pub use remember::{NotRemembered, memorable};

/// Fills the informative parts of the decision.
pub(crate) fn fill(decision: &mut Decision, facts: &Facts<'_>, request: &Request<'_>) {
    let silent = |command: &FoundCommand| command.category == Category::Silent;
    decision.no_output_expected = !decision.commands.is_empty() && decision.commands.iter().all(silent);
    // A denied command does not start, so its connections do not matter.
    if decision.verdict != Verdict::Deny {
        decision.warnings = network::warnings(facts, request);
    }
    decision.warnings.extend(warn::of(facts));
    decision.network = network::uses(facts);
    decision.edit = edit::of(facts, request);
    decision.category =
        if decision.edit.is_some() { Category::Edit } else { compound_category(&decision.commands) };
    if decision.verdict == Verdict::Ask {
        decision.suggested_rules = suggest::rules(facts, &decision.reasons);
    }
    decision.runs = runs::of(facts);
}

/// Returns the category of one command.
pub(crate) fn category(found: &Found) -> Category {
    if found.words.is_empty() {
        return Category::Neutral;
    }
    if let Some(own) = found.in_powershell.as_ref().filter(|own| own.is_function || own.call.is_some()) {
        return own.call.as_ref().filter(|_| !own.is_function).map_or(Category::Other, cmdlet_category);
    }
    tables::category(found.trusted_name().unwrap_or_default())
}

/// Returns the category of a cmdlet. A switch can select another one: `-Recurse` turns a list into a search. A silent
/// cmdlet prints the items with `-PassThru`, so it is not silent then.
fn cmdlet_category(call: &Call) -> Category {
    let given = |(parameter, _): &(&str, Category)| parameter.is_empty() || call.switches_on(parameter);
    let category = tables::cmdlet_categories(call.cmdlet.name).find(given);
    match category.map_or(Category::Other, |(_, category)| category) {
        Category::Silent if call.switches_on("PassThru") => Category::Other,
        category => category,
    }
}

/// Returns the category of a compound. It has one if each part that is not neutral has one. If they differ, the first
/// one is used.
fn compound_category(commands: &[FoundCommand]) -> Category {
    let mut telling =
        commands.iter().map(|command| command.category).filter(|part| *part != Category::Neutral);
    match telling.next() {
        None if commands.is_empty() => Category::Other,
        None => Category::Neutral,
        Some(_) if telling.any(|part| part == Category::Other) => Category::Other,
        Some(first) => first,
    }
}

/// Reports whether a table describes which words of the program are paths.
pub(crate) fn knows_paths(found: &Found) -> bool {
    let Some(name) = found.trusted_name() else {
        return false;
    };
    found.safe_launcher
        || tables::program(&[name]).is_some()
        || tables::writer(&[name]).is_some()
        || name == b"git"
}
