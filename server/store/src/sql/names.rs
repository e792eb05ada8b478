//! The names of enum values in columns. They must never change, because existing rows contain them.

use airlock_domain::{BackgroundedBy, ExecutionState, LinkState, Mode, Shell, Started};

use super::errors::unreadable;
use crate::{
    StoreError,
    record::{ApprovalState, ForwardStep, Milestone, RestoreStep, SessionState, Verdict},
};

/// An enum that is stored by name.
pub(crate) trait Named: Sized {
    /// Returns the name in a column.
    fn name(self) -> &'static str;
    /// Returns the value with this name, or `None` for an unknown name.
    fn named(name: &str) -> Option<Self>;
}

/// Reads the value of `column`.
pub(crate) fn value<T: Named>(column: &str, name: &str) -> Result<T, StoreError> {
    T::named(name).ok_or_else(|| unreadable(column))
}

macro_rules! named {
    ($type:ident { $($variant:ident = $name:literal),+ $(,)? }) => {
        impl Named for $type {
            fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }

            fn named(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$variant),)+
                    _ => None,
                }
            }
        }
    };
}

named!(ExecutionState {
    PendingApproval = "PENDING_APPROVAL",
    Queued = "QUEUED",
    Starting = "STARTING",
    Running = "RUNNING",
    Finished = "FINISHED",
});
named!(LinkState { Connected = "CONNECTED", Unreachable = "UNREACHABLE" });
named!(SessionState {
    Opening = "OPENING",
    Open = "OPEN",
    Closing = "CLOSING",
    Closed = "CLOSED",
    Lost = "LOST",
});
named!(ApprovalState {
    Open = "OPEN",
    Allowed = "ALLOWED",
    Denied = "DENIED",
    Expired = "EXPIRED",
    Withdrawn = "WITHDRAWN",
});
named!(BackgroundedBy { Client = "CLIENT", Request = "REQUEST", Budget = "BUDGET" });
named!(Milestone { Started = "STARTED", Backgrounded = "BACKGROUNDED", Finished = "FINISHED" });
named!(RestoreStep { Begun = "BEGUN", Restored = "RESTORED", Failed = "FAILED" });
named!(ForwardStep { Begun = "BEGUN", Ended = "ENDED", Failed = "FAILED", Refused = "REFUSED" });
named!(Verdict { Allow = "ALLOW", Ask = "ASK", Deny = "DENY" });
named!(Started { No = "NO", Yes = "YES", Unknown = "UNKNOWN" });
named!(Shell { Bash = "bash", Zsh = "zsh", Pwsh = "pwsh" });
named!(Mode { Bypass = "bypass", AcceptEdits = "accept_edits", Default = "default", Plan = "plan" });
