//! Checks between the fields of the configuration, and of values that the schema cannot express.

mod egress;
mod problems;

use std::{net::IpAddr, path::PathBuf};

use airlock_domain::{NetworkRules, RunnerId, limits as contract};
use airlock_network::Rules;
use airlock_sandbox::{DiskBackend, UidRange};

use airlock_config::Problem;

use self::{
    egress::{egress, secrets},
    problems::{Problems, plain_absolute},
};
use super::sections::{CgroupMode, RunnerConfig, ServerConfig, WorkspaceBackend};

pub(super) const ID_CURE: &str = "use 1 to 63 of a-z A-Z 0-9 . _ -";

pub(super) fn problems(config: &RunnerConfig) -> Vec<Problem> {
    let mut found = Problems(Vec::new());
    identity(&mut found, config);
    servers(&mut found, config);
    folders(&mut found, config);
    limits(&mut found, config);
    transfers(&mut found, config);
    workspace(&mut found, config);
    floor(&mut found, config);
    network(&mut found, config);
    secrets(&mut found, config);
    egress(&mut found, config);
    telemetry(&mut found, config);
    found.0
}

fn identity(found: &mut Problems, config: &RunnerConfig) {
    let id = config.runner_id.parse::<RunnerId>();
    found.unless(id.is_ok(), "runner_id", "is not a valid runner name", ID_CURE);
    let uids = UidRange::new(config.uids.first, config.uids.count).is_some();
    found.unless(
        uids,
        "uids",
        "is empty, contains 0, or reaches the two highest ids",
        "use a range of ids that no account uses",
    );
    let labels_fit = config.labels.len() <= contract::LABELS
        && config.labels.iter().all(|(key, value)| {
            (1..=contract::LABEL_KEY_BYTES).contains(&key.len()) && value.len() <= contract::LABEL_VALUE_BYTES
        });
    found.unless(
        labels_fit,
        "labels",
        "exceeds the limits for labels",
        "use at most 32, keys of 1 to 63 bytes, values of 255",
    );
    let sessions = config.limits.sessions <= config.uids.count;
    found.unless(
        sessions,
        "limits.sessions",
        "is more than `uids.count`",
        "give each session a uid of its own",
    );
}

fn servers(found: &mut Problems, config: &RunnerConfig) {
    found.unless(!config.servers.is_empty(), "server", "is missing", "name at least one [[server]]");
    for (index, server) in config.servers.iter().enumerate() {
        let field = |name: &str| format!("server[{index}].{name}");
        if server.insecure_loopback {
            let loopback = loopback(&server.endpoint);
            found.unless(
                loopback,
                &field("endpoint"),
                "is not http:// with a loopback address",
                "use http://127.0.0.1:PORT, or TLS",
            );
            continue;
        }
        let https = server.endpoint.starts_with("https://")
            && server.endpoint.parse::<tonic::transport::Uri>().is_ok();
        found.unless(
            https,
            &field("endpoint"),
            "is not https://host:port",
            "use TLS, or insecure_loopback on the loopback",
        );
        found.unless(
            !(server.discover && is_address(&server.endpoint)),
            &field("discover"),
            "is set for an IP address, which names one server only",
            "name a host that resolves to all of them, or leave it out",
        );
        for (name, given) in files(server) {
            found.unless(given, &field(name), "is missing", "TLS needs ca, cert and key");
        }
        match &server.server_name {
            None => found.unless(
                false,
                &field("server_name"),
                "is missing",
                "use a name that the server's certificate contains",
            ),
            Some(name) => {
                let allowed = config.floor.servers.contains(name);
                found.unless(
                    allowed,
                    &field("server_name"),
                    "is not one of `floor.servers`",
                    "add it there if the runner may trust this server",
                );
            }
        }
    }
}

fn files(server: &ServerConfig) -> [(&'static str, bool); 3] {
    [("ca", server.ca.is_some()), ("cert", server.cert.is_some()), ("key", server.key.is_some())]
}

fn loopback(endpoint: &str) -> bool {
    endpoint.starts_with("http://") && address(endpoint).is_some_and(|ip| ip.is_loopback())
}

fn is_address(endpoint: &str) -> bool {
    address(endpoint).is_some()
}

/// Returns the address in an endpoint, or `None` if the endpoint has a host name.
fn address(endpoint: &str) -> Option<IpAddr> {
    let uri: tonic::transport::Uri = endpoint.parse().ok()?;
    uri.host()?.trim_matches(['[', ']']).parse().ok()
}

fn telemetry(found: &mut Problems, config: &RunnerConfig) {
    let telemetry = &config.telemetry;
    let security = telemetry.otlp_endpoint.as_deref().map(airlock_telemetry::is_tls);
    found.unless(
        security != Some(None),
        "telemetry.otlp_endpoint",
        "is not an http:// or https:// address",
        "name a collector, such as http://127.0.0.1:4317 or https://collector.example:4317",
    );
    for (field, file) in [
        ("telemetry.otlp_ca", &telemetry.otlp_ca),
        ("telemetry.otlp_certificate", &telemetry.otlp_certificate),
        ("telemetry.otlp_key", &telemetry.otlp_key),
    ] {
        found.unless(
            file.is_none() || security == Some(Some(true)),
            field,
            "is set, and `telemetry.otlp_endpoint` is not an https:// address",
            "remove it, or use https://",
        );
    }
    found.unless(
        telemetry.otlp_certificate.is_some() == telemetry.otlp_key.is_some(),
        "telemetry.otlp_certificate",
        "is not set together with `telemetry.otlp_key`",
        "set both, or neither",
    );
}

fn folders(found: &mut Problems, config: &RunnerConfig) {
    const CURE: &str = "use an absolute path without `..`";
    found.unless(plain_absolute(&config.state_dir), "state_dir", "is not an absolute path", CURE);
    found.unless(plain_absolute(&config.bwrap), "bwrap", "is not an absolute path", CURE);
    if let Some(parent) = &config.cgroup.parent {
        found.unless(plain_absolute(parent), "cgroup.parent", "is not an absolute path", CURE);
        let used = config.cgroup.mode != CgroupMode::Off;
        found.unless(used, "cgroup.parent", "is set, but `cgroup.mode` is `off`", "remove one of them");
    }
    for (name, path) in &config.bases {
        let field = format!("bases.{name}");
        let fits = (1..=contract::NAME_BYTES).contains(&name.len());
        found.unless(fits, &field, "has a name that is empty or too long", "use 1 to 128 bytes");
        found.unless(plain_absolute(path), &field, "is not an absolute path", CURE);
        let apart = !path.starts_with(&config.state_dir) && !config.state_dir.starts_with(path);
        found.unless(apart, &field, "overlaps `state_dir`", "use two separate directories");
    }
}

fn limits(found: &mut Problems, config: &RunnerConfig) {
    let limits = &config.limits;
    let jobs = limits.jobs_kept >= config.slots;
    found.unless(jobs, "limits.jobs_kept", "is less than `slots`", "set it to at least the number of slots");
    let room = limits.spool_total_bytes >= config.floor.max_output_bytes;
    found.unless(
        room,
        "limits.spool_total_bytes",
        "is less than `floor.max_output_bytes`",
        "raise it, so that the output of one command fits",
    );
    let heartbeats = limits.heartbeat_min <= limits.heartbeat_max;
    found.unless(
        heartbeats,
        "limits.heartbeat_max",
        "is less than `limits.heartbeat_min`",
        "swap the two values",
    );
    let back_off = config.reconnect.first <= config.reconnect.max;
    found.unless(back_off, "reconnect.max", "is less than `reconnect.first`", "swap the two values");
}

fn transfers(found: &mut Problems, config: &RunnerConfig) {
    let transfers = &config.transfers;
    let room = transfers.total_bytes >= transfers.bytes;
    found.unless(
        room,
        "transfers.total_bytes",
        "is less than `transfers.bytes`",
        "raise it, so that one transfer fits",
    );
}

fn workspace(found: &mut Problems, config: &RunnerConfig) {
    let workspace = &config.workspace;
    let sized = matches!(workspace.backend, WorkspaceBackend::Loop | WorkspaceBackend::Tmpfs);
    found.unless(
        workspace.bytes.is_some() || !sized,
        "workspace.bytes",
        "is missing, but `workspace.backend` creates file systems of that size",
        "set the number of bytes that a session may use",
    );
    let image = workspace.backend != WorkspaceBackend::Loop
        || workspace.bytes.is_none_or(|bytes| bytes >= DiskBackend::LOOP_BYTES_MIN);
    found.unless(
        image,
        "workspace.bytes",
        "is less than 4194304, the minimum for a file system in an image",
        "raise it, or choose another `workspace.backend`",
    );
    let limited = workspace.bytes.or(workspace.inodes).is_some();
    found.unless(
        limited || workspace.backend != WorkspaceBackend::Quota,
        "workspace.backend",
        "is `quota`, but no limit is set",
        "set `workspace.bytes` and `workspace.inodes`",
    );
}

fn floor(found: &mut Problems, config: &RunnerConfig) {
    let floor = &config.floor;
    shown_folders(found, config, "bind_sources", &floor.bind_sources);
    shown_folders(found, config, "rootfs", &floor.rootfs);
    for (index, folder) in floor.rootfs.iter().enumerate() {
        let mut keys = config.servers.iter().filter_map(|server| server.key.as_ref());
        let apart = !keys.any(|key| key.starts_with(folder));
        let field = format!("floor.rootfs[{index}]");
        found.unless(apart, &field, "contains a key of the runner", "name a more specific directory");
    }
    for (index, socket) in floor.unix_sockets.iter().enumerate() {
        let field = format!("floor.unix_sockets[{index}]");
        let fits = airlock_sandbox::can_be_shown(socket);
        let cure = "use an absolute path without `..`, outside of /workspace, /home/agent, /tmp, /var/tmp, \
                    /run/airlock, /proc, /dev and /sys";
        found.unless(fits, &field, "is not a path where a sandbox can mount a socket", cure);
    }
}

fn network(found: &mut Problems, config: &RunnerConfig) {
    const KEY: &str = "floor.network";
    let rules = NetworkRules::from(config.floor.network.0.clone().unwrap_or_default());
    if let Some(limit) = rules.beyond_limit() {
        found.0.push(Problem {
            origin: None,
            field: KEY.to_owned(),
            what: limit,
            cure: "remove entries".to_owned(),
        });
    }
    let Err(errors) = Rules::parse(rules.any, &rules.allow, &rules.deny) else { return };
    found.0.extend(errors.iter().map(|error| {
        let (what, cure) = error.problem_and_remedy();
        Problem { origin: None, field: error.path(KEY), what: what.to_owned(), cure: cure.to_owned() }
    }));
}

fn shown_folders(found: &mut Problems, config: &RunnerConfig, list: &str, folders: &[PathBuf]) {
    let hides =
        |source: &PathBuf| !config.state_dir.starts_with(source) && !source.starts_with(&config.state_dir);
    for (index, source) in folders.iter().enumerate() {
        let field = format!("floor.{list}[{index}]");
        found.unless(
            plain_absolute(source),
            &field,
            "is not an absolute path",
            "use an absolute path without `..`",
        );
        found.unless(
            hides(source),
            &field,
            "contains the runner's `state_dir`",
            "name a more specific directory",
        );
        let staged = source.starts_with(airlock_sandbox::STAGE);
        found.unless(!staged, &field, "is at or below `/sys`", "a sandbox cannot show paths of `/sys`");
    }
}
