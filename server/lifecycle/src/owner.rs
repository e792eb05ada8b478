//! The ownership of an execution: leases, take-over and hand-over between servers.

use std::time::Duration;

use airlock_domain::ExecutionState;

use crate::{
    record::{LiveExecution, Micros},
    results::is_placed,
    transition::Transition,
};

/// The time for which a server without a link to the runner leaves an execution without an owner to a server with a
/// link.
const TAKE_OVER_WAIT: Duration = Duration::from_secs(3);

/// The right of a server to control an execution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// The server.
    pub server: String,
    /// The duration in microseconds.
    pub micros: i64,
}

impl Lease {
    pub(crate) fn into_parts(self) -> (String, i64) {
        (self.server, self.micros)
    }
}

/// An event that can change the owner of an execution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OwnerEvent {
    /// A server without the lease considers the execution.
    Seen {
        /// The lease that the server would have.
        lease: Lease,
        /// The current time by the store's clock.
        now: Micros,
        /// Whether other servers have a link to the runner, and this one has none.
        is_linked_elsewhere: bool,
    },
    /// The owner has no link to the runner, and another server has one.
    LinkedElsewhere {
        /// The lease that the other server would have.
        lease: Lease,
    },
    /// A server takes the execution from the queue.
    TakenFromQueue {
        /// The lease that the server would have.
        lease: Lease,
    },
}

/// Reports whether a server may end an execution that its runner did not report. The server must own the execution, or
/// no other server has a valid lease.
#[must_use]
pub fn may_settle(record: &LiveExecution, server: &str, now: Micros) -> bool {
    match record.owner_server.as_deref() {
        Some(owner) if owner == server => true,
        Some(_) => record.lease_until <= now,
        None => true,
    }
}

/// Returns the transition to another owner, or `None` if the owner stays.
#[must_use]
pub fn change_owner(record: &LiveExecution, event: &OwnerEvent) -> Option<Transition> {
    let owns = |lease: &Lease| record.owner_server.as_ref() == Some(&lease.server);
    let lease = match event {
        OwnerEvent::Seen { lease, now, is_linked_elsewhere } => {
            let waits = *is_linked_elsewhere && now.since(record.lease_until) < TAKE_OVER_WAIT;
            Some(lease).filter(|_| !owns(lease) && !waits && may_settle(record, &lease.server, *now))
        }
        OwnerEvent::LinkedElsewhere { lease } => Some(lease).filter(|_| is_placed(record.state)),
        OwnerEvent::TakenFromQueue { lease } => {
            Some(lease).filter(|_| record.state == ExecutionState::Queued && !owns(lease))
        }
    };
    let lease = Some(lease?.clone().into_parts());
    Some(Transition { lease, ..Transition::default() })
}
