//! The proof that a command may be placed. Only this module can create it: from an ALLOW, or from
//! an ASK with an answer that is bound to the same hash. A hook's answer counts only for the ASK of
//! the last step. The proof is never stored: a server that places a stored execution decides it again.

use crate::decision::{Decision, Requirement, Verdict};

/// The hash of everything that was decided about: command, shell, directory, environment, profile,
/// snapshot, sandbox flag. The server computes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Binding([u8; 32]);

impl Binding {
    /// Creates a binding from this hash.
    #[must_use]
    pub fn new(hash: [u8; 32]) -> Self {
        Self(hash)
    }

    /// Returns the hash.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// The answer of a person or a hook to an ASK, as the server stored it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// The binding that the answer was given for.
    pub binding: Binding,
    /// Whether the command was approved.
    pub approved: bool,
}

/// The reason why no permit was created.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PermitError {
    /// The decision is DENY; no answer can change it.
    #[error("the command is denied; an answer cannot allow it")]
    Denied,
    /// The approver denied the command.
    #[error("the approver denied the command")]
    Refused,
    /// The answer was given for another binding.
    #[error("the answer is for another command, or for another state of this command")]
    OtherBinding,
    /// A rule or a check decided, so only a person can allow the command.
    #[error("a hook can allow only a command about which nothing else decides")]
    NotLastStep,
}

/// The right to place one command. It cannot be copied, stored, or created elsewhere.
///
/// ```compile_fail
/// let forged = airlock_policy::Permit {
///     binding: airlock_policy::Binding::new([0; 32]),
///     requires: Vec::new(),
///     read_only: true,
/// };
/// ```
///
/// ```compile_fail
/// fn twice(permit: airlock_policy::Permit) -> (airlock_policy::Permit, airlock_policy::Permit) {
///     (permit.clone(), permit)
/// }
/// ```
#[derive(Debug)]
#[must_use = "a permit has an effect only when it is placed"]
pub struct Permit {
    binding: Binding,
    requires: Vec<Requirement>,
    read_only: bool,
}

impl Permit {
    /// Returns the binding of the permit.
    #[must_use]
    pub fn binding(&self) -> Binding {
        self.binding
    }

    /// Returns the requirements that the runner must satisfy, or else refuse the command.
    #[must_use]
    pub fn requires(&self) -> &[Requirement] {
        &self.requires
    }

    /// Reports whether the command must run on read-only mounts.
    #[must_use]
    pub fn read_only(&self) -> bool {
        self.read_only
    }
}

impl Decision {
    /// Returns the permit of an ALLOW; `None` for every other verdict.
    pub fn permit(&self, binding: Binding) -> Option<Permit> {
        (self.verdict == Verdict::Allow).then(|| self.make_permit(binding))
    }

    /// Returns the permit of an ALLOW, or of an ASK that was approved.
    ///
    /// # Errors
    ///
    /// Fails for a DENY, for a denied approval, and for an answer with another binding.
    pub fn permit_with_answer(&self, binding: Binding, answer: &Answer) -> Result<Permit, PermitError> {
        match self.verdict {
            Verdict::Deny => Err(PermitError::Denied),
            _ if answer.binding != binding => Err(PermitError::OtherBinding),
            _ if !answer.approved => Err(PermitError::Refused),
            _ => Ok(self.make_permit(binding)),
        }
    }

    /// Returns the permit of an ASK of the last step that a hook allowed.
    ///
    /// # Errors
    ///
    /// Fails for every other decision, for an answer that does not allow the command, and for an answer with another
    /// binding.
    pub fn permit_with_hook(&self, binding: Binding, answer: &Answer) -> Result<Permit, PermitError> {
        match self.verdict {
            Verdict::Deny => Err(PermitError::Denied),
            Verdict::Allow => Err(PermitError::NotLastStep),
            Verdict::Ask if !self.last_step.is_reached() => Err(PermitError::NotLastStep),
            Verdict::Ask if answer.binding != binding => Err(PermitError::OtherBinding),
            Verdict::Ask if !answer.approved => Err(PermitError::Refused),
            Verdict::Ask => Ok(self.make_permit(binding)),
        }
    }

    fn make_permit(&self, binding: Binding) -> Permit {
        Permit { binding, requires: self.requires.clone(), read_only: self.read_only }
    }
}
