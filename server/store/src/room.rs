//! The limits that a creation is checked against, its results, and the parameters of taking from the queue.

use airlock_domain::RunnerId;

/// The result of a creation with a request ID.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Created<T> {
    /// A new record was created.
    New(T),
    /// An earlier call with the same request ID created this record.
    Existing(T),
    /// The request ID was used for another request.
    Conflict,
    /// A limit is reached.
    Full {
        /// The name of the limit.
        limit: &'static str,
        /// The value of the limit.
        value: u64,
    },
    /// A limit per second or per day is reached.
    Later {
        /// The name of the limit.
        limit: &'static str,
        /// The value of the limit.
        value: u64,
        /// The time in microseconds after which a retry can succeed.
        wait_micros: i64,
    },
}

impl<T> Created<T> {
    /// Returns the result for a request ID that the creation of `before` used.
    pub(crate) fn again(before: T, is_same_request: bool) -> Self {
        if is_same_request { Self::Existing(before) } else { Self::Conflict }
    }
}

/// The limits of a creation. A denial is created as ended and counts against the rate limit of denials only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// The maximum number of the tenant's sessions that are `OPENING`, `OPEN` or `CLOSING`.
    pub sessions_per_tenant: u64,
    /// The maximum number of the tenant's executions that are not `FINISHED`.
    pub executions_per_tenant: u64,
    /// The maximum number of the session's executions that are not `FINISHED`.
    pub executions_per_session: u64,
    /// The maximum number of the tenant's executions that are `QUEUED`.
    pub queue_per_tenant: u64,
    /// The maximum number of executions of all tenants that are `QUEUED`.
    pub queue: u64,
    /// The maximum number of the tenant's executions that are created per second.
    pub starts_per_second: u64,
    /// The maximum number of the tenant's denials per second.
    pub denials_per_second: u64,
    /// The maximum output in bytes of the tenant's executions that ended on the current day (UTC).
    pub output_bytes_per_day: u64,
    /// The tenant's share in the queue. This is not a limit.
    pub weight: u32,
}

/// A request to take executions from the queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakeQueued {
    /// The server that will place the executions.
    pub server_id: String,
    /// The runner with free slots.
    pub runner: RunnerId,
    /// The maximum number of executions.
    pub at_most: u32,
    /// The duration of the lease for executions that another server owned, in microseconds.
    pub lease_micros: i64,
    /// The time for which no other server takes the executions, in microseconds.
    pub hold_micros: i64,
}
