//! The values of the deliveries of results to hooks.

use airlock_domain::ExecutionId;

use crate::record::Micros;

/// A result that a hook still has to receive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// The ended execution.
    pub execution_id: ExecutionId,
    /// The name of the hook.
    pub hook: String,
    /// The tenant of the execution.
    pub tenant: String,
    /// The number of attempts, with the current one.
    pub attempt: u32,
    /// The time at which the execution ended.
    pub created: Micros,
}

/// A request to take due deliveries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakeDeliveries {
    /// The hook that is ready to receive results.
    pub hook: String,
    /// The server that will send the results.
    pub server_id: String,
    /// The maximum number of deliveries.
    pub at_most: u32,
    /// The maximum number of them of one tenant.
    pub per_tenant: u32,
    /// Tenants whose deliveries are not taken.
    pub except: Vec<String>,
    /// The time in microseconds after which another attempt can begin if this server reports no end of its own.
    pub lease_micros: i64,
}
