//! How many there may be: the limits that a creation is held against, what became of it, and what is taken from the
//! queue.

use airlock_proto::domain::RunnerId;

/// What became of a creation with a client's key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Created<T> {
    /// It is new.
    New(T),
    /// The same request was made before; this is what it made.
    Existing(T),
    /// The key was used for another request.
    Conflict,
    /// There are as many as there may be, by this limit.
    Full {
        /// Its name.
        limit: &'static str,
        /// Its value.
        value: u64,
    },
    /// As many as there may be were made in this second or on this day.
    Later {
        /// The limit's name.
        limit: &'static str,
        /// Its value.
        value: u64,
        /// When there is room again, in microseconds from now.
        wait_micros: i64,
    },
}

/// How many there may be. A denial, which is created ended, counts against the pace of denials alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Sessions of its tenant that are `OPENING`, `OPEN` or `CLOSING`.
    pub sessions_per_tenant: u64,
    /// Executions of its tenant that are not `FINISHED`.
    pub executions_per_tenant: u64,
    /// Executions of its session that are not `FINISHED`.
    pub executions_per_session: u64,
    /// Executions of its tenant that are `QUEUED`.
    pub queue_per_tenant: u64,
    /// Executions of all tenants that are `QUEUED`.
    pub queue: u64,
    /// Executions of its tenant that are created in a second.
    pub starts_per_second: u64,
    /// Denials of its tenant in a second.
    pub denials_per_second: u64,
    /// Bytes of output of its tenant's executions that ended on this day (UTC).
    pub output_bytes_per_day: u64,
    /// The share of its tenant in the queue, not a limit.
    pub weight: u32,
}

/// Who takes how many from the queue, and for which runner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakeQueued {
    /// The server that will place them.
    pub server_id: String,
    /// The runner that has free slots.
    pub runner: RunnerId,
    /// How many.
    pub at_most: u32,
    /// For how long it drives those that another server drove.
    pub lease_micros: i64,
    /// For how long no other server takes them.
    pub hold_micros: i64,
}

/// Who says where an output is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputBy<'a> {
    /// The server of this id, as long as it has the storing of an output that is `LIVE` or `STORING`. A server that was
    /// followed by another cannot say that what the other stored is lost.
    Keeper(&'a str),
    /// The removal of outputs that are `STORED` or `PARTIAL`.
    Retention,
}
