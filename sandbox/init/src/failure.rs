//! A failed step of a program.

use std::fmt::Display;

use airlock_init::wire::Step;

/// A failed step.
pub(crate) struct Failure {
    pub(crate) step: Step,
    pub(crate) cause: String,
}

impl Failure {
    pub(crate) fn new(step: Step, cause: impl Display) -> Self {
        Self { step, cause: cause.to_string() }
    }
}

/// Adds the step in which an error happened.
pub(crate) trait AtStep<T> {
    fn at(self, step: Step) -> Result<T, Failure>;
}

impl<T, E: Display> AtStep<T> for Result<T, E> {
    fn at(self, step: Step) -> Result<T, Failure> {
        self.map_err(|error| Failure::new(step, error))
    }
}
