//! The verdict of each command of a compound, to explain the decision about the compound. It does not affect decisions.

use super::allow;
use super::builtin_deny;
use super::confined;
use super::match_rules::RuleSet;
use super::powershell;
use crate::decision::{Reason, Verdict};
use crate::facts::Facts;
use crate::profile::Profile;
use crate::request::Mode;

/// One command of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The verdict for the command alone.
    pub verdict: Verdict,
    /// The reason. Its span is the command's.
    pub why: Reason,
}

pub(super) fn parts(profile: &Profile, rules: &RuleSet<'_>, facts: &Facts<'_>, mode: Mode) -> Vec<Part> {
    let paths = rules.paths_not_permitted(facts);
    let part = |index: usize| {
        let outside = paths.iter().find(|reason| reason.command_index == Some(index));
        let (verdict, why) = rules
            .forbidding_rule(facts, index)
            .filter(|(verdict, _)| *verdict == Verdict::Deny)
            .or_else(|| builtin_deny::of_command(profile, facts, index).map(|reason| (Verdict::Deny, reason)))
            .or_else(|| rules.forbidding_rule(facts, index))
            .or_else(|| of_powershell(rules, facts, index))
            .or_else(|| confined(index, profile, rules, facts, mode))
            .or_else(|| facts.hidden_program_at(index).map(|reason| (Verdict::Ask, reason)))
            .or_else(|| {
                let message = "the mode `bypass` allows every command that no rule denies or asks about";
                (mode == Mode::Bypass).then(|| (Verdict::Allow, Reason::new("mode_bypass", message, None)))
            })
            .or_else(|| outside.map(|reason| (Verdict::Ask, reason.clone())))
            .or_else(|| by_what_it_does(index, profile, rules, facts, mode))?;
        let tightened = mode == Mode::Plan && why.code != "read_only" && verdict != Verdict::Deny;
        let verdict = if tightened { Verdict::Deny } else { verdict };
        let span = facts.analysis.commands.get(index).map(|found| found.span);
        Some(Part { verdict, why: Reason { span, command_index: Some(index), ..why } })
    };
    (0..facts.commands.len()).filter_map(part).collect()
}

/// Steps 3 and 4 for the text that this command passes to PowerShell.
fn of_powershell(rules: &RuleSet<'_>, facts: &Facts<'_>, index: usize) -> Option<(Verdict, Reason)> {
    let text = powershell::Text::of_command(facts, index)?;
    let verdicts = [Verdict::Deny, Verdict::Ask].into_iter();
    verdicts.filter_map(|verdict| Some((verdict, text.answer(rules, verdict)?))).next()
}

/// The step of profiles that allow everything inside the sandbox, for one command.
fn confined(
    index: usize,
    profile: &Profile,
    rules: &RuleSet<'_>,
    facts: &Facts<'_>,
    mode: Mode,
) -> Option<(Verdict, Reason)> {
    if !profile.allow_confined() || mode == Mode::Plan {
        return None;
    }
    if let Some(reason) = confined::destroys_at(facts, rules, index, mode) {
        return Some((Verdict::Ask, reason));
    }
    let hidden = facts.hidden_program_at(index).filter(|_| rules.any_forbids());
    let proven = facts.commands.get(index).is_some_and(|command| command.refusal.is_none());
    let (code, message) = if proven {
        ("read_only", "the command is proven read-only")
    } else {
        ("confined", "the profile allows commands that stay inside the sandbox")
    };
    let allowed = || (Verdict::Allow, Reason::new(code, message, None));
    Some(hidden.map_or_else(allowed, |reason| (Verdict::Ask, reason)))
}

/// Steps 9 to 13 for one command.
fn by_what_it_does(
    index: usize,
    profile: &Profile,
    rules: &RuleSet<'_>,
    facts: &Facts<'_>,
    mode: Mode,
) -> Option<(Verdict, Reason)> {
    let (found, command) = (facts.analysis.commands.get(index)?, facts.commands.get(index)?);
    let allow = |code, message: &str| Some((Verdict::Allow, Reason::new(code, message, None)));
    let Some(refusal) = &command.refusal else {
        return allow("read_only", "the command is proven read-only");
    };
    if mode == Mode::AcceptEdits && allow::is_edit(found, command, facts) {
        return allow("mode_accept_edits", "the command only edits files inside the workspace");
    }
    if let Some(rule) = allow::covering_rule(index, rules, facts, mode) {
        let why = Reason { rule: Some(rule), ..Reason::new("allow_rule", "a rule allows it", None) };
        return Some((Verdict::Allow, why));
    }
    if allow::is_covered_launcher(index, rules, facts, mode) {
        return allow("launcher", "the command that it launches is checked separately");
    }
    if profile.auto_allow() {
        return allow("sandbox_auto_allow", "the profile allows commands that run in the sandbox");
    }
    Some((Verdict::Ask, Reason::new(refusal.code, refusal.message.clone(), None)))
}
