//! The mark of a decision of the last step.

/// Whether a decision is that of the last step: no rule, mode or check has an opinion about the command. Only this crate
/// can create the value for a reached last step.
///
/// ```compile_fail
/// let forged = airlock_policy::LastStep::REACHED;
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LastStep(bool);

impl LastStep {
    pub(crate) const REACHED: Self = Self(true);

    /// Reports whether the last step decided.
    #[must_use]
    pub fn is_reached(self) -> bool {
        self.0
    }
}
