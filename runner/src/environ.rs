//! The runner's own environment, as it was when the runner started: what profiles may pass through of it.
//!
//! Must not be shown or logged: it may hold the secrets of its host.

use std::{env, fmt, os::unix::ffi::OsStringExt};

use airlock_sandbox::env::{Scrubbed, Variable, scrub};

/// See the module.
pub(crate) struct Environ {
    variables: Vec<Variable>,
    /// Names that pass although they look like a secret's.
    exceptions: Vec<String>,
}

impl Environ {
    /// Of this process, now.
    pub(crate) fn capture(exceptions: Vec<String>) -> Self {
        let variables = env::vars_os().map(|(name, value)| (name.into_vec(), value.into_vec()));
        Self { variables: variables.collect(), exceptions }
    }

    /// Those of it that `pass` names, without secrets.
    pub(crate) fn scrubbed(&self, pass: &[String]) -> Scrubbed {
        if pass.is_empty() { Scrubbed::default() } else { scrub(&self.variables, pass, &self.exceptions) }
    }
}

impl fmt::Debug for Environ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Environ").field("variables", &self.variables.len()).finish_non_exhaustive()
    }
}
