//! One entry of the list.

/// The possible effect of setting a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It loads and runs nothing, so it may be set before an allowed command.
    Safe,
    /// It changes which programs run, or which files they load or read.
    Steers,
    /// It changes how bash reads a command, or which code every program loads. A request may set it only if the
    /// profile lists it in `env.allowed`.
    Reads,
    /// Only Airlock may set it.
    Reserved,
}

/// One entry of the list.
#[derive(Debug, Clone, Copy)]
pub struct Variable {
    /// The name. A `*` at its end matches any suffix.
    pub name: &'static str,
    /// The possible effect of setting it.
    pub effect: Effect,
    /// The reason, for messages and review.
    pub why: &'static str,
    /// Whether a read-only run sets it itself and ignores the values of session and request.
    pub overridden: bool,
}
