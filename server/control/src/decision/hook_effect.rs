//! The effect of the answers of hooks on a verdict.

use airlock_domain::{HookAnswer, HookOutcome};
use airlock_policy::{Answer, Binding, Decision, Reason, Verdict};

/// The code of the reason if a hook allows the command.
const ALLOW: &str = "hook_allow";
/// The code of the reason if a hook wants an approver to answer.
const ASK: &str = "hook_ask";
/// The code of the reason if a hook denies the command.
const DENY: &str = "hook_deny";
/// The code of the reason if a required hook gave no valid answer.
const FAILED: &str = "hook_failed";

/// The effect of the answers that are known so far.
#[derive(Debug, Clone)]
pub(crate) struct HookEffect {
    pub(super) verdict: Verdict,
    /// Only the last step of the policy asks, and no hook has tightened the verdict.
    is_open: bool,
    /// The reasons for changes of the verdict, the deciding one first.
    pub(super) reasons: Vec<Reason>,
    /// The answers that count, in order.
    answers: Vec<HookAnswer>,
}

impl HookEffect {
    /// Returns the effect without answers.
    pub(super) fn none(decision: &Decision) -> Self {
        let is_open = decision.verdict == Verdict::Ask && decision.last_step.is_reached();
        Self { verdict: decision.verdict, is_open, reasons: Vec::new(), answers: Vec::new() }
    }

    /// Reports whether an ALLOW of the next hook changes the verdict.
    pub(crate) fn allow_has_effect(&self) -> bool {
        self.is_open && self.verdict == Verdict::Ask
    }

    /// Returns the verdict after one more answer, or `None` if the answer has no effect. `is_current` states whether the
    /// answer is for the current binding: an answer for another one can only tighten.
    pub(crate) fn verdict_after(&self, answer: &HookAnswer, is_current: bool) -> Option<Verdict> {
        match answer.outcome {
            _ if self.verdict == Verdict::Deny => None,
            HookOutcome::Deny => Some(Verdict::Deny),
            outcome if outcome.is_failure() && answer.required && is_current => Some(Verdict::Deny),
            HookOutcome::Ask if self.verdict == Verdict::Allow || self.is_open => Some(Verdict::Ask),
            HookOutcome::Allow if is_current && self.allow_has_effect() => Some(Verdict::Allow),
            _ => None,
        }
    }

    pub(super) fn add(&mut self, mut answer: HookAnswer, is_current: bool) {
        let after = self.verdict_after(&answer, is_current);
        answer.in_effect = after.is_some();
        if let Some(after) = after {
            self.verdict = after;
            self.is_open &= answer.outcome == HookOutcome::Allow;
            self.reasons.insert(0, reason(&answer));
        }
        self.answers.push(answer);
    }

    /// Returns the answer that allows the command, if the verdict is the ALLOW of a hook.
    pub(super) fn permitting(&self) -> Option<Answer> {
        let allows = |answer: &&HookAnswer| answer.outcome == HookOutcome::Allow && answer.in_effect;
        let allowing = self.answers.iter().rfind(allows).filter(|_| self.verdict == Verdict::Allow)?;
        Some(Answer { binding: Binding::new(allowing.binding.0), approved: true })
    }

    pub(super) fn answers(&self) -> &[HookAnswer] {
        &self.answers
    }
}

fn reason(answer: &HookAnswer) -> Reason {
    let HookAnswer { hook, outcome, reason, .. } = answer;
    let (code, what) = match outcome {
        HookOutcome::Allow => (ALLOW, format!("the hook `{hook}` allows it")),
        HookOutcome::Ask => (ASK, format!("the hook `{hook}` wants an approver to answer")),
        HookOutcome::Deny => (DENY, format!("the hook `{hook}` denies it")),
        failure => (FAILED, format!("the required hook `{hook}` gave no valid answer ({})", failure.name())),
    };
    let message = if reason.is_empty() { what } else { format!("{what}: {reason}") };
    Reason { code, message, span: None, rule: None, command_index: None }
}
