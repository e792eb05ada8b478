//! Requirements that a person can lift. A decision can rely on programs and paths that do not match or cannot be
//! checked. Airlock then asks a person, and a positive answer removes the requirement.

use airlock_domain::{BoundFile, Grant, Requirement};
use airlock_policy::{self as policy, Answer, Binding, Decision, Reason, Verdict};

use super::{
    offer::{Decided, Offer},
    record::{self, DecisionEncoder},
};

/// The reason of a runner's refusal that a person can lift.
pub(crate) const UNTRUSTED_PATH: &str = "untrusted_path";
/// The reason of a runner's refusal after which a person is asked again.
pub(crate) const FILES_CHANGED: &str = "files_changed";
/// The reason for which a runner refuses a read-only command that would obey a file that names a program. A
/// person can lift it.
pub(crate) const NAMES_A_PROGRAM: &str = "names_a_program";
/// The reason code of a decision that names more than a grant can contain.
const UNTOLD: &str = "too_much_to_check";

/// Changes an ALLOW to an ASK if the runner would have to check more facts than a grant can contain.
pub(super) fn ask_of_untold(decision: &mut Decision) {
    if is_liftable(decision) {
        let message =
            "it names too many programs or paths for a runner to check, or one with an unknown value";
        without_requirement(decision);
        ask(decision, UNTOLD, message.to_owned());
    }
}

/// Reports whether the decision is an ALLOW that relies on programs and paths. A read-only command keeps the
/// requirement in any case.
fn is_liftable(decision: &Decision) -> bool {
    decision.verdict == Verdict::Allow
        && decision.requires.contains(&policy::Requirement::TrustedPath)
        && !decision.read_only
}

fn ask(decision: &mut Decision, code: &'static str, message: String) {
    decision.verdict = Verdict::Ask;
    let reason = Reason { code, message, span: None, rule: None, command_index: None };
    decision.reasons.insert(0, reason);
}

fn without_requirement(decision: &mut Decision) {
    decision.requires.retain(|requires| *requires != policy::Requirement::TrustedPath);
}

impl Decided {
    /// Returns the question that follows a runner's refusal with this reason: the same command without the
    /// requirement, or with other files. Returns `None` if a person cannot allow it.
    pub(crate) fn question(
        mut self,
        code: &'static str,
        why: &str,
        profile: &str,
        encode: DecisionEncoder,
    ) -> Option<Self> {
        let grant = match self.verdict {
            Verdict::Ask if code == FILES_CHANGED => self.grant.clone(),
            _ if code == NAMES_A_PROGRAM => self.without_obeyed()?,
            _ => {
                let grant = self.without_trusted_path()?;
                without_requirement(&mut self.decision);
                grant
            }
        };
        let mut shown = self.shown();
        ask(&mut shown, code, why.to_owned());
        let binding = Binding::new(grant.binding());
        let record = record::of(&shown, profile, self.hooks.answers(), encode);
        Some(Self { verdict: shown.verdict, grant, binding, record, ..self })
    }

    /// Returns the offer after a positive answer to that question.
    pub(super) fn lifted_by(&self, answer: &Answer, files: &[BoundFile]) -> Option<Offer> {
        let lifted = [self.without_trusted_path(), self.without_obeyed()];
        lifted.into_iter().flatten().find_map(|grant| {
            let grant = record::to_files(&grant, files);
            let mut decision = self.decision.clone();
            if !decision.read_only {
                without_requirement(&mut decision);
            }
            let permit = decision.permit_with_answer(Binding::new(grant.binding()), answer).ok()?;
            Offer::new(grant, permit).map(Offer::lifted)
        })
    }

    /// Returns the same grant without the check of the files that its programs obey. The command still runs on
    /// read-only mounts.
    fn without_obeyed(&self) -> Option<Grant> {
        let is_held = self.decision.verdict == Verdict::Allow && !self.grant.decided.obeyed.is_empty();
        is_held.then(|| {
            let mut grant = self.grant.clone();
            grant.decided.obeyed.clear();
            grant
        })
    }

    fn without_trusted_path(&self) -> Option<Grant> {
        is_liftable(&self.decision).then(|| {
            let mut grant = self.grant.clone();
            grant.requires.retain(|requirement| *requirement != Requirement::TrustedPath);
            grant
        })
    }
}
