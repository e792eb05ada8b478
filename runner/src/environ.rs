//! The runner's own environment at its start, from which profiles may pass variables.
//!
//! It must not be printed or logged, because it may hold secrets of the host.

use std::{env, fmt, os::unix::ffi::OsStringExt};

use airlock_sandbox::env::{Scrubbed, Variable, scrub};

/// A copy of the environment, with the rules for passing it on.
pub(crate) struct Environ {
    variables: Vec<Variable>,
    /// Names that may pass although they look like the name of a secret.
    exceptions: Vec<String>,
}

impl Environ {
    /// Copies the environment of this process.
    pub(crate) fn capture(exceptions: Vec<String>) -> Self {
        let variables = env::vars_os().map(|(name, value)| (name.into_vec(), value.into_vec()));
        Self { variables: variables.collect(), exceptions }
    }

    /// Returns the variables that `pass` names, without secrets.
    pub(crate) fn scrubbed(&self, pass: &[String]) -> Scrubbed {
        if pass.is_empty() { Scrubbed::default() } else { scrub(&self.variables, pass, &self.exceptions) }
    }
}

impl fmt::Debug for Environ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Environ").field("variables", &self.variables.len()).finish_non_exhaustive()
    }
}
