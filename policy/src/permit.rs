//! The proof that a command may be placed. Only this module can make one, from an
//! ALLOW, or from an ASK with the answer bound to the same hash. It is never
//! stored: a server that places a stored execution decides it again.

use crate::decision::{Decision, Requirement, Verdict};

/// Hash of everything that was decided about: command, shell, directory,
/// environment, profile, snapshot, sandbox flag. The server computes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Binding([u8; 32]);

impl Binding {
    /// A binding of this hash.
    #[must_use]
    pub fn new(hash: [u8; 32]) -> Self {
        Self(hash)
    }

    /// The hash itself.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// A person's or a hook's answer to an ASK, as the server stored it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// What the answer was given for.
    pub binding: Binding,
    /// Whether it was yes.
    pub approved: bool,
}

/// Why no permit was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PermitError {
    /// The decision is DENY; no answer lifts it.
    #[error("the command is denied; an answer cannot allow it")]
    Denied,
    /// The answer was no.
    #[error("the answer was no")]
    Refused,
    /// The answer was given for something else.
    #[error("the answer was given for another command or another state of it")]
    OtherBinding,
}

/// The right to place one command. It cannot be copied, stored or built elsewhere.
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
#[must_use = "a permit that is not placed permits nothing"]
pub struct Permit {
    binding: Binding,
    requires: Vec<Requirement>,
    read_only: bool,
}

impl Permit {
    /// What the permit is for.
    #[must_use]
    pub fn binding(&self) -> Binding {
        self.binding
    }

    /// What the runner must give, or refuse.
    #[must_use]
    pub fn requires(&self) -> &[Requirement] {
        &self.requires
    }

    /// Whether the command must run on read-only mounts.
    #[must_use]
    pub fn read_only(&self) -> bool {
        self.read_only
    }
}

impl Decision {
    /// The permit of an ALLOW; `None` for every other verdict.
    pub fn permit(&self, binding: Binding) -> Option<Permit> {
        (self.verdict == Verdict::Allow).then(|| self.make_permit(binding))
    }

    /// The permit of an ASK that was answered, or of an ALLOW.
    ///
    /// # Errors
    ///
    /// A DENY, an answer of no, and an answer to anything but `binding`.
    pub fn permit_with_answer(&self, binding: Binding, answer: &Answer) -> Result<Permit, PermitError> {
        match self.verdict {
            Verdict::Deny => Err(PermitError::Denied),
            _ if answer.binding != binding => Err(PermitError::OtherBinding),
            _ if !answer.approved => Err(PermitError::Refused),
            _ => Ok(self.make_permit(binding)),
        }
    }

    fn make_permit(&self, binding: Binding) -> Permit {
        Permit { binding, requires: self.requires.clone(), read_only: self.read_only }
    }
}
