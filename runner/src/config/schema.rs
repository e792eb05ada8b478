//! The schema of the configuration file: for each key its kind, its range, and whether it is required. Plain data. The
//! checks across keys are in `check.rs`.

use std::time::Duration;

use airlock_config::{Field, Kind};

/// At most three threads wait for each command. The runtime has 512 blocking threads.
const MAX_SLOTS: u64 = 128;
/// Each transfer uses one thread. The runtime has 512 blocking threads.
const MAX_TRANSFERS_AT_ONCE: u64 = 64;
/// Two versions of such a file are held in memory during a comparison.
const MAX_BASELINE_FILE_BYTES: u64 = 4 << 20;
/// A link needs room for a burst of reports.
const LINK_QUEUE_MIN: u64 = 16;
/// The least output that is kept.
const OUTPUT_BYTES_MIN: u64 = 8 << 10;
/// With less memory, a sandbox does not reach its shell.
const MEMORY_MIN: u64 = 16 << 20;
/// The kernel's minimum: one millisecond in each period of 100 milliseconds.
const CPU_MILLIS_MIN: u64 = 10;

const ANY_32: Kind = Kind::at_least_u32(0);
const COUNT_32: Kind = Kind::at_least_u32(1);
const ANY: Kind = Kind::at_least(0);
const COUNT: Kind = Kind::at_least(1);
const TIME: Kind = Kind::time_from(Duration::from_millis(1));
/// The kind of intervals of periodic work.
const INTERVAL: Kind = Kind::time_from(Duration::from_millis(100));
const ANY_TIME: Kind = Kind::time_from(Duration::ZERO);

/// The schema of the whole file.
pub(super) const SCHEMA: &[Field] = &[
    Field::new("runner_id", Kind::Text),
    Field::required("state_dir", Kind::Text),
    Field::new("slots", Kind::Number { least: 1, most: MAX_SLOTS }),
    Field::new("bwrap", Kind::Text),
    Field::new("server", Kind::List(&Kind::Table(SERVER))),
    Field::new("bases", Kind::Map(&Kind::Text)),
    Field::new("labels", Kind::Map(&Kind::Text)),
    Field::new("uids", Kind::Table(UIDS)),
    Field::new("cgroup", Kind::Table(CGROUP)),
    Field::new("workspace", Kind::Table(WORKSPACE)),
    Field::new("floor", Kind::Table(FLOOR)),
    Field::new("secrets", Kind::Table(SECRETS)),
    Field::new("env", Kind::Table(&[Field::new("pass_exceptions", Kind::List(&Kind::Text))])),
    Field::new("limits", Kind::Table(LIMITS)),
    Field::new("transfers", Kind::Table(TRANSFERS)),
    Field::new("reconnect", Kind::Table(RECONNECT)),
    Field::new("spool", Kind::Table(&[Field::new("keep", ANY_TIME)])),
    Field::new("drain", Kind::Table(DRAIN)),
    Field::new("telemetry", Kind::Table(TELEMETRY)),
];

const SECRETS: &[Field] =
    &[Field::new("files", Kind::Map(&Kind::Text)), Field::new("env", Kind::Map(&Kind::Text))];

const SERVER: &[Field] = &[
    Field::required("endpoint", Kind::Text),
    Field::new("server_name", Kind::Text),
    Field::new("ca", Kind::Text),
    Field::new("cert", Kind::Text),
    Field::new("key", Kind::Text),
    Field::new("insecure_loopback", Kind::Bool),
    Field::new("discover", Kind::Bool),
];

const UIDS: &[Field] = &[Field::new("first", ANY_32), Field::new("count", ANY_32)];

const CGROUP: &[Field] =
    &[Field::new("mode", Kind::OneOf(&["auto", "require", "off"])), Field::new("parent", Kind::Text)];

const WORKSPACE: &[Field] = &[
    Field::new("backend", Kind::OneOf(&["auto", "quota", "loop", "tmpfs", "watch"])),
    Field::new("bytes", COUNT),
    Field::new("inodes", COUNT),
    Field::new("watch_every", TIME),
];

const FLOOR: &[Field] = &[
    Field::new("require", Kind::List(&Kind::OneOf(&airlock_sandbox::LAYER_NAMES))),
    Field::new("bind_sources", Kind::List(&Kind::Text)),
    Field::new("rootfs", Kind::List(&Kind::Text)),
    Field::new("unix_sockets", Kind::List(&Kind::Text)),
    Field::new("pass_env", Kind::List(&Kind::Text)),
    Field::new("networks", Kind::List(&Kind::OneOf(&["loopback"]))),
    Field::new("unsandboxed", Kind::Bool),
    Field::new("servers", Kind::List(&Kind::Text)),
    Field::new("max_timeout", TIME),
    Field::new("max_grace", ANY_TIME),
    Field::new("max_open_files", ANY_32),
    Field::new("max_processes", ANY_32),
    Field::new("max_file_bytes", ANY),
    Field::new("max_output_bytes", Kind::at_least(OUTPUT_BYTES_MIN)),
    Field::new("max_private_tmp_bytes", ANY),
    Field::new("max_memory_bytes", Kind::at_least(MEMORY_MIN)),
    Field::new("max_cpu_millis", Kind::at_least(CPU_MILLIS_MIN)),
];

const LIMITS: &[Field] = &[
    Field::new("sessions", COUNT_32),
    Field::new("spool_total_bytes", ANY),
    Field::new("disk_reserve_bytes", ANY),
    Field::new("base_bytes", COUNT),
    Field::new("base_entries", COUNT),
    Field::new("jobs_kept", COUNT_32),
    Field::new("ids_remembered", ANY_32),
    Field::new("output_streams", COUNT_32),
    Field::new("exchanges", COUNT_32),
    Field::new("exchange_idle", TIME),
    Field::new("stdin_turn", TIME),
    Field::new("link_queue", Kind::at_least_u32(LINK_QUEUE_MIN)),
    Field::new("start_timeout", TIME),
    Field::new("dial_timeout", TIME),
    Field::new("heartbeat_min", TIME),
    Field::new("heartbeat_max", ANY_TIME),
    Field::new("link_grace_max", ANY_TIME),
];

const TRANSFERS: &[Field] = &[
    Field::new("bytes", COUNT),
    Field::new("unpacked_bytes", COUNT),
    Field::new("entries", COUNT),
    Field::new("at_once", Kind::Number { least: 1, most: MAX_TRANSFERS_AT_ONCE }),
    Field::new("keep", Kind::time_from(Duration::from_secs(1))),
    Field::new("per_session", COUNT_32),
    Field::new("total_bytes", ANY),
    Field::new("baseline_bytes", ANY),
    Field::new("baseline_file_bytes", Kind::Number { least: 0, most: MAX_BASELINE_FILE_BYTES }),
];

const RECONNECT: &[Field] = &[
    Field::new("first", TIME),
    Field::new("max", ANY_TIME),
    Field::new("refused", TIME),
    Field::new("lookup", TIME),
];

const DRAIN: &[Field] = &[Field::new("grace", ANY_TIME), Field::new("handover", ANY_TIME)];

const TELEMETRY: &[Field] = &[
    Field::new("otlp_endpoint", Kind::Text),
    Field::new("otlp_ca", Kind::Text),
    Field::new("otlp_certificate", Kind::Text),
    Field::new("otlp_key", Kind::Text),
    Field::new("service_namespace", Kind::Text),
    Field::new("metrics_interval", INTERVAL),
    Field::new("flush_timeout", ANY_TIME),
    Field::new("log", Kind::Text),
    Field::new("log_json", Kind::Bool),
];
