//! What becomes of a decision that counts on programs and paths being what they say, where that does not hold
//! or cannot be looked at: a person is asked, and a yes lifts the requirement.

use airlock_policy::{Answer, Binding, Decision, Reason, Requirement as Requires, Verdict as Says};
use airlock_proto::domain::{BoundFile, Grant, Requirement};

use super::{Decided, Offer, bound, record};
use crate::engine::DecisionEncoder;

/// The reason of a runner's refusal that a person can lift.
pub(crate) const UNTRUSTED_PATH: &str = "untrusted_path";
/// The reason of a runner's refusal after which a person is asked again.
pub(crate) const FILES_CHANGED: &str = "files_changed";
/// The reason of a runner's refusal of a read-only command that would obey a file which names a program. A person can
/// lift it.
pub(crate) const NAMES_A_PROGRAM: &str = "names_a_program";
/// The decision names more than a runner can be told.
const UNTOLD: &str = "too_much_to_check";

/// Of an ALLOW that the runner would have to hold against more than it can be told, makes an ASK.
pub(super) fn ask_of_untold(decision: &mut Decision) {
    if is_liftable(decision) {
        let message =
            "it names more programs or paths than a runner can check, or one that cannot be told exactly";
        without_requirement(decision);
        ask(decision, UNTOLD, message.to_owned());
    }
}

/// Whether it is allowed because programs and paths are taken for what they say. What is read-only keeps the
/// requirement, whoever allowed it.
fn is_liftable(decision: &Decision) -> bool {
    decision.verdict == Says::Allow
        && decision.requires.contains(&Requires::TrustedPath)
        && !decision.read_only
}

fn ask(decision: &mut Decision, code: &'static str, message: String) {
    decision.verdict = Says::Ask;
    let reason = Reason { code, message, span: None, rule: None, command_index: None };
    decision.reasons.insert(0, reason);
}

fn without_requirement(decision: &mut Decision) {
    decision.requires.retain(|requires| *requires != Requires::TrustedPath);
}

impl Decided {
    /// The question that follows when the runner refused the grant for this reason: the same command without
    /// the requirement, or with other files, which nobody has allowed yet. None where a person cannot allow it.
    pub(crate) fn question(
        mut self,
        code: &'static str,
        why: &str,
        profile: &str,
        encode: DecisionEncoder,
    ) -> Option<Self> {
        let grant = match self.decision.verdict {
            Says::Ask if code == FILES_CHANGED => self.grant.clone(),
            _ if code == NAMES_A_PROGRAM => self.without_obeyed()?,
            _ => {
                let grant = self.without_trusted_path()?;
                without_requirement(&mut self.decision);
                grant
            }
        };
        ask(&mut self.decision, code, why.to_owned());
        let binding = Binding::new(grant.binding());
        let record = record(&self.decision, profile, encode);
        Some(Self { decision: self.decision, grant, binding, record })
    }

    /// What an answer to that question places.
    pub(super) fn lifted_by(&self, answer: &Answer, files: &[BoundFile]) -> Option<Offer> {
        let lifted = [self.without_trusted_path(), self.without_obeyed()];
        lifted.into_iter().flatten().find_map(|grant| {
            let grant = bound::to_files(&grant, files);
            let mut decision = self.decision.clone();
            if !decision.read_only {
                without_requirement(&mut decision);
            }
            let permit = decision.permit_with_answer(Binding::new(grant.binding()), answer).ok()?;
            Offer::new(grant, permit).map(|offer| Offer { is_lifted: true, ..offer })
        })
    }

    /// The same on read-only mounts, whatever files its programs obey.
    fn without_obeyed(&self) -> Option<Grant> {
        let is_held = self.decision.verdict == Says::Allow && !self.grant.decided.obeyed.is_empty();
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
