//! The effect of hooks on a decision: the order of the questions, and the verdict that follows from the answers. This
//! module calls no hook.

use airlock_domain::{HookAnswer, HookBinding, HookOutcome};
use airlock_policy::{Decision, Verdict};

use super::{
    hook_effect::HookEffect,
    offer::Decided,
    record::{self, DecisionEncoder},
};
use crate::profiles::ProfileHook;

/// The known answers about a decision, with the next hook to ask.
pub(crate) struct Consulted<'p> {
    pub(crate) effect: HookEffect,
    /// `None`: no hook has to be asked.
    pub(crate) next: Option<&'p ProfileHook>,
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

impl Decided {
    /// Returns the decision after the hooks have answered.
    pub(crate) fn with_hooks(mut self, effect: HookEffect, profile: &str, encode: DecisionEncoder) -> Self {
        if effect.answers().is_empty() {
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
