//! The values of a decision: its grant, the question to a person, and the offer that can be placed.

use airlock_domain::{BoundFile, EditPreview, Grant, Requirement};
use airlock_policy::{Binding, Decision, Permit, Verdict};
use airlock_store::record::DecisionRecord;

use super::hook_effect::HookEffect;

/// The workspace inside every sandbox.
pub const WORKSPACE: &str = "/workspace";
/// HOME inside every sandbox.
pub const HOME: &str = "/home/agent";
/// The temporary directory inside every sandbox.
pub const TMP: &str = "/tmp";

/// A decision with the grant that it applies to.
pub(crate) struct Decided {
    /// The policy's decision. Hooks do not change it.
    pub(crate) decision: Decision,
    /// The verdict after the hooks have answered.
    pub(crate) verdict: Verdict,
    /// The answers of the hooks.
    pub(super) hooks: HookEffect,
    pub(crate) grant: Grant,
    /// The hash of the grant, which permits and approvals are bound to.
    pub(crate) binding: Binding,
    pub(crate) record: DecisionRecord,
}

/// The state of a session's files for a question.
pub(crate) struct Looked {
    /// The files that the command would run or edit.
    pub(crate) files: Vec<BoundFile>,
    /// For a file edit: its changes, or the reason why they are not known.
    pub(crate) preview: Option<Result<EditPreview, String>>,
}

/// The subject of an approval.
pub(crate) struct Asked {
    pub(crate) binding: Binding,
    /// The files that the command would run or edit, with their current state.
    pub(crate) files: Vec<BoundFile>,
    /// The other bound fields, encoded for people.
    pub(crate) terms: Vec<u8>,
}

/// The consequence of a decision and, if there is one, of a person's answer.
pub(crate) enum Ruling {
    /// The execution may be placed with this offer.
    Place(Box<Offer>),
    /// A person must answer.
    Ask,
    /// The command must not run.
    Deny,
}

/// A grant with its permit. Only an offer can be placed.
pub(crate) struct Offer {
    grant: Grant,
    permit: Permit,
    is_lifted: bool,
}

impl Offer {
    /// Creates an offer. Returns `None` if the permit is for a different grant or promises less than the
    /// grant requires.
    pub(super) fn new(grant: Grant, permit: Permit) -> Option<Self> {
        let fits = permit.binding().as_bytes() == &grant.binding()
            && permit.read_only() == grant.read_only
            && requirements(permit.requires()) == grant.requires;
        fits.then_some(Self { grant, permit, is_lifted: false })
    }

    /// Marks the offer as one whose requirement for the runner a person has lifted.
    pub(super) fn lifted(self) -> Self {
        Self { is_lifted: true, ..self }
    }

    /// Reports whether a person has lifted the decision's requirement for the runner.
    pub(crate) fn is_lifted(&self) -> bool {
        self.is_lifted
    }

    /// Returns the grant and its hash, for the runner.
    pub(crate) fn into_parts(self) -> (Grant, [u8; 32]) {
        (self.grant, *self.permit.binding().as_bytes())
    }
}

/// Converts requirements to the contract's names, sorted and without duplicates, as a grant requires.
pub(super) fn requirements(found: &[airlock_policy::Requirement]) -> Vec<Requirement> {
    let mut requires: Vec<_> = found
        .iter()
        .map(|requirement| match requirement {
            airlock_policy::Requirement::ReadOnlyMount => Requirement::ReadOnlyMount,
            airlock_policy::Requirement::TrustedPath => Requirement::TrustedPath,
        })
        .collect();
    requires.sort_unstable();
    requires.dedup();
    requires
}
