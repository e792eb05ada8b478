//! The state of the output of an ended execution: which writer may replace which state.

use airlock_domain::{ExecutionState, OutputState};

use crate::{
    owner::Lease,
    record::{ExecutionRecord, Micros},
};

/// The states of an output, one of each kind.
pub const OUTPUTS: [OutputState; 6] = [
    OutputState::None,
    OutputState::Live,
    OutputState::Storing,
    OutputState::Stored,
    OutputState::Partial { from: 0 },
    OutputState::Lost,
];

/// The writer of an output's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputBy<'a> {
    /// The server with this ID, as long as it holds the lease on an output that is `LIVE` or `STORING`. A server that
    /// has lost the lease cannot mark an output as lost that the next server stored.
    Keeper(&'a str),
    /// The removal of outputs that are `STORED` or `PARTIAL`.
    Retention,
}

impl OutputBy<'_> {
    /// Reports whether the writer may replace this state.
    #[must_use]
    pub fn may_replace(self, output: OutputState) -> bool {
        match self {
            Self::Keeper(_) => is_unstored(output),
            Self::Retention => matches!(output, OutputState::Stored | OutputState::Partial { .. }),
        }
    }
}

/// An event that concerns the output of an ended execution. It leaves the version unchanged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OutputEvent {
    /// A server wants to copy the output.
    Claimed {
        /// The lease that the server would have.
        lease: Lease,
    },
    /// The server that copied the output reports the result.
    Kept {
        /// The server.
        server: String,
        /// The result of the copy.
        output: OutputState,
    },
    /// The retention time is over.
    Removed,
    /// The runner with the output was away for too long.
    Abandoned,
}

/// Reports whether the output is on its way from the runner to the output storage.
#[must_use]
pub fn is_unstored(output: OutputState) -> bool {
    matches!(output, OutputState::Live | OutputState::Storing)
}

/// Changes the record as the store does. Returns whether anything changed.
pub(crate) fn keep(record: &mut ExecutionRecord, event: &OutputEvent, now: Micros) -> bool {
    if record.state != ExecutionState::Finished {
        return false;
    }
    let is_free = record.owner_server.is_none() || record.lease_until <= now;
    let owner = record.owner_server.as_deref();
    match event {
        OutputEvent::Claimed { lease } => {
            let may = is_unstored(record.output) && (is_free || owner == Some(lease.server.as_str()));
            if may {
                record.owner_server = Some(lease.server.clone());
                record.lease_until = Micros(now.0.saturating_add(lease.micros));
            }
            may
        }
        OutputEvent::Kept { server, output } => {
            let may = owner == Some(server.as_str()) && OutputBy::Keeper(server).may_replace(record.output);
            replace(record, *output, may)
        }
        OutputEvent::Removed => {
            let may = OutputBy::Retention.may_replace(record.output);
            replace(record, OutputState::Lost, may)
        }
        OutputEvent::Abandoned => {
            let may = is_unstored(record.output) && is_free;
            replace(record, OutputState::Lost, may)
        }
    }
}

fn replace(record: &mut ExecutionRecord, output: OutputState, may: bool) -> bool {
    if may {
        record.output = output;
    }
    may
}
