//! The schema of the configuration file: the type and range of each key, and the required keys. Plain data;
//! `check.rs` checks the relations between keys.

use std::{net::SocketAddr, time::Duration};

use airlock_config::{Field, Form, Kind};
use airlock_domain::limits;
use airlock_store::fair;

/// The maximum of every time in the configuration.
pub(super) const DAY: Duration = Duration::from_secs(24 * 3600);
/// The minimum interval of a periodic action.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(100);
/// The minimum of `message_bytes`: a request with the largest command and environment must fit.
const MESSAGE_BYTES_MIN: usize = limits::COMMAND_BYTES + limits::ENV_BYTES + 64 * 1024;
/// The minimum size of a ring, as a number of maximum-size chunks.
const RING_CHUNKS_MIN: usize = 4;
/// The minimum retention. With a shorter one, outputs could be removed before they are read.
const RETENTION_MIN: Duration = Duration::from_secs(60);
/// The maximum size of a ring in bytes.
const RING_BYTES_MAX: usize = 64 * 1024 * 1024;

const INTERVAL: Kind = Kind::Time { least: SHORTEST_INTERVAL, most: DAY };
const UP_TO_A_DAY: Kind = Kind::Time { least: Duration::ZERO, most: DAY };
const COUNT_32: Kind = Kind::at_least_u32(1);
const COUNT: Kind = Kind::at_least(1);
const ADDRESS: Form = Form {
    holds: |text| text.parse::<SocketAddr>().is_ok(),
    what: "an IP address and a port, such as \"127.0.0.1:7443\" or \"[::]:7443\"",
};

/// The whole file.
pub(super) const SCHEMA: &[Field] = &[
    Field::new("server_id", Kind::Text),
    Field::required("listen", Kind::Table(LISTEN)),
    Field::required("store", Kind::Table(STORE)),
    Field::required("outputs", Kind::Table(OUTPUTS)),
    Field::new("profiles", Kind::Table(PROFILES)),
    Field::new("identity", Kind::List(&Kind::Table(IDENTITY))),
    Field::new("tenant", Kind::List(&Kind::Table(TENANT))),
    Field::new("limits", Kind::Table(LIMITS)),
    Field::new("link", Kind::Table(LINK)),
    Field::new("peers", Kind::Table(PEERS)),
    Field::new("telemetry", Kind::Table(TELEMETRY)),
];

const LISTEN: &[Field] = &[
    Field::required("address", Kind::Form(ADDRESS)),
    Field::new("probes", Kind::Form(ADDRESS)),
    Field::new("insecure_loopback", Kind::Bool),
    Field::new("tls", Kind::Table(TLS)),
];

const TLS: &[Field] = &[
    Field::required("certificate", Kind::Text),
    Field::required("key", Kind::Text),
    Field::new("client_ca", Kind::Text),
    Field::new("client_certificates", Kind::OneOf(&["optional", "required"])),
];

const STORE: &[Field] = &[
    Field::new("path", Kind::Text),
    Field::new("durability", Kind::OneOf(&["process", "disk"])),
    Field::new("postgres", Kind::Table(POSTGRES)),
];

/// A larger number is likely a mistake, or too many connections for the database.
const CONNECTIONS: Kind = Kind::Number { least: 1, most: 1000 };
const POSTGRES: &[Field] = &[
    Field::required("url", Kind::Text),
    Field::new("password_file", Kind::Text),
    Field::new("sslmode", Kind::OneOf(&["disable", "require", "verify-ca", "verify-full"])),
    Field::new("ca", Kind::Text),
    Field::new("certificate", Kind::Text),
    Field::new("key", Kind::Text),
    Field::new("connections", CONNECTIONS),
    Field::new("connect_timeout", INTERVAL),
    Field::new("statement_timeout", INTERVAL),
    Field::new("lock_timeout", INTERVAL),
    Field::new("notify", Kind::Bool),
];

const OUTPUTS: &[Field] = &[
    Field::new("directory", Kind::Text),
    Field::new("s3", Kind::Table(S3)),
    Field::new("retention", Kind::time_from(RETENTION_MIN)),
    Field::new("lost_after", Kind::time_from(Duration::from_secs(1))),
];

const S3: &[Field] = &[
    Field::required("bucket", Kind::Text),
    Field::new("region", Kind::Text),
    Field::new("endpoint", Kind::Text),
    Field::new("prefix", Kind::Text),
    Field::new("path_style", Kind::Bool),
    Field::new("insecure_http", Kind::Bool),
    Field::new("ca", Kind::Text),
    Field::new("access_key_id_file", Kind::Text),
    Field::new("secret_access_key_file", Kind::Text),
    Field::new("connect_timeout", INTERVAL),
    Field::new("request_timeout", INTERVAL),
    Field::new("retry_for", INTERVAL),
];

const PROFILES: &[Field] = &[
    Field::new("directory", Kind::Text),
    Field::new("default", Kind::Text),
    Field::new("self_approval", Kind::Bool),
];

const IDENTITY: &[Field] = &[
    Field::required("name", Kind::Text),
    Field::required("tenant", Kind::Text),
    Field::required(
        "roles",
        Kind::List(&Kind::OneOf(&["executor", "approver", "auditor", "admin", "runner", "server"])),
    ),
    Field::new("profiles", Kind::List(&Kind::Text)),
    Field::required("match", Kind::Choice { words: &["loopback"], fields: MATCH }),
    Field::new("runner_ids", Kind::List(&Kind::Text)),
];

const MATCH: &[Field] = &[
    Field::new("common_name", Kind::Text),
    Field::new("dns", Kind::Text),
    Field::new("spiffe", Kind::Text),
    Field::new("token_sha256", Kind::Text),
];

const PACE: Kind = Kind::Number { least: 1, most: fair::PER_SECOND_MOST };
const TENANT: &[Field] = &[
    Field::required("name", Kind::Text),
    Field::new("weight", Kind::Number { least: 1, most: fair::WEIGHT_MOST as u64 }),
    Field::new("executions", COUNT),
    Field::new("queue", COUNT),
    Field::new("sessions", COUNT),
    Field::new("starts_per_second", PACE),
    Field::new("denials_per_second", PACE),
    Field::new("output_bytes_per_day", COUNT),
];

/// Every decision evaluates these rules in addition to those of the profile.
const RULES: Kind = Kind::Number { least: 1, most: 10_000 };

const LIMITS: &[Field] = &[
    Field::new(
        "message_bytes",
        Kind::Number { least: MESSAGE_BYTES_MIN as u64, most: limits::MESSAGE_BYTES as u64 },
    ),
    Field::new("connections", COUNT_32),
    Field::new("connections_per_peer", COUNT_32),
    Field::new("connection_idle", INTERVAL),
    Field::new("call_timeout", INTERVAL),
    Field::new("waits", COUNT),
    Field::new("waits_per_tenant", COUNT),
    Field::new("lists", COUNT),
    Field::new("lists_per_tenant", COUNT),
    Field::new("checks", COUNT),
    Field::new("checks_per_tenant", COUNT),
    Field::new("streams_per_connection", COUNT_32),
    Field::new("handshake_timeout", INTERVAL),
    Field::new("authentication_failures_per_minute", COUNT_32),
    Field::new("executions_per_tenant", COUNT),
    Field::new("sessions_per_tenant", COUNT),
    Field::new("executions_per_session", COUNT_32),
    Field::new("queue_per_tenant", COUNT),
    Field::new("starts_per_second", PACE),
    Field::new("denials_per_second", PACE),
    Field::new("output_bytes_per_day", COUNT),
    Field::new("queue", COUNT),
    Field::new("runners", COUNT_32),
    Field::new("queue_wait", INTERVAL),
    Field::new("approval_valid", INTERVAL),
    Field::new("open_wait", INTERVAL),
    Field::new("close_wait", INTERVAL),
    Field::new("readers_per_execution", COUNT),
    Field::new("readers", COUNT),
    Field::new("readers_per_tenant", COUNT),
    Field::new("watches", COUNT_32),
    Field::new("watches_per_tenant", COUNT_32),
    Field::new("rules_per_session", RULES),
    Field::new("rules_per_tenant", RULES),
    Field::new(
        "ring_bytes",
        Kind::Number { least: (RING_CHUNKS_MIN * limits::CHUNK_BYTES) as u64, most: RING_BYTES_MAX as u64 },
    ),
    Field::new("exchanges_per_tenant", COUNT),
    Field::new("exchanges", COUNT),
    Field::new("exchange_open_wait", INTERVAL),
    Field::new("exchange_answer_wait", INTERVAL),
    Field::new("transfer_idle", INTERVAL),
    Field::new("shutdown_grace", INTERVAL),
];

const LINK: &[Field] = &[
    Field::new("heartbeat_interval", INTERVAL),
    Field::new("heartbeat_timeout", INTERVAL),
    Field::new("link_grace", UP_TO_A_DAY),
    Field::new("ending_grace", UP_TO_A_DAY),
    Field::new("lost_after", UP_TO_A_DAY),
    Field::new("start_window", INTERVAL),
    Field::new("lease", INTERVAL),
];

const PEERS: &[Field] = &[
    Field::new("advertise", Kind::Text),
    Field::required("server_name", Kind::Text),
    Field::required("ca", Kind::Text),
    Field::required("certificate", Kind::Text),
    Field::required("key", Kind::Text),
    Field::new("answer_wait", INTERVAL),
    Field::new("ready_wait", INTERVAL),
    Field::new("relays", COUNT),
];

const TELEMETRY: &[Field] = &[
    Field::new("otlp_endpoint", Kind::Text),
    Field::new("otlp_ca", Kind::Text),
    Field::new("otlp_certificate", Kind::Text),
    Field::new("otlp_key", Kind::Text),
    Field::new("service_name", Kind::Text),
    Field::new("service_namespace", Kind::Text),
    Field::new("sampling", Kind::Fraction { least: 0.0, most: 1.0 }),
    Field::new("metrics_interval", INTERVAL),
    Field::new("log_format", Kind::OneOf(&["text", "json"])),
    Field::new("log_level", Kind::Text),
];
