//! The effect of hooks on a decision: the order of the questions, and the verdict that follows from the answers. This
//! module calls no hook.

use airlock_domain::{HookAnswer, HookBinding, HookOutcome};
use airlock_policy::{Answer, Binding, Decision, Reason, Verdict};

use super::{
    offer::Decided,
    record::{self, DecisionEncoder},
};
use crate::profiles::ProfileHook;

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
    verdict: Verdict,
    /// Only the last step of the policy asks, and no hook has tightened the verdict.
    is_open: bool,
    /// The reasons for changes of the verdict, the deciding one first.
    reasons: Vec<Reason>,
    /// The answers that count, in order.
    answers: Vec<HookAnswer>,
}

/// The known answers about a decision, with the next hook to ask.
pub(crate) struct Consulted<'p> {
    pub(crate) effect: HookEffect,
    /// `None`: no hook has to be asked.
    pub(crate) next: Option<&'p ProfileHook>,
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

    fn add(&mut self, mut answer: HookAnswer, is_current: bool) {
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

/// Applies the known answers to a policy's decision in the order of the profile's hooks. For each hook, the answer for
/// the current binding counts. Answers for other bindings that tighten stay in force.
pub(crate) fn consulted<'p>(
    decided: &Decided,
    hooks: &'p [ProfileHook],
    known: &[HookAnswer],
) -> Consulted<'p> {
    let current = HookBinding(*decided.binding.as_bytes());
    let mut effect = HookEffect::none(&decided.decision);
    let tightens = |answer: &&HookAnswer| matches!(answer.outcome, HookOutcome::Ask | HookOutcome::Deny);
    for stale in known.iter().filter(|answer| answer.binding != current).filter(tightens) {
        effect.add(stale.clone(), false);
    }
    for hook in hooks {
        if effect.verdict == Verdict::Deny {
            break;
        }
        let own = |answer: &&HookAnswer| answer.binding == current && answer.hook == hook.name;
        let Some(answer) = known.iter().find(own) else {
            return Consulted { effect, next: Some(hook) };
        };
        effect.add(HookAnswer { required: hook.required, ..answer.clone() }, true);
    }
    Consulted { effect, next: None }
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

impl Decided {
    /// Returns the decision after the hooks have answered.
    pub(crate) fn with_hooks(mut self, effect: HookEffect, profile: &str, encode: DecisionEncoder) -> Self {
        if effect.answers.is_empty() {
            return self;
        }
        self.verdict = effect.verdict;
        self.hooks = effect;
        let mut shown = self.shown();
        record::deny_unbound(&mut shown);
        self.verdict = shown.verdict;
        self.record = record::of(&shown, profile, self.hooks.answers(), encode);
        self
    }

    /// Encodes the decision so far, for the next hook.
    pub(crate) fn encoded_with(
        &self,
        effect: &HookEffect,
        profile: &str,
        encode: DecisionEncoder,
    ) -> Vec<u8> {
        encode(&shown(&self.decision, effect), profile, effect.answers())
    }

    /// Returns the decision as clients see it: the policy's, with the effect of the hooks.
    pub(super) fn shown(&self) -> Decision {
        shown(&self.decision, &self.hooks)
    }
}

fn shown(decision: &Decision, effect: &HookEffect) -> Decision {
    let mut shown = decision.clone();
    shown.verdict = effect.verdict;
    shown.reasons.splice(0..0, effect.reasons.iter().cloned());
    shown
}
