//! The default values of the configuration.

use std::time::Duration;

use airlock_config::OrNone;

use super::sections::{
    DrainConfig, FloorConfig, LimitsConfig, NetworkName, ReconnectConfig, SpoolConfig, TelemetryConfig,
    TransfersConfig, UidConfig, WorkspaceBackend, WorkspaceConfig,
};

const KIB: u64 = 1 << 10;
const MIB: u64 = KIB << 10;
const GIB: u64 = MIB << 10;

impl Default for UidConfig {
    fn default() -> Self {
        Self { first: 2_000_000, count: 4096 }
    }
}

impl Default for WorkspaceConfig {
    fn default() -> Self {
        Self {
            backend: WorkspaceBackend::Auto,
            bytes: None,
            inodes: None,
            watch_every: Duration::from_secs(1),
        }
    }
}

impl Default for FloorConfig {
    fn default() -> Self {
        Self {
            require: Vec::new(),
            bind_sources: Vec::new(),
            rootfs: Vec::new(),
            unix_sockets: Vec::new(),
            pass_env: Vec::new(),
            networks: vec![NetworkName::Loopback],
            network: OrNone(None),
            port_forward: Vec::new(),
            unsandboxed: false,
            servers: Vec::new(),
            max_timeout: Duration::from_secs(30 * 60),
            max_grace: Duration::from_secs(30),
            max_open_files: 65_536,
            max_processes: 4096,
            max_file_bytes: 16 * GIB,
            max_output_bytes: 64 * MIB,
            max_private_tmp_bytes: 256 * MIB,
            max_memory_bytes: None,
            max_cpu_millis: None,
        }
    }
}

impl Default for LimitsConfig {
    fn default() -> Self {
        Self {
            sessions: 256,
            spool_total_bytes: 16 * GIB,
            disk_reserve_bytes: 256 * MIB,
            base_bytes: 4 * GIB,
            base_entries: 500_000,
            jobs_kept: 20_000,
            ids_remembered: 200_000,
            output_streams: 512,
            exchanges: 64,
            forwards: 256,
            exchange_idle: Duration::from_secs(5 * 60),
            stdin_turn: Duration::from_secs(10),
            link_queue: 4096,
            start_timeout: Duration::from_secs(10),
            dial_timeout: Duration::from_secs(10),
            heartbeat_min: Duration::from_millis(100),
            heartbeat_max: Duration::from_secs(30),
            link_grace_max: Duration::from_secs(15 * 60),
        }
    }
}

impl Default for TransfersConfig {
    fn default() -> Self {
        Self {
            bytes: 8 * GIB,
            unpacked_bytes: 16 * GIB,
            entries: 500_000,
            at_once: 8,
            keep: Duration::from_secs(10 * 60),
            per_session: 64,
            total_bytes: 32 * GIB,
            baseline_bytes: 64 * MIB,
            baseline_file_bytes: 256 * KIB,
        }
    }
}

impl Default for ReconnectConfig {
    fn default() -> Self {
        Self {
            first: Duration::from_millis(100),
            max: Duration::from_secs(5),
            refused: Duration::from_secs(30),
            lookup: Duration::from_secs(5),
        }
    }
}

impl Default for SpoolConfig {
    fn default() -> Self {
        Self { keep: Duration::from_secs(24 * 3600) }
    }
}

impl Default for DrainConfig {
    fn default() -> Self {
        Self { grace: Duration::from_secs(20), handover: Duration::from_secs(5) }
    }
}

impl Default for TelemetryConfig {
    fn default() -> Self {
        Self {
            otlp_endpoint: None,
            otlp_ca: None,
            otlp_certificate: None,
            otlp_key: None,
            service_namespace: None,
            metrics_interval: Duration::from_secs(10),
            flush_timeout: Duration::from_secs(5),
            log: "info".to_owned(),
            log_json: false,
        }
    }
}
