//! The client of hooks: services of the user that the server asks before an execution, and that receive its result.
//!
//! [`HookClients`] implements [`Hooks`] over gRPC with TLS. Each hook has its own connection, its own limit of concurrent
//! calls, in which tenants take turns, and its own breakers. A slow hook therefore delays only the executions that need
//! it. The crate must not decide: it returns the hook's opinion or the failure. It reads no configuration; the caller
//! passes each address, file and limit.

#![forbid(unsafe_code)]

mod answer;
mod breaker;
mod call;
mod codec;
mod hook;
mod options;
#[cfg(any(test, feature = "tests"))]
pub mod testing;
#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use airlock_control::hooks::{HookQuestion, HookReply, HookReport, Hooks};
use airlock_domain::HookOutcome;

pub use breaker::BreakerState;
use hook::Hook;
pub use options::{Explain, HookObserver, HookOptions, Method, TlsFiles};

/// A hook that cannot be called: its files or its address cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("hook `{hook}`: {problem}")]
pub struct HookError {
    /// The name of the hook.
    pub hook: String,
    /// The reason.
    pub problem: String,
}

/// The hooks of the configuration. Cheap to clone; all clones share the same state.
#[derive(Clone)]
pub struct HookClients {
    by_name: Arc<BTreeMap<String, Hook>>,
    explain: Explain,
}

impl HookClients {
    /// Creates the clients, and reads the files of TLS. Connections are opened by the first calls. Blocks. Requires a
    /// runtime.
    ///
    /// # Errors
    /// A file cannot be read, or an address or a certificate cannot be used.
    pub fn new(
        options: BTreeMap<String, HookOptions>,
        observer: &Arc<dyn HookObserver>,
    ) -> Result<Self, HookError> {
        let client = |(name, options): (String, HookOptions)| {
            let hook = Hook::new(name.clone(), options, observer.clone());
            hook.map(|hook| (name.clone(), hook)).map_err(|problem| HookError { hook: name, problem })
        };
        let by_name = options.into_iter().map(client).collect::<Result<_, _>>()?;
        Ok(Self { by_name: Arc::new(by_name), explain: |_, _| {} })
    }

    /// Adds the derived fields to each delivered result.
    #[must_use]
    pub fn explaining(self, explain: Explain) -> Self {
        Self { explain, ..self }
    }

    /// Reads the files of TLS of a hook again. Later calls use them, on a new connection. Blocks. Requires a runtime.
    ///
    /// # Errors
    /// Returns the reason why the files cannot be used. In this case, nothing changes.
    pub fn renew(&self, hook: &str) -> Result<(), String> {
        self.by_name.get(hook).map_or(Ok(()), Hook::renew)
    }
}

#[async_trait::async_trait]
impl Hooks for HookClients {
    fn names(&self) -> Vec<String> {
        self.by_name.keys().cloned().collect()
    }

    fn longest_wait(&self, hook: &str) -> Option<Duration> {
        self.by_name.get(hook).map(Hook::timeout)
    }

    async fn before(&self, hook: &str, question: &HookQuestion) -> HookReply {
        match self.by_name.get(hook) {
            Some(hook) => hook.before(question).await,
            None => unknown(),
        }
    }

    async fn after(&self, hook: &str, report: &HookReport) -> Result<(), HookReply> {
        match self.by_name.get(hook) {
            Some(hook) => hook.after(report, self.explain).await,
            None => Err(unknown()),
        }
    }
}

/// A profile cannot select an unknown hook. The stored list of an execution can, after a change of the configuration.
fn unknown() -> HookReply {
    let reason = "the server's configuration has no hook with this name".to_owned();
    HookReply { outcome: HookOutcome::Unavailable, reason }
}
