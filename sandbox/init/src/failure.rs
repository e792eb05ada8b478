//! A failed step of a program.

use std::fmt::Display;

use airlock_init::wire::{Fault, Step};

/// A failed step.
pub(crate) struct Failure {
    pub(crate) step: Step,
    pub(crate) fault: Fault,
    pub(crate) cause: String,
}

impl Failure {
    pub(crate) fn new(step: Step, cause: impl Display) -> Self {
        Self { step, fault: Fault::Other, cause: cause.to_string() }
    }

    /// Returns the failure with the reason that determines its remedy.
    pub(crate) fn because(self, fault: Fault) -> Self {
        Self { fault, ..self }
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

/// Adds the step in which the system returned an error, and the reason that follows from its number.
pub(crate) trait AtSystemStep<T> {
    fn at_system(self, step: Step) -> Result<T, Failure>;
}

impl<T, E: Display + SystemError> AtSystemStep<T> for Result<T, E> {
    fn at_system(self, step: Step) -> Result<T, Failure> {
        self.map_err(|error| Failure::new(step, &error).because(error.fault()))
    }
}

/// An error with a number of the system.
pub(crate) trait SystemError {
    /// Returns the number, if the system returned the error.
    fn number(&self) -> Option<i32>;

    /// Returns the reason that follows from the number.
    fn fault(&self) -> Fault {
        use rustix::io::Errno;
        match self.number().map(Errno::from_raw_os_error) {
            Some(Errno::PERM) => Fault::NotPermitted,
            Some(Errno::ACCESS) => Fault::Forbidden,
            Some(Errno::NOSPC | Errno::USERS) => Fault::LimitReached,
            Some(Errno::INVAL) => Fault::Unsupported,
            _ => Fault::Other,
        }
    }
}

impl SystemError for std::io::Error {
    fn number(&self) -> Option<i32> {
        self.raw_os_error()
    }
}

impl SystemError for nix::errno::Errno {
    fn number(&self) -> Option<i32> {
        Some(*self as i32)
    }
}

impl SystemError for rustix::io::Errno {
    fn number(&self) -> Option<i32> {
        Some(self.raw_os_error())
    }
}
