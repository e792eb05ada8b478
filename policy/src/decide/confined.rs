//! The step of profiles that allow everything inside the sandbox. It allows every command that does not ask to run
//! outside. It asks about commands that destroy a person's work. It also asks about text that is not understood if a
//! rule might apply to it. Deny and ask rules have answered before.

use super::destroys;
use super::match_rules::RuleSet;
use super::report::Outcome;
use crate::decision::{Reason, Verdict};
use crate::facts::Facts;
use crate::profile::Profile;
use crate::request::{Mode, Request, Shell};

/// Returns the answer for a sandboxed command, in every mode except plan.
pub(super) fn outcome(
    request: &Request<'_>,
    profile: &Profile,
    rules: &RuleSet<'_>,
    views: &[&Facts<'_>],
    mode: Mode,
) -> Option<Outcome> {
    let applies = profile.allow_confined() && request.unsandboxed.is_none() && mode != Mode::Plan;
    let facts = views.first().filter(|_| applies)?;
    let destroyed = |facts: &&Facts<'_>| {
        let reasons = (0..facts.commands.len()).filter_map(|index| destroys::at(facts, rules, index, mode));
        reasons.collect::<Vec<_>>()
    };
    let reasons: Vec<_> = views.iter().flat_map(destroyed).collect();
    if !reasons.is_empty() {
        return Some(Outcome::with(Verdict::Ask, reasons));
    }
    if request.shell != Shell::Bash || views.iter().any(|facts| is_uncertain(facts)) {
        if let Some(reason) = destroys::in_text(request.command) {
            return Some(Outcome::new(Verdict::Ask, reason));
        }
        if rules.any_forbids() {
            return Some(uncertain(views));
        }
    }
    let inside = views.iter().all(|facts| rules.paths_not_permitted(facts).is_empty());
    if inside && views.iter().all(|facts| facts.all_proven()) {
        return Some(facts.proven());
    }
    let message = "the profile allows commands that stay inside the sandbox";
    Some(Outcome::new(Verdict::Allow, Reason::new("confined", message, None)))
}

/// Reports whether the text may run a command that no rule was compared with.
fn is_uncertain(facts: &Facts<'_>) -> bool {
    !facts.analysis.complete || facts.has_opaque() || facts.hidden_program().is_some()
}

/// Returns the answer for a text that is not understood and that a rule may apply to.
fn uncertain(views: &[&Facts<'_>]) -> Outcome {
    let message = "a rule may apply to a part of the text that is not understood";
    let mut reasons = vec![Reason::new("rules_not_certain", message, None)];
    reasons.extend(views.iter().filter_map(|facts| facts.hidden_program()));
    reasons.extend(views.iter().flat_map(|facts| facts.problem_reasons()));
    Outcome::with(Verdict::Ask, reasons)
}
