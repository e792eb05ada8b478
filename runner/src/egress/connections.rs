//! The connections of an execution, for its result, its trace and the metrics.

use std::time::UNIX_EPOCH;

use airlock_domain::{Connection, ConnectionProtocol, ConnectionVerdict, Violation, limits::CONNECTIONS};
use airlock_egress::{Connection as Reported, Outcome, Protocol};
use tracing::Span;

use super::refused::Refused;
use crate::telemetry::{self, ConnectionMetrics};

/// The connections of an execution that has ended.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    /// At most [`CONNECTIONS`].
    pub(crate) kept: Vec<Connection>,
    pub(crate) left_out: u64,
    /// The connections that were refused, that failed, or that were let through with a warning.
    pub(crate) violations: Vec<Violation>,
}

/// Collects the connections of an execution that runs.
#[derive(Debug)]
pub(super) struct Collector {
    kept: Vec<Connection>,
    left_out: u64,
    refused: Refused,
    metrics: ConnectionMetrics,
    span: Span,
}

impl Collector {
    /// `span` gets an event for each connection.
    pub(super) fn new(metrics: ConnectionMetrics, span: Span) -> Self {
        Self { kept: Vec::new(), left_out: 0, refused: Refused::default(), metrics, span }
    }

    pub(super) fn add(&mut self, reported: Reported) {
        let connection = connection(&reported);
        self.metrics.ended(&connection);
        telemetry::connection(&self.span, &connection);
        self.keep(connection);
        self.refused.add(reported);
    }

    /// Returns the collected connections. `dropped` is the number of reports that were lost because the queue was full.
    pub(super) fn finish(self, dropped: u64) -> Connections {
        let left_out = self.left_out.saturating_add(dropped);
        Connections { kept: self.kept, left_out, violations: self.refused.violations() }
    }

    /// If the list is full, an allowed connection makes room for one that was not allowed. So no number of allowed
    /// connections hides one that was refused.
    fn keep(&mut self, connection: Connection) {
        let is_allowed = |one: &Connection| one.verdict == ConnectionVerdict::Allowed;
        if self.kept.len() >= CONNECTIONS {
            self.left_out = self.left_out.saturating_add(1);
            match self.kept.iter().rposition(is_allowed) {
                Some(last) if !is_allowed(&connection) => drop(self.kept.remove(last)),
                _ => return,
            }
        }
        self.kept.push(connection);
    }
}

fn connection(reported: &Reported) -> Connection {
    let protocol = match reported.protocol {
        Protocol::Http => ConnectionProtocol::Http,
        Protocol::Connect => ConnectionProtocol::Connect,
        Protocol::Socks5 => ConnectionProtocol::Socks,
    };
    let verdict = match reported.outcome {
        Outcome::Allowed => ConnectionVerdict::Allowed,
        Outcome::Warned => ConnectionVerdict::Warned,
        Outcome::Refused => ConnectionVerdict::Refused,
        Outcome::Failed => ConnectionVerdict::Failed,
    };
    let started = reported.started.duration_since(UNIX_EPOCH).unwrap_or_default();
    Connection {
        host: reported.host.clone(),
        port: reported.port,
        protocol,
        verdict,
        rule: reported.rule.clone().unwrap_or_default(),
        layer: reported.layer.map(|layer| layer.to_string()).unwrap_or_default(),
        other_layers: reported.others.iter().map(ToString::to_string).collect(),
        address_kind: reported.address.map(|kind| kind.to_string()).unwrap_or_default(),
        reason: reported.remedy.clone().unwrap_or_default(),
        bytes_up: reported.bytes_up,
        bytes_down: reported.bytes_down,
        started_micros: i64::try_from(started.as_micros()).unwrap_or(i64::MAX),
        duration: reported.duration,
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;

    fn reported(host: String, outcome: Outcome) -> Reported {
        Reported {
            host,
            port: 443,
            outcome,
            rule: None,
            layer: None,
            others: Vec::new(),
            address: None,
            remedy: None,
            protocol: Protocol::Connect,
            bytes_up: 1,
            bytes_down: 2,
            started: SystemTime::now(),
            duration: Duration::from_millis(1),
        }
    }

    #[test]
    fn no_number_of_allowed_connections_hides_a_refused_one() {
        let mut collector = Collector::new(ConnectionMetrics::new(), Span::none());
        for number in 0..CONNECTIONS + 50 {
            collector.add(reported(format!("h{number}.example"), Outcome::Allowed));
        }
        for outcome in [Outcome::Refused, Outcome::Warned] {
            collector.add(reported(format!("{outcome:?}.example"), outcome));
        }
        let found = collector.finish(3);
        assert_eq!((found.kept.len(), found.left_out), (CONNECTIONS, 55));
        let last: Vec<_> = found.kept.iter().rev().take(2).map(|one| one.host.as_str()).collect();
        assert_eq!(last, ["Warned.example", "Refused.example"]);
        let kinds: Vec<_> = found.violations.iter().map(|one| one.kind.as_str()).collect();
        assert_eq!(kinds, ["refused", "warned"]);
        assert_eq!(found.kept.first().unwrap().host, "h0.example");
    }

    #[test]
    fn refused_connections_are_bounded_too() {
        let mut collector = Collector::new(ConnectionMetrics::new(), Span::none());
        for number in 0..CONNECTIONS + 50 {
            collector.add(reported(format!("h{number}.example"), Outcome::Refused));
        }
        let found = collector.finish(0);
        assert_eq!((found.kept.len(), found.left_out), (CONNECTIONS, 50));
    }
}
