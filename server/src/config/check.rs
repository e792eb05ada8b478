//! Checks of the fields of a configuration against each other. All violations are reported together.

mod engines;
mod findings;
mod hooks;
mod identities;

use std::time::Duration;

use tracing_subscriber::EnvFilter;

use findings::{Findings, is_name};

use super::{ClientCertificates, Config, Identity, Problem, RoleName};

/// The maximum of a time between keys.
const DAY: Duration = Duration::from_millis(super::engines::DAY);
/// The maximum length of a server's name, which is also that of a runner's name.
const SERVER_ID_BYTES: usize = 63;

impl Config {
    /// Returns all problems except those of the files that the configuration names.
    pub(super) fn problems(&self) -> Vec<Problem> {
        let mut found = Findings::default();
        found.require(
            is_name(&self.server_id, SERVER_ID_BYTES),
            "server_id",
            format!("`{}` is not a server id", self.server_id.escape_debug()),
            "use 1 to 63 of a-z A-Z 0-9 . _ -",
        );
        self.listen_problems(&mut found);
        engines::check(self, &mut found);
        identities::check(self, &mut found);
        self.limit_problems(&mut found);
        self.link_problems(&mut found);
        self.peer_problems(&mut found);
        hooks::check(self, &mut found);
        self.telemetry_problems(&mut found);
        found.into_problems()
    }

    /// Returns the problems of the files that the configuration names.
    pub(super) fn file_problems(&self) -> Vec<Problem> {
        let mut found = Findings::default();
        if let Some(tls) = &self.listen.tls {
            found.readable("listen.tls.certificate", &tls.certificate);
            found.readable("listen.tls.key", &tls.key);
            if let Some(ca) = &tls.client_ca {
                found.readable("listen.tls.client_ca", ca);
            }
        }
        if let Some(peers) = &self.peers {
            found.readable("peers.ca", &peers.ca);
            found.readable("peers.certificate", &peers.certificate);
            found.readable("peers.key", &peers.key);
        }
        for (field, file) in self.telemetry.otlp_files() {
            if let Some(file) = file {
                found.readable(field, file);
            }
        }
        engines::check_files(self, &mut found);
        hooks::check_files(self, &mut found);
        if let Some(directory) = &self.profiles.directory {
            found.require(
                directory.is_dir(),
                "profiles.directory",
                format!("`{}` is not a directory", directory.display()),
                "create it, or remove the key to use only the built-in profiles",
            );
        }
        found.into_problems()
    }

    fn listen_problems(&self, found: &mut Findings) {
        let listen = &self.listen;
        found.require(
            listen.probes.is_none_or(|probes| probes.port() == 0 || probes.port() != listen.address.port()),
            "listen.probes",
            "it has the same port as `address`",
            "use another port",
        );
        let Some(tls) = &listen.tls else {
            found.require(
                listen.insecure_loopback,
                "listen.tls",
                "no certificate is configured",
                "set certificate and key, or insecure_loopback = true on a loopback address",
            );
            found.require(
                !listen.insecure_loopback || listen.address.ip().is_loopback(),
                "listen.insecure_loopback",
                format!("`{}` can be reached from other hosts", listen.address),
                "listen on 127.0.0.1, or use TLS",
            );
            return;
        };
        found.require(
            !listen.insecure_loopback,
            "listen.insecure_loopback",
            "it conflicts with listen.tls",
            "remove one of the two",
        );
        found.require(
            tls.client_ca.is_some() || tls.client_certificates == ClientCertificates::Optional,
            "listen.tls.client_certificates",
            "client certificates are required, but no authority is configured",
            "set client_ca",
        );
    }

    fn limit_problems(&self, found: &mut Findings) {
        let limits = &self.limits;
        // A share must not exceed the total, because the configured value would have no effect.
        let count = |one: u32| one as usize;
        let shares = [
            ("readers", limits.readers, "readers_per_execution", limits.readers_per_execution),
            ("readers", limits.readers, "readers_per_tenant", limits.readers_per_tenant),
            ("exchanges", limits.exchanges, "exchanges_per_tenant", limits.exchanges_per_tenant),
            ("forwards", limits.forwards, "forwards_per_tenant", limits.forwards_per_tenant),
            ("forwards", limits.forwards, "forwards_per_session", limits.forwards_per_session),
            ("waits", limits.waits, "waits_per_tenant", limits.waits_per_tenant),
            ("lists", limits.lists, "lists_per_tenant", limits.lists_per_tenant),
            ("checks", limits.checks, "checks_per_tenant", limits.checks_per_tenant),
            ("watches", count(limits.watches), "watches_per_tenant", count(limits.watches_per_tenant)),
            (
                "connections",
                count(limits.connections),
                "connections_per_peer",
                count(limits.connections_per_peer),
            ),
        ];
        for (limit, all, share, own) in shares {
            found.require(
                all >= own,
                &format!("limits.{limit}"),
                format!("{all} is less than {share}, which is {own}"),
                format!("raise it, or lower {share}"),
            );
        }
        found.require(
            limits.call_timeout > limits.open_wait,
            "limits.call_timeout",
            format!(
                "{:?} is not longer than open_wait ({:?}), so calls would end before their session opens",
                limits.call_timeout, limits.open_wait
            ),
            "raise it, or lower open_wait",
        );
    }

    fn link_problems(&self, found: &mut Findings) {
        let link = &self.link;
        let twice = link.heartbeat_interval.saturating_mul(2);
        found.between("link.heartbeat_timeout", link.heartbeat_timeout, twice, DAY);
        found.between("link.link_grace", link.link_grace, link.heartbeat_timeout, DAY);
        // A lease is renewed three times within its duration, and at most once a second.
        found.between("link.lease", link.lease, Duration::from_secs(3), DAY);
        let parts = [link.link_grace, link.ending_grace, link.heartbeat_timeout];
        let least = parts.into_iter().fold(Duration::ZERO, Duration::saturating_add);
        found.require(
            link.lost_after > least,
            "link.lost_after",
            format!(
                "{:?} is not longer than link_grace, ending_grace and heartbeat_timeout together \
                 ({least:?}), so a running command could be reported as lost",
                link.lost_after
            ),
            "raise it, or lower one of them",
        );
        found.require(
            self.outputs.lost_after > link.lost_after,
            "outputs.lost_after",
            format!(
                "{:?} is not longer than link.lost_after ({:?})",
                self.outputs.lost_after, link.lost_after
            ),
            "raise it: a runner can return with its output until link.lost_after has passed",
        );
    }

    fn peer_problems(&self, found: &mut Findings) {
        let Some(peers) = &self.peers else { return };
        let is_https = |text: &str| {
            let uri = text.parse::<tonic::transport::Uri>();
            uri.is_ok_and(|uri| uri.scheme_str() == Some("https") && uri.port_u16().is_some())
        };
        found.require(
            peers.advertise.as_deref().is_none_or(is_https),
            "peers.advertise",
            "it is not https:// with a host and a port",
            "write the address at which other servers reach this one, such as https://10.0.0.1:7443, or \
             https://[fd00::1]:7443 with an IPv6 address in brackets",
        );
        found.require(
            !peers.server_name.is_empty(),
            "peers.server_name",
            "it is empty",
            "set the name that the certificate of every server contains",
        );
        let is_peer = |identity: &Identity| identity.roles.contains(&RoleName::Server);
        found.require(
            peers.advertise.is_none() || self.identities.iter().any(is_peer),
            "peers.advertise",
            "no identity has the role server, so other servers could not connect",
            "add an [[identity]] with roles = [\"server\"] that matches the other servers' certificate",
        );
    }

    fn telemetry_problems(&self, found: &mut Findings) {
        let telemetry = &self.telemetry;
        let security = telemetry.otlp_endpoint.as_deref().map(airlock_telemetry::is_tls);
        found.require(
            security != Some(None),
            "telemetry.otlp_endpoint",
            "it is not an http:// or https:// address",
            "use the address of a collector, such as http://127.0.0.1:4317 or https://collector.example:4317",
        );
        for (field, file) in telemetry.otlp_files() {
            found.require(
                file.is_none() || security == Some(Some(true)),
                field,
                "otlp_endpoint is not an https:// address",
                "remove it, or use https://",
            );
        }
        found.require(
            telemetry.otlp_certificate.is_some() == telemetry.otlp_key.is_some(),
            "telemetry.otlp_certificate",
            "only one of otlp_certificate and otlp_key is set",
            "set both, or neither",
        );
        found.require(
            EnvFilter::try_new(&telemetry.log_level).is_ok(),
            "telemetry.log_level",
            format!("`{}` is not a log level", telemetry.log_level.escape_debug()),
            "use error, warn, info, debug or trace, or directives such as `info,airlock_server=debug`",
        );
    }
}
