//! Places where a test can have the process killed, to see what survives. In release builds there is
//! nothing of it: [`hit`] is empty.
//!
//! `AIRLOCK_FAULT=after_audit` kills at the first arrival there, `AIRLOCK_FAULT=after_audit:3` at the
//! third. The kill is SIGKILL to this very process, so nothing is flushed, closed or dropped.

/// A place in the life of an execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The request was decided; nothing is written yet.
    BeforeAudit,
    /// The execution and its audit entry are in the store.
    AfterAudit,
    /// `StartJob` was given to the link and had time to leave.
    AfterStartJobSent,
    /// The runner's `ACCEPTED` was read.
    AfterAccepted,
    /// `RUNNING` is in the store.
    WhileRunning,
    /// `FINISHED` is in the store.
    AfterEnd,
    /// That it was sent to the background is in the store; its runner was not told yet.
    AfterDetach,
}

/// Dies here if a test asked for it.
#[cfg(not(debug_assertions))]
#[inline]
pub fn hit(_: Fault) {}

/// Whether a test asked for a death here, so that a place may take the time it needs to be reached.
#[cfg(not(debug_assertions))]
#[inline]
#[must_use]
pub fn is_armed(_: Fault) -> bool {
    false
}

#[cfg(debug_assertions)]
pub use armed::{hit, is_armed};

#[cfg(debug_assertions)]
mod armed {
    use std::sync::{
        OnceLock,
        atomic::{AtomicU32, Ordering},
    };

    use nix::{
        sys::signal::{Signal, kill},
        unistd::Pid,
    };

    use super::Fault;

    const VARIABLE: &str = "AIRLOCK_FAULT";

    struct Armed {
        name: String,
        left: AtomicU32,
    }

    static ARMED: OnceLock<Option<Armed>> = OnceLock::new();

    fn armed(fault: Fault) -> Option<&'static Armed> {
        let armed = ARMED.get_or_init(|| {
            let text = std::env::var(VARIABLE).ok()?;
            let (name, count) = text.split_once(':').unwrap_or((&text, "1"));
            Some(Armed { name: name.to_owned(), left: AtomicU32::new(count.parse().unwrap_or(1)) })
        });
        armed.as_ref().filter(|armed| armed.name == name(fault))
    }

    /// Dies here if a test asked for it.
    pub fn hit(fault: Fault) {
        if let Some(armed) = armed(fault)
            && armed.left.fetch_sub(1, Ordering::SeqCst) == 1
        {
            // Without the signal there would be no fault; the test then fails by itself.
            let _ = kill(Pid::this(), Signal::SIGKILL);
        }
    }

    /// Whether a test asked for a death here, so that a place may take the time it needs to be reached.
    #[must_use]
    pub fn is_armed(fault: Fault) -> bool {
        armed(fault).is_some()
    }

    fn name(fault: Fault) -> &'static str {
        match fault {
            Fault::BeforeAudit => "before_audit",
            Fault::AfterAudit => "after_audit",
            Fault::AfterStartJobSent => "after_start_job_sent",
            Fault::AfterAccepted => "after_accepted",
            Fault::WhileRunning => "while_running",
            Fault::AfterEnd => "after_end",
            Fault::AfterDetach => "after_detach",
        }
    }
}
