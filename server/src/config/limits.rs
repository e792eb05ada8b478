//! The limits of a server and of its links, with their defaults and ranges. Clients that ask for the capabilities of a
//! server get them by name.

use std::{collections::BTreeMap, time::Duration};

use airlock_config::Time;
use airlock_domain::limits;
use airlock_store::fair;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    engines::{DAY, Interval},
    sections::Peers,
};

/// The minimum of `message_bytes`: a request with the largest command and environment must fit.
const MESSAGE_BYTES_MIN: usize = limits::COMMAND_BYTES + limits::ENV_BYTES + 64 * 1024;
/// The minimum size of a ring: four chunks of the maximum size.
const RING_BYTES_MIN: usize = 4 * limits::CHUNK_BYTES;
/// The maximum size of a ring.
const RING_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Every decision evaluates remembered rules in addition to those of the profile.
const RULES_MAX: u64 = 10_000;

/// A time that can be zero.
type UpToADay = Time<0, DAY>;

/// From one minute to 30 days. The store holds a row for each result.
type HookDelivery = Time<60_000, { 30 * DAY }>;

/// The limits of this server.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Bytes of one message.
    #[schemars(range(min = MESSAGE_BYTES_MIN, max = limits::MESSAGE_BYTES))]
    pub message_bytes: usize,
    /// Open connections.
    #[schemars(range(min = 1))]
    pub connections: u32,
    /// Open connections from one address. For IPv6, from one /64 network. A proxy or NAT counts as one
    /// address.
    #[schemars(range(min = 1))]
    pub connections_per_peer: u32,
    /// A connection without an open call is closed after this time. A runner's link is an open call.
    #[serde(with = "Interval")]
    pub connection_idle: Duration,
    /// The timeout of a unary call. Must be more than `open_wait`. `Wait` has its own timeout.
    #[serde(with = "Interval")]
    pub call_timeout: Duration,
    /// Concurrent calls of Wait and WriteStdin.
    #[schemars(range(min = 1))]
    pub waits: usize,
    /// Concurrent calls of Wait and WriteStdin per tenant.
    #[schemars(range(min = 1))]
    pub waits_per_tenant: usize,
    /// Concurrent calls that list sessions, executions, approvals, rules or runners.
    #[schemars(range(min = 1))]
    pub lists: usize,
    /// Concurrent list calls per tenant.
    #[schemars(range(min = 1))]
    pub lists_per_tenant: usize,
    /// Concurrent calls of Check.
    #[schemars(range(min = 1))]
    pub checks: usize,
    /// Concurrent calls of Check per tenant.
    #[schemars(range(min = 1))]
    pub checks_per_tenant: usize,
    /// Concurrent streams on one connection.
    #[schemars(range(min = 1))]
    pub streams_per_connection: u32,
    /// The time from the first byte of a connection to the end of its TLS handshake.
    #[serde(with = "Interval")]
    pub handshake_timeout: Duration,
    /// Failed authentications per peer and minute. Further tokens are refused without a comparison.
    #[schemars(range(min = 1))]
    pub authentication_failures_per_minute: u32,
    /// Unfinished executions per tenant.
    #[schemars(range(min = 1))]
    pub executions_per_tenant: u64,
    /// Open sessions per tenant.
    #[schemars(range(min = 1))]
    pub sessions_per_tenant: u64,
    /// Unfinished executions per session.
    #[schemars(range(min = 1))]
    pub executions_per_session: u32,
    /// Queued executions per tenant.
    #[schemars(range(min = 1))]
    pub queue_per_tenant: u64,
    /// Executions that one tenant can start per second. After a pause, the same number can start at once.
    #[schemars(range(min = 1, max = fair::PER_SECOND_MOST))]
    pub starts_per_second: u64,
    /// Denied starts of one tenant per second. After a pause, the same number is permitted at once.
    #[schemars(range(min = 1, max = fair::PER_SECOND_MOST))]
    pub denials_per_second: u64,
    /// Bytes of output of one tenant's executions that ended on the same day (UTC).
    #[schemars(range(min = 1))]
    pub output_bytes_per_day: u64,
    /// Queued executions of all tenants.
    #[schemars(range(min = 1))]
    pub queue: u64,
    /// Runners with a link to this server.
    #[schemars(range(min = 1))]
    pub runners: u32,
    /// The maximum time in the queue. After it, an execution ends as `QUEUE_EXPIRED`.
    #[serde(with = "Interval")]
    pub queue_wait: Duration,
    /// How long an approval stays open.
    #[serde(with = "Interval")]
    pub approval_valid: Duration,
    /// A result that a hook has not accepted is dropped after this time.
    #[serde(with = "HookDelivery")]
    pub hook_delivery: Duration,
    /// The maximum time that the creation of a session waits for its runner.
    #[serde(with = "Interval")]
    pub open_wait: Duration,
    /// The maximum time that the closing of a session waits for its runner to remove it. After this time, the removal
    /// continues in the background.
    #[serde(with = "Interval")]
    pub close_wait: Duration,
    /// Concurrent readers of one execution.
    #[schemars(range(min = 1))]
    pub readers_per_execution: usize,
    /// Concurrent readers of all executions.
    #[schemars(range(min = 1))]
    pub readers: usize,
    /// Concurrent readers of one tenant's executions.
    #[schemars(range(min = 1))]
    pub readers_per_tenant: usize,
    /// Concurrent watches.
    #[schemars(range(min = 1))]
    pub watches: u32,
    /// Concurrent watches per tenant.
    #[schemars(range(min = 1))]
    pub watches_per_tenant: u32,
    /// Remembered rules per session.
    #[schemars(range(min = 1, max = RULES_MAX))]
    pub rules_per_session: u64,
    /// Remembered rules per tenant.
    #[schemars(range(min = 1, max = RULES_MAX))]
    pub rules_per_tenant: u64,
    /// Open approvals of connections per tenant. A further connection that a rule asks about is refused.
    #[schemars(range(min = 1))]
    pub connection_approvals_per_tenant: u64,
    /// Bytes of each of the two rings for the live output of one execution.
    #[schemars(range(min = RING_BYTES_MIN, max = RING_BYTES_MAX))]
    pub ring_bytes: usize,
    /// Concurrent exchanges (operations on files and input) per tenant.
    #[schemars(range(min = 1))]
    pub exchanges_per_tenant: usize,
    /// Concurrent exchanges of all tenants.
    #[schemars(range(min = 1))]
    pub exchanges: usize,
    /// The maximum time that an exchange waits for its runner to connect.
    #[serde(with = "Interval")]
    pub exchange_open_wait: Duration,
    /// An exchange fails if its runner neither responds nor accepts data for this time.
    #[serde(with = "Interval")]
    pub exchange_answer_wait: Duration,
    /// An upload or download ends if its client neither sends nor accepts data for this time.
    #[serde(with = "Interval")]
    pub transfer_idle: Duration,
    /// Concurrent forwarded connections per session. They do not count as exchanges.
    #[schemars(range(min = 1))]
    pub forwards_per_session: usize,
    /// Concurrent forwarded connections per tenant.
    #[schemars(range(min = 1))]
    pub forwards_per_tenant: usize,
    /// Concurrent forwarded connections of all tenants.
    #[schemars(range(min = 1))]
    pub forwards: usize,
    /// A forwarded connection ends if no byte is transferred for this time.
    #[serde(with = "Interval")]
    pub forward_idle: Duration,
    /// The time from the start of the shutdown to the end of the process, without telemetry.
    #[serde(with = "Interval")]
    pub shutdown_grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            message_bytes: limits::MESSAGE_BYTES,
            connections: 1024,
            connections_per_peer: 512,
            connection_idle: Duration::from_secs(15 * 60),
            call_timeout: Duration::from_secs(2 * 60),
            waits: 4096,
            waits_per_tenant: 1024,
            lists: 256,
            lists_per_tenant: 64,
            checks: 256,
            checks_per_tenant: 64,
            streams_per_connection: 256,
            handshake_timeout: Duration::from_secs(10),
            authentication_failures_per_minute: 60,
            executions_per_tenant: 1024,
            sessions_per_tenant: 1024,
            executions_per_session: 256,
            runners: 1000,
            queue_per_tenant: 1024,
            starts_per_second: 1000,
            denials_per_second: 50,
            output_bytes_per_day: 1 << 40,
            queue: 4096,
            queue_wait: Duration::from_secs(60),
            approval_valid: Duration::from_secs(15 * 60),
            hook_delivery: Duration::from_secs(24 * 3600),
            open_wait: Duration::from_secs(60),
            close_wait: Duration::from_secs(10),
            readers_per_execution: 1024,
            readers: 4096,
            readers_per_tenant: 2048,
            watches: 1024,
            watches_per_tenant: 128,
            rules_per_session: 256,
            rules_per_tenant: 1024,
            connection_approvals_per_tenant: 256,
            ring_bytes: 1024 * 1024,
            exchanges_per_tenant: 128,
            exchanges: 512,
            exchange_open_wait: Duration::from_secs(10),
            exchange_answer_wait: Duration::from_secs(5 * 60),
            transfer_idle: Duration::from_secs(5 * 60),
            forwards_per_session: 128,
            forwards_per_tenant: 256,
            forwards: 1024,
            forward_idle: Duration::from_secs(60 * 60),
            shutdown_grace: Duration::from_secs(10),
        }
    }
}

/// The link to runners.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Link {
    /// The interval of heartbeats in both directions.
    #[serde(with = "Interval")]
    pub heartbeat_interval: Duration,
    /// A link is closed after this time without a message.
    #[serde(with = "Interval")]
    pub heartbeat_timeout: Duration,
    /// The time for which commands continue while no server can be reached.
    #[serde(with = "UpToADay")]
    pub link_grace: Duration,
    /// The maximum time between SIGTERM and SIGKILL that a profile can set.
    #[serde(with = "UpToADay")]
    pub ending_grace: Duration,
    /// The commands of a runner are `RUNNER_LOST` after this time without a link. Must be more than
    /// `link_grace`, `ending_grace` and `heartbeat_timeout` together.
    #[serde(with = "UpToADay")]
    pub lost_after: Duration,
    /// The maximum time that a runner can take to accept a job.
    #[serde(with = "Interval")]
    pub start_window: Duration,
    /// The time for which a server can control an execution or store an output without a renewal. After this time,
    /// another server takes over.
    #[serde(with = "Interval")]
    pub lease: Duration,
}

impl Default for Link {
    fn default() -> Self {
        Self {
            heartbeat_interval: Duration::from_secs(5),
            heartbeat_timeout: Duration::from_secs(20),
            link_grace: Duration::from_secs(4 * 60),
            ending_grace: Duration::from_secs(30),
            lost_after: Duration::from_secs(5 * 60),
            start_window: Duration::from_secs(30),
            lease: Duration::from_secs(30),
        }
    }
}

/// A limit as a number: bytes, a count, or milliseconds.
trait Amount {
    fn amount(self) -> u64;
}

impl Amount for u32 {
    fn amount(self) -> u64 {
        self.into()
    }
}

impl Amount for u64 {
    fn amount(self) -> u64 {
        self
    }
}

impl Amount for usize {
    fn amount(self) -> u64 {
        self as u64
    }
}

impl Amount for Duration {
    fn amount(self) -> u64 {
        u64::try_from(self.as_millis()).unwrap_or(u64::MAX)
    }
}

/// Returns every field of a section by name. If a field is not listed, the code does not compile.
macro_rules! named {
    ($section:ident = $value:expr, $prefix:literal: $($field:ident),+ $(,)?) => {{
        let $section { $($field),+ } = $value;
        [$((concat!($prefix, stringify!($field)).to_owned(), $field.amount())),+]
    }};
}

/// Returns every limit by name. Limits of `[link]` have the prefix `link.` and those of `[peers]` the
/// prefix `peers.`. Sizes are in bytes, times in milliseconds.
pub(super) fn named(limits: &Limits, link: &Link, peers: Option<&Peers>) -> BTreeMap<String, u64> {
    let limits = named!(Limits = limits.clone(), "":
        message_bytes,
        connections,
        connections_per_peer,
        connection_idle,
        call_timeout,
        waits,
        waits_per_tenant,
        lists,
        lists_per_tenant,
        checks,
        checks_per_tenant,
        streams_per_connection,
        handshake_timeout,
        authentication_failures_per_minute,
        executions_per_tenant,
        sessions_per_tenant,
        executions_per_session,
        queue_per_tenant,
        starts_per_second,
        denials_per_second,
        output_bytes_per_day,
        queue,
        runners,
        queue_wait,
        approval_valid,
        hook_delivery,
        open_wait,
        close_wait,
        readers_per_execution,
        readers,
        readers_per_tenant,
        watches,
        watches_per_tenant,
        rules_per_session,
        rules_per_tenant,
        connection_approvals_per_tenant,
        ring_bytes,
        exchanges_per_tenant,
        exchanges,
        exchange_open_wait,
        exchange_answer_wait,
        transfer_idle,
        forwards_per_session,
        forwards_per_tenant,
        forwards,
        forward_idle,
        shutdown_grace,
    );
    let link = named!(Link = link.clone(), "link.":
        heartbeat_interval,
        heartbeat_timeout,
        link_grace,
        ending_grace,
        lost_after,
        start_window,
        lease,
    );
    let peers = peers.map(|peers| {
        [
            ("peers.answer_wait".to_owned(), peers.answer_wait.amount()),
            ("peers.ready_wait".to_owned(), peers.ready_wait.amount()),
            ("peers.relays".to_owned(), peers.relays.amount()),
        ]
    });
    limits.into_iter().chain(link).chain(peers.into_iter().flatten()).collect()
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, path::Path};

    use crate::config::{Config, schema};

    fn keys(table: &str, prefix: &str) -> BTreeSet<String> {
        let keys = schema().json()["properties"][table]["properties"].as_object().unwrap();
        keys.keys().map(|key| format!("{prefix}{key}")).collect()
    }

    #[test]
    fn the_names_are_the_keys_of_the_file() {
        let named = Config::embedded("s", Path::new("/nowhere")).named_limits();
        let expected = &keys("limits", "") | &keys("link", "link.");
        assert_eq!(named.keys().cloned().collect::<BTreeSet<_>>(), expected);
        assert_eq!(
            (named["readers"], named["queue_wait"], named["link.link_grace"]),
            (4096, 60_000, 240_000)
        );
    }
}
