//! The pipeline from a request and a profile to a decision. The steps are in the order in which
//! they answer; deny is always first.

mod allow;
mod builtin_deny;
mod confined;
mod match_rules;
mod obeyed;
mod parts;
mod path_rules;
mod powershell;
mod report;
mod spelling;
mod terminal;

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::advice;
use crate::decision::{Decision, Reason, Requirement, Verdict};
use crate::facts::Facts;
use crate::last_step::LastStep;
use crate::limits;
use crate::profile::Profile;
use crate::request::{Mode, Request, Shell};
use crate::rules::raw::{RawViews, Unquoted};
use crate::snapshot::Snapshot;

use match_rules::RuleSet;
pub use parts::Part;
use report::Outcome;

/// Decides a request. Total: every input gets an answer in bounded time.
#[must_use]
pub fn decide(request: &Request<'_>, profile: &Profile) -> Decision {
    catch_unwind(AssertUnwindSafe(|| decide_inner(request, profile))).unwrap_or_else(|_| {
        let fault = Reason::new("internal_fault", "the policy failed with an internal error", None);
        let outcome = Outcome::new(Verdict::Ask, fault);
        Facts::none().report(outcome, profile)
    })
}

/// Returns the verdict of each command of the request as if it were the whole text. Explains the decision to a person.
/// It does not affect decisions. Empty if the text is too long.
#[must_use]
pub fn parts(request: &Request<'_>, profile: &Profile) -> Vec<Part> {
    if request.command.len() > limits::MAX_COMMAND_BYTES {
        return Vec::new();
    }
    let parts = || {
        let rules = RuleSet::new(request, profile);
        let (facts, _) = Facts::all(request, profile);
        parts::parts(profile, &rules, &facts, effective_mode(request, profile))
    };
    catch_unwind(AssertUnwindSafe(parts)).unwrap_or_default()
}

fn decide_inner(request: &Request<'_>, profile: &Profile) -> Decision {
    if request.command.len() > limits::MAX_COMMAND_BYTES {
        let message = format!("the command is longer than {} bytes", limits::MAX_COMMAND_BYTES);
        let outcome = Outcome::new(Verdict::Deny, Reason::new("too_long", message, None));
        return Facts::none().report(outcome, profile);
    }
    let rules = RuleSet::new(request, profile);
    let mode = effective_mode(request, profile);
    let (plain, behind) = Facts::all(request, profile);
    let (facts, other) = views(request, &plain, behind.as_ref());
    let mut outcome = steps(request, profile, &rules, (facts, other), mode);
    if mode == Mode::Plan && !outcome.by_proof && outcome.verdict != Verdict::Deny {
        outcome.verdict = Verdict::Deny;
        let message = "the mode `plan` runs only commands that are proven read-only";
        outcome.reasons.insert(0, Reason::new("plan_mode", message, None));
    }
    outcome.shadow = rules.shadow_hits(facts);
    let by_proof = outcome.by_proof;
    let mut decision = facts.report(outcome, profile);
    // A read-only run has no aliases, so the text must be read-only without them, too.
    let by_alias = other.is_some_and(|other| !other.is_read_only());
    if by_alias || request.unsandboxed.is_some() || request.shell == Shell::Zsh {
        decision.read_only = false;
        decision.concurrency_safe = false;
    }
    if decision.read_only {
        decision.requires = vec![Requirement::ReadOnlyMount, Requirement::TrustedPath];
    }
    // If a rule or the mode also allows the command, it runs even when the proof does not hold.
    if decision.read_only && by_proof && (mode == Mode::Plan || !profile.auto_allow()) {
        decision.obeyed = obeyed::of(&rules, facts, mode);
    }
    advice::fill(&mut decision, facts, request);
    decision
}

/// Selects the facts that decide, and further facts to check. A read-only command runs without
/// the snapshot, so both the text as written and its expansion by aliases must be checked. Any other
/// command runs after alias expansion, if the shell expands aliases.
fn views<'f>(
    request: &Request<'_>,
    plain: &'f Facts<'f>,
    behind: Option<&'f Facts<'f>>,
) -> (&'f Facts<'f>, Option<&'f Facts<'f>>) {
    let Some(behind) = behind else {
        return (plain, None);
    };
    let expands = request.snapshot.is_some_and(Snapshot::expands);
    let read_only = plain.is_read_only() && behind.is_read_only();
    if expands && !read_only { (behind, Some(plain)) } else { (plain, Some(behind)) }
}

/// Returns the requested mode, tightened to one that the profile permits.
fn effective_mode(request: &Request<'_>, profile: &Profile) -> Mode {
    let wished = request.mode.unwrap_or(profile.default_mode());
    let permitted = profile.modes().iter().copied();
    permitted.filter(|mode| *mode >= wished).min().unwrap_or(Mode::Plan)
}

fn steps(
    request: &Request<'_>,
    profile: &Profile,
    rules: &RuleSet<'_>,
    (facts, other): (&Facts<'_>, Option<&Facts<'_>>),
    mode: Mode,
) -> Outcome {
    let views: Vec<&Facts<'_>> = std::iter::once(facts).chain(other).collect();
    let unseen = |facts: &&Facts<'_>| !facts.analysis.complete || facts.has_opaque();
    let searched = rules.any_forbids() && (request.shell == Shell::Zsh || views.iter().any(unseen));
    let unquoted = searched.then(|| Unquoted::of(request.command));
    let raw = unquoted.as_ref().map(|unquoted| RawViews::new(request.command, unquoted));
    let opaque = powershell::Text::all(request, rules, &views);
    let of_opaque = |verdict| opaque.iter().find_map(|text| text.answer(rules, verdict));
    let denied = views.iter().find_map(|facts| rules.denied(facts, raw.as_ref()));
    if let Some(reason) = denied.or_else(|| of_opaque(Verdict::Deny)) {
        return Outcome::new(Verdict::Deny, reason);
    }
    if let Some(reason) = builtin_deny::reason(request, profile, &views) {
        return Outcome::new(Verdict::Deny, reason);
    }
    let asked = views.iter().find_map(|facts| rules.asked(facts, raw.as_ref()));
    if let Some(reason) = asked.or_else(|| of_opaque(Verdict::Ask)) {
        // A positive answer covers these hosts, so all of them are stated.
        let hosts = views.iter().flat_map(|facts| rules.asked_hosts(facts));
        return Outcome::with(Verdict::Ask, std::iter::once(reason).chain(hosts).collect());
    }
    if let Some(reason) = rules.budget_exceeded() {
        return Outcome::new(Verdict::Ask, reason);
    }
    if let Some(outcome) = terminal::shell(request, profile, rules, &views) {
        return outcome;
    }
    if let Some(outcome) = confined::outcome(request, profile, rules, &views, mode) {
        return outcome;
    }
    if let Some(hidden) = views.iter().find_map(|facts| facts.hidden_program()) {
        let others = facts.problem_reasons().into_iter().chain(facts.refusals());
        let reasons = std::iter::once(hidden).chain(others);
        return Outcome::with(Verdict::Ask, reasons.collect());
    }
    if let Some(outcome) = unsandboxed(request, profile, facts) {
        return outcome;
    }
    if mode == Mode::Bypass && request.unsandboxed.is_none() {
        let message = "the mode `bypass` allows every command that no rule denies or asks about";
        return Outcome::new(Verdict::Allow, Reason::new("mode_bypass", message, None));
    }
    if let Some(outcome) = views.iter().find_map(|facts| misparsed(facts)) {
        return outcome;
    }
    if request.shell == Shell::Zsh {
        return for_zsh(rules, facts);
    }
    let proven = views.iter().all(|facts| facts.all_proven());
    let outside = views.iter().flat_map(|facts| rules.paths_not_permitted(facts)).collect();
    by_what_it_does(profile, rules, facts, mode, (proven, outside))
}

/// Steps 8 to 13 for zsh. A bash parse does not prove how zsh reads the text. The last ASK is not that of step 13: it
/// states that the text cannot be checked, and a hook cannot check it either.
fn for_zsh(rules: &RuleSet<'_>, facts: &Facts<'_>) -> Outcome {
    let outside = rules.paths_not_permitted(facts);
    if !outside.is_empty() {
        return Outcome::with(Verdict::Ask, outside);
    }
    if let Some(reasons) = allow::by_exact_rules(rules, facts) {
        return Outcome::with(Verdict::Allow, reasons).requiring(Requirement::TrustedPath);
    }
    let message = "a zsh command is allowed only by rules that contain the whole command";
    Outcome::new(Verdict::Ask, Reason::new("zsh_not_proven", message, None))
}

/// Steps 8 to 13 for a text that is understood.
fn by_what_it_does(
    profile: &Profile,
    rules: &RuleSet<'_>,
    facts: &Facts<'_>,
    mode: Mode,
    (proven, mut outside): (bool, Vec<Reason>),
) -> Outcome {
    if !outside.is_empty() {
        outside.extend(facts.refusals());
        return Outcome::with(Verdict::Ask, outside);
    }
    if proven {
        return facts.proven();
    }
    if mode == Mode::AcceptEdits && allow::edits_only(facts) {
        let message = "the command only reads, and edits files inside the workspace";
        let reason = Reason::new("mode_accept_edits", message, None);
        return Outcome::new(Verdict::Allow, reason).requiring(Requirement::TrustedPath);
    }
    if let Some(reasons) = allow::by_rules(rules, facts, mode) {
        return Outcome::with(Verdict::Allow, reasons).requiring(Requirement::TrustedPath);
    }
    if profile.auto_allow() {
        let message = "the profile allows commands that run in the sandbox";
        return Outcome::new(Verdict::Allow, Reason::new("sandbox_auto_allow", message, None));
    }
    let mut reasons = facts.refusals();
    if reasons.is_empty() {
        let message =
            "the command is read-only only after alias expansion, and read-only commands run without aliases";
        reasons.push(Reason::new("read_only_by_alias", message, None));
    }
    Outcome { last_step: LastStep::REACHED, ..Outcome::with(Verdict::Ask, reasons) }
}

/// Step 5. Running outside the sandbox requires three permissions; the request is the first.
fn unsandboxed(request: &Request<'_>, profile: &Profile, facts: &Facts<'_>) -> Option<Outcome> {
    let wish = request.unsandboxed?;
    let deny = |code, message| Some(Outcome::new(Verdict::Deny, Reason::new(code, message, None)));
    if !profile.allow_unsandboxed() {
        return deny("unsandboxed_profile", "the profile does not permit runs outside the sandbox");
    }
    if !wish.floor_permits {
        return deny("unsandboxed_floor", "the runner does not permit runs outside the sandbox");
    }
    let plain = facts.analysis.complete && facts.has_safe_environment();
    if profile.unsandboxed_without_asking() && plain && facts.is_free_of_git_and_outside() {
        let message = "the profile allows runs outside the sandbox without asking";
        return Some(Outcome::new(Verdict::Allow, Reason::new("unsandboxed_allowed", message, None)));
    }
    let message = "the request asks to run outside the sandbox";
    Some(Outcome::new(Verdict::Ask, Reason::new("unsandboxed", message, None)))
}

/// Step 7: the syntax tree cannot be trusted.
fn misparsed(facts: &Facts<'_>) -> Option<Outcome> {
    let mut reasons: Vec<Reason> = facts.problem_reasons();
    if facts.analysis.commands.len() > limits::MAX_SUBCOMMANDS {
        let message = format!("the text has more than {} simple commands", limits::MAX_SUBCOMMANDS);
        reasons.push(Reason::new("too_many_commands", message, None));
    }
    (!reasons.is_empty()).then(|| Outcome::with(Verdict::Ask, reasons))
}
