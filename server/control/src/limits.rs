//! The named limits and times of the services, and the relations between them. Plain data.

use std::{collections::BTreeMap, time::Duration};

use airlock_limits::LimitError;
use airlock_store::Room;

/// The maximum of `executions_per_session`. All executions of a session must fit into one query.
pub(crate) const EXECUTIONS_PER_SESSION_MOST: u32 = 1000;

/// Limits and times. Durations are measured on monotonic clocks unless stated otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceLimits {
    /// Open sessions per tenant.
    pub sessions_per_tenant: u64,
    /// Unfinished executions per tenant.
    pub executions_per_tenant: u64,
    /// Unfinished executions per session.
    pub executions_per_session: u32,
    /// Queued executions per tenant.
    pub queue_per_tenant: u64,
    /// Queued executions of all tenants.
    pub queue: u64,
    /// Executions that a tenant can start per second.
    pub starts_per_second: u64,
    /// Denied starts of a tenant per second. Each creates a row and an audit entry.
    pub denials_per_second: u64,
    /// Bytes of output of a tenant's executions that ended on the same day (UTC).
    pub output_bytes_per_day: u64,
    /// Limits of single tenants.
    pub tenants: BTreeMap<String, TenantLimits>,
    /// Runners with a link to this server.
    pub runners: u32,
    /// Concurrent watches on this server.
    pub watches: u32,
    /// Concurrent watches per tenant.
    pub watches_per_tenant: u32,
    /// Remembered rules per session.
    pub rules_per_session: u64,
    /// Remembered rules per tenant.
    pub rules_per_tenant: u64,
    /// Open approvals of connections per tenant.
    pub connection_approvals_per_tenant: u64,
    /// Messages that wait to be sent to one runner.
    pub link_queue: usize,
    /// Session queues that are processed concurrently.
    pub drives_at_once: usize,
    /// Offers of one execution to runners. After this number of refusals, the last one is final.
    pub attempts: u32,
    /// The maximum time that an execution waits for a free slot. The wait for earlier commands of its session
    /// does not count.
    pub queue_wait: Duration,
    /// The time for which an approval stays open, unless the profile sets another time. By the store's clock.
    pub approval_valid: Duration,
    /// The time for which a server can control an execution without a renewal. By the store's clock.
    pub lease: Duration,
    /// The interval of heartbeats in both directions.
    pub heartbeat_interval: Duration,
    /// A link is closed after this time without a message.
    pub heartbeat_timeout: Duration,
    /// The time for which jobs continue while no server can be reached. The runners receive this value.
    pub link_grace: Duration,
    /// The executions of a runner are `RUNNER_LOST` after this time without a link.
    pub lost_after: Duration,
    /// An output that is not stored is lost after this time without its runner. By the store's clock.
    pub outputs_lost_after: Duration,
    /// A result that a hook has not accepted is dropped after this time. By the store's clock.
    pub hook_delivery: Duration,
    /// The time from the sending of a `StartJob` within which it must be accepted.
    pub start_window: Duration,
    /// The maximum time that a call waits for a runner to create a session.
    pub open_wait: Duration,
    /// The maximum time that `Close` waits for a runner to remove a session.
    pub close_wait: Duration,
    /// The maximum time that a call waits for a runner to confirm the start or end of a drain.
    pub drain_wait: Duration,
    /// The maximum time that a sender waits for room in the queue of a link. After this time, the link is closed.
    pub send_wait: Duration,
    /// The maximum time that a shutdown waits for current work.
    pub stop_wait: Duration,
}

impl Default for ServiceLimits {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self {
            sessions_per_tenant: 1024,
            executions_per_tenant: 1024,
            executions_per_session: 256,
            queue_per_tenant: 1024,
            queue: 4096,
            starts_per_second: 1000,
            denials_per_second: 50,
            output_bytes_per_day: 1 << 40,
            tenants: BTreeMap::new(),
            runners: 1000,
            watches: 1024,
            watches_per_tenant: 128,
            rules_per_session: 256,
            rules_per_tenant: 1024,
            connection_approvals_per_tenant: 256,
            link_queue: 1024,
            drives_at_once: 64,
            attempts: 8,
            queue_wait: seconds(60),
            approval_valid: seconds(15 * 60),
            lease: seconds(30),
            heartbeat_interval: seconds(5),
            heartbeat_timeout: seconds(20),
            link_grace: seconds(4 * 60),
            lost_after: seconds(5 * 60),
            outputs_lost_after: seconds(7 * 24 * 3600),
            hook_delivery: seconds(24 * 3600),
            start_window: seconds(30),
            open_wait: seconds(60),
            close_wait: seconds(10),
            drain_wait: seconds(10),
            send_wait: seconds(5),
            stop_wait: seconds(5),
        }
    }
}

/// Limits of one tenant that override the common ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TenantLimits {
    /// Its share of contended resources. A tenant with twice the weight is served twice as often.
    pub weight: u32,
    /// Replaces [`ServiceLimits::executions_per_tenant`].
    pub executions: Option<u64>,
    /// Replaces [`ServiceLimits::queue_per_tenant`].
    pub queue: Option<u64>,
    /// Replaces [`ServiceLimits::sessions_per_tenant`].
    pub sessions: Option<u64>,
    /// Replaces [`ServiceLimits::starts_per_second`].
    pub starts_per_second: Option<u64>,
    /// Replaces [`ServiceLimits::denials_per_second`].
    pub denials_per_second: Option<u64>,
    /// Replaces [`ServiceLimits::output_bytes_per_day`].
    pub output_bytes_per_day: Option<u64>,
}

impl Default for TenantLimits {
    fn default() -> Self {
        Self {
            weight: 1,
            executions: None,
            queue: None,
            sessions: None,
            starts_per_second: None,
            denials_per_second: None,
            output_bytes_per_day: None,
        }
    }
}

impl ServiceLimits {
    /// Returns the limits of a tenant.
    #[must_use]
    pub fn room(&self, tenant: &str) -> Room {
        let own = self.tenants.get(tenant).cloned().unwrap_or_default();
        Room {
            sessions_per_tenant: own.sessions.unwrap_or(self.sessions_per_tenant),
            executions_per_tenant: own.executions.unwrap_or(self.executions_per_tenant),
            executions_per_session: u64::from(self.executions_per_session),
            queue_per_tenant: own.queue.unwrap_or(self.queue_per_tenant),
            queue: self.queue,
            starts_per_second: own.starts_per_second.unwrap_or(self.starts_per_second),
            denials_per_second: own.denials_per_second.unwrap_or(self.denials_per_second),
            output_bytes_per_day: own.output_bytes_per_day.unwrap_or(self.output_bytes_per_day),
            weight: own.weight,
        }
    }

    /// Checks the limits against each other. `longest_grace` is the longest time between SIGTERM and SIGKILL
    /// in any profile.
    ///
    /// # Errors
    /// Returns the first limit that is invalid.
    pub fn check(&self, longest_grace: Duration) -> Result<(), LimitError> {
        let counts = [
            ("sessions_per_tenant", self.sessions_per_tenant),
            ("executions_per_tenant", self.executions_per_tenant),
            ("executions_per_session", u64::from(self.executions_per_session)),
            ("queue_per_tenant", self.queue_per_tenant),
            ("queue", self.queue),
            ("starts_per_second", self.starts_per_second),
            ("denials_per_second", self.denials_per_second),
            ("output_bytes_per_day", self.output_bytes_per_day),
            ("runners", u64::from(self.runners)),
            ("watches", u64::from(self.watches)),
            ("watches_per_tenant", u64::from(self.watches_per_tenant)),
            ("rules_per_session", self.rules_per_session),
            ("rules_per_tenant", self.rules_per_tenant),
            ("connection_approvals_per_tenant", self.connection_approvals_per_tenant),
            ("link_queue", self.link_queue as u64),
            ("drives_at_once", self.drives_at_once as u64),
            ("attempts", u64::from(self.attempts)),
        ];
        for (limit, value) in counts {
            LimitError::require(limit, value > 0, "must not be 0")?;
        }
        for (limit, value) in self.durations() {
            LimitError::require(limit, !value.is_zero(), "must not be 0")?;
        }
        LimitError::require(
            "executions_per_session",
            self.executions_per_session <= EXECUTIONS_PER_SESSION_MOST,
            format!("must be at most {EXECUTIONS_PER_SESSION_MOST}"),
        )?;
        LimitError::require(
            "heartbeat_timeout",
            self.heartbeat_timeout >= 2 * self.heartbeat_interval,
            "must be at least twice `heartbeat_interval`",
        )?;
        // Otherwise a command could be RUNNER_LOST while it still runs.
        let ended_by = self.link_grace + longest_grace + self.heartbeat_timeout;
        let problem = format!(
            "must be more than `link_grace`, `heartbeat_timeout` and the longest `grace` of a profile together, which is {} s",
            ended_by.as_secs()
        );
        LimitError::require("lost_after", self.lost_after > ended_by, problem)
    }

    fn durations(&self) -> [(&'static str, Duration); 15] {
        [
            ("queue_wait", self.queue_wait),
            ("approval_valid", self.approval_valid),
            ("lease", self.lease),
            ("heartbeat_interval", self.heartbeat_interval),
            ("heartbeat_timeout", self.heartbeat_timeout),
            ("link_grace", self.link_grace),
            ("lost_after", self.lost_after),
            ("outputs_lost_after", self.outputs_lost_after),
            ("hook_delivery", self.hook_delivery),
            ("start_window", self.start_window),
            ("open_wait", self.open_wait),
            ("close_wait", self.close_wait),
            ("drain_wait", self.drain_wait),
            ("send_wait", self.send_wait),
            ("stop_wait", self.stop_wait),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRACE: Duration = Duration::from_secs(5);

    #[test]
    fn the_defaults_hold_together() {
        assert_eq!(ServiceLimits::default().check(GRACE), Ok(()));
    }

    #[test]
    fn runner_lost_can_never_be_said_of_a_command_that_still_runs() {
        let limits =
            ServiceLimits { lost_after: Duration::from_secs(4 * 60 + 5), ..ServiceLimits::default() };
        assert_eq!(limits.check(GRACE).map_err(|error| error.limit), Err("lost_after"));
        let grace = Duration::from_secs(60);
        assert_eq!(ServiceLimits::default().check(grace).map_err(|error| error.limit), Err("lost_after"));
    }

    #[test]
    fn no_limit_may_be_zero() {
        let limits = ServiceLimits { attempts: 0, ..ServiceLimits::default() };
        assert_eq!(limits.check(GRACE).map_err(|error| error.limit), Err("attempts"));
        let limits = ServiceLimits { queue_wait: Duration::ZERO, ..ServiceLimits::default() };
        assert_eq!(limits.check(GRACE).map_err(|error| error.limit), Err("queue_wait"));
    }
}
