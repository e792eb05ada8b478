//! The named limits and clocks of the engine, and what must hold between them. Plain data.

use std::{collections::BTreeMap, time::Duration};

use crate::store::Room;

/// What `executions_per_session` can be at most, so that all of a session's can be looked at in one go.
pub(crate) const EXECUTIONS_PER_SESSION_MOST: u32 = 1000;

/// How much of everything, and how long. Durations are measured on monotonic clocks unless said
/// otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineLimits {
    /// Sessions of a tenant that are not closed.
    pub sessions_per_tenant: u64,
    /// Executions of a tenant that are not finished.
    pub executions_per_tenant: u64,
    /// Executions of a session that are not finished.
    pub executions_per_session: u32,
    /// Executions of a tenant that wait in the queue.
    pub queue_per_tenant: u64,
    /// Executions of all tenants that wait in the queue.
    pub queue: u64,
    /// Executions of a tenant that are started in a second.
    pub starts_per_second: u64,
    /// Starts of a tenant that are denied in a second. Each leaves a row and an audit entry.
    pub denials_per_second: u64,
    /// Bytes of output of a tenant's executions that ended on one day (UTC).
    pub output_bytes_per_day: u64,
    /// What is otherwise for single tenants.
    pub tenants: BTreeMap<String, TenantLimits>,
    /// Runners with a link to this server.
    pub runners: u32,
    /// Watches of many executions at once, on this server.
    pub watches: u32,
    /// Of those, of one tenant.
    pub watches_per_tenant: u32,
    /// Rules that are remembered for one session.
    pub rules_per_session: u64,
    /// Rules that are remembered for one tenant.
    pub rules_per_tenant: u64,
    /// Messages that wait to be sent to one runner.
    pub link_queue: usize,
    /// Sessions whose queues are worked on at once.
    pub drives_at_once: usize,
    /// Offers of one execution to runners; after so many refusals the last one is final.
    pub attempts: u32,
    /// Waiting for a runner with a free slot; the session's own earlier commands do not count.
    pub queue_wait: Duration,
    /// How long an approval stays open, unless the profile says otherwise. By the store's clock.
    pub approval_valid: Duration,
    /// For how long a server may drive an execution without renewing. By the store's clock.
    pub lease: Duration,
    /// How often runner and server say that they are there.
    pub heartbeat_interval: Duration,
    /// A link that was silent for so long is ended.
    pub heartbeat_timeout: Duration,
    /// How long jobs go on while no server can be reached; told to the runners.
    pub link_grace: Duration,
    /// After so long without its link what a runner ran is `RUNNER_LOST`.
    pub lost_after: Duration,
    /// After so long without its runner an output that is not stored is given up. By the store's clock.
    pub outputs_lost_after: Duration,
    /// By when, from its sending, a `StartJob` must have been accepted.
    pub start_window: Duration,
    /// Waiting for a runner to make a session.
    pub open_wait: Duration,
    /// Waiting for a runner to remove a session, in `Close`.
    pub close_wait: Duration,
    /// Waiting for a runner to say that it drains, or no longer does.
    pub drain_wait: Duration,
    /// Waiting for room in the queue of a link; then the link is ended.
    pub send_wait: Duration,
    /// Waiting for work in hand when the server stops.
    pub stop_wait: Duration,
}

impl Default for EngineLimits {
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
            start_window: seconds(30),
            open_wait: seconds(60),
            close_wait: seconds(10),
            drain_wait: seconds(10),
            send_wait: seconds(5),
            stop_wait: seconds(5),
        }
    }
}

/// What is otherwise for one tenant than for the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TenantLimits {
    /// Its share of what is contended: twice the weight is served twice as often.
    pub weight: u32,
    /// Instead of [`EngineLimits::executions_per_tenant`].
    pub executions: Option<u64>,
    /// Instead of [`EngineLimits::queue_per_tenant`].
    pub queue: Option<u64>,
    /// Instead of [`EngineLimits::sessions_per_tenant`].
    pub sessions: Option<u64>,
    /// Instead of [`EngineLimits::starts_per_second`].
    pub starts_per_second: Option<u64>,
    /// Instead of [`EngineLimits::denials_per_second`].
    pub denials_per_second: Option<u64>,
    /// Instead of [`EngineLimits::output_bytes_per_day`].
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

/// Two limits that contradict each other, or one that is zero.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{limit}` {problem}")]
pub struct LimitError {
    /// Its name.
    pub limit: &'static str,
    /// What must hold.
    pub problem: String,
}

impl EngineLimits {
    /// What a tenant may have.
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

    /// Checks the limits against each other. `longest_grace` is the longest time that a profile gives
    /// commands between SIGTERM and SIGKILL.
    ///
    /// # Errors
    /// The first limit that cannot be.
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
            ("link_queue", self.link_queue as u64),
            ("drives_at_once", self.drives_at_once as u64),
            ("attempts", u64::from(self.attempts)),
        ];
        for (limit, value) in counts {
            require(limit, value > 0, || "must not be 0".to_owned())?;
        }
        for (limit, value) in self.durations() {
            require(limit, !value.is_zero(), || "must not be 0".to_owned())?;
        }
        require(
            "executions_per_session",
            self.executions_per_session <= EXECUTIONS_PER_SESSION_MOST,
            || format!("must be at most {EXECUTIONS_PER_SESSION_MOST}"),
        )?;
        require("heartbeat_timeout", self.heartbeat_timeout >= 2 * self.heartbeat_interval, || {
            "must be at least twice `heartbeat_interval`".to_owned()
        })?;
        // Otherwise RUNNER_LOST could be said of a command that still runs.
        let ended_by = self.link_grace + longest_grace + self.heartbeat_timeout;
        require("lost_after", self.lost_after > ended_by, || {
            format!(
                "must be more than `link_grace`, `heartbeat_timeout` and the longest `grace` of a profile together, which is {} s",
                ended_by.as_secs()
            )
        })
    }

    fn durations(&self) -> [(&'static str, Duration); 14] {
        [
            ("queue_wait", self.queue_wait),
            ("approval_valid", self.approval_valid),
            ("lease", self.lease),
            ("heartbeat_interval", self.heartbeat_interval),
            ("heartbeat_timeout", self.heartbeat_timeout),
            ("link_grace", self.link_grace),
            ("lost_after", self.lost_after),
            ("outputs_lost_after", self.outputs_lost_after),
            ("start_window", self.start_window),
            ("open_wait", self.open_wait),
            ("close_wait", self.close_wait),
            ("drain_wait", self.drain_wait),
            ("send_wait", self.send_wait),
            ("stop_wait", self.stop_wait),
        ]
    }
}

fn require(limit: &'static str, holds: bool, problem: impl FnOnce() -> String) -> Result<(), LimitError> {
    if holds { Ok(()) } else { Err(LimitError { limit, problem: problem() }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRACE: Duration = Duration::from_secs(5);

    #[test]
    fn the_defaults_hold_together() {
        assert_eq!(EngineLimits::default().check(GRACE), Ok(()));
    }

    #[test]
    fn runner_lost_can_never_be_said_of_a_command_that_still_runs() {
        let limits = EngineLimits { lost_after: Duration::from_secs(4 * 60 + 5), ..EngineLimits::default() };
        assert_eq!(limits.check(GRACE).map_err(|error| error.limit), Err("lost_after"));
        let grace = Duration::from_secs(60);
        assert_eq!(EngineLimits::default().check(grace).map_err(|error| error.limit), Err("lost_after"));
    }

    #[test]
    fn nothing_is_unlimited_or_nothing_at_all() {
        let limits = EngineLimits { attempts: 0, ..EngineLimits::default() };
        assert_eq!(limits.check(GRACE).map_err(|error| error.limit), Err("attempts"));
        let limits = EngineLimits { queue_wait: Duration::ZERO, ..EngineLimits::default() };
        assert_eq!(limits.check(GRACE).map_err(|error| error.limit), Err("queue_wait"));
    }
}
