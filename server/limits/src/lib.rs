//! The limits of a server: counted shares of its resources, and the check of named limits.
//!
//! [`shares`] refuses a request at a limit. [`slots`] lets work wait for its turn. The crate knows no configuration: the
//! caller passes each limit. It must not depend on another crate of the workspace.

#![forbid(unsafe_code)]

pub mod shares;
pub mod slots;

/// An error for limits that contradict each other or are zero.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{limit}` {problem}")]
pub struct LimitError {
    /// The name of the limit.
    pub limit: &'static str,
    /// The condition that is violated.
    pub problem: String,
}

impl LimitError {
    /// Checks a condition of a limit. `problem` names the condition, such as `must not be 0`.
    ///
    /// # Errors
    /// Returns the error of this limit if the condition does not hold.
    pub fn require<P: Into<String>>(limit: &'static str, holds: bool, problem: P) -> Result<(), Self> {
        if holds { Ok(()) } else { Err(Self { limit, problem: problem.into() }) }
    }
}
