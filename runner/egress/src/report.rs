//! The preparation of a report, and the measurement of its bytes.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant, SystemTime},
};

use airlock_network::{Refusal, Target};

use crate::{
    access::Events,
    connection::{Connection, Outcome, Protocol},
};

/// Counts the bytes of one connection, and bounds them.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    up: AtomicU64,
    down: AtomicU64,
    limit: Option<u64>,
}

impl Meter {
    /// Counts bytes to the target. Returns false if there are more than permitted.
    #[must_use]
    pub(crate) fn up(&self, bytes: usize) -> bool {
        self.count(&self.up, bytes)
    }

    /// Counts bytes from the target. Returns false if there are more than permitted.
    #[must_use]
    pub(crate) fn down(&self, bytes: usize) -> bool {
        self.count(&self.down, bytes)
    }

    fn count(&self, counter: &AtomicU64, bytes: usize) -> bool {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        let before = counter.fetch_add(bytes, Ordering::Relaxed);
        self.limit.is_none_or(|limit| before.saturating_add(bytes) <= limit)
    }

    /// Returns the bytes of both directions.
    pub(crate) fn total(&self) -> u64 {
        self.up.load(Ordering::Relaxed).wrapping_add(self.down.load(Ordering::Relaxed))
    }
}

/// A report in preparation. It is sent when it is dropped, so that a cancelled connection is reported, too.
#[derive(Debug)]
pub(crate) struct Report {
    connection: Connection,
    meter: Arc<Meter>,
    started: Instant,
    events: Events,
}

/// The longest part of an invalid name in a report.
const INVALID_NAME: usize = 128;

impl Report {
    /// Begins the report of a request. Until something else is known, it failed.
    pub(crate) fn new(target: &Target, protocol: Protocol, events: Events, limit: Option<u64>) -> Self {
        Self::of(target.host.to_string(), target.port, protocol, events, limit)
    }

    /// Reports a request whose target is not valid.
    pub(crate) fn invalid(target: &str, problem: &str, protocol: Protocol, events: Events) {
        let host = target.chars().flat_map(char::escape_default).take(INVALID_NAME).collect();
        let mut report = Self::of(host, 0, protocol, events, None);
        report.connection.outcome = Outcome::Refused;
        report.connection.remedy = Some(problem.to_owned());
    }

    fn of(host: String, port: u16, protocol: Protocol, events: Events, limit: Option<u64>) -> Self {
        let connection = Connection {
            host,
            port,
            outcome: Outcome::Failed,
            rule: None,
            layer: None,
            others: Vec::new(),
            address: None,
            remedy: None,
            protocol,
            bytes_up: 0,
            bytes_down: 0,
            started: SystemTime::now(),
            duration: Duration::ZERO,
        };
        let meter = Arc::new(Meter { limit, ..Meter::default() });
        Self { connection, meter, started: Instant::now(), events }
    }

    pub(crate) fn meter(&self) -> &Arc<Meter> {
        &self.meter
    }

    /// Records that the target was connected.
    pub(crate) fn connected(&mut self, rule: Option<&str>, ignored: Option<&Refusal>) {
        match ignored {
            Some(refusal) => {
                self.refused(refusal);
                self.connection.outcome = Outcome::Warned;
            }
            None => {
                self.connection.outcome = Outcome::Allowed;
                self.connection.rule = rule.map(str::to_owned);
            }
        }
    }

    pub(crate) fn refused(&mut self, refusal: &Refusal) {
        self.connection.outcome = Outcome::Refused;
        self.connection.rule.clone_from(&refusal.rule);
        self.connection.layer = Some(refusal.layer);
        self.connection.others.clone_from(&refusal.others);
        self.connection.address = refusal.address.map(|address| address.kind);
        self.connection.remedy = Some(refusal.remedy.clone());
    }

    /// Records that an allowed tunnel was closed because of its first bytes, or that a request was not permitted.
    pub(crate) fn refused_contents(&mut self, remedy: &str) {
        self.connection.outcome = Outcome::Refused;
        self.connection.remedy = Some(remedy.to_owned());
    }

    pub(crate) fn failed(&mut self, problem: &str) {
        self.connection.outcome = Outcome::Failed;
        self.connection.remedy = Some(problem.to_owned());
    }
}

impl Drop for Report {
    fn drop(&mut self) {
        let mut connection = self.connection.clone();
        connection.bytes_up = self.meter.up.load(Ordering::Relaxed);
        connection.bytes_down = self.meter.down.load(Ordering::Relaxed);
        connection.duration = self.started.elapsed();
        self.events.send(connection);
    }
}

/// The report of a connection, which the connection and the watch of the rules complete.
pub(crate) type SharedReport = Arc<Mutex<Report>>;

/// Changes a report.
pub(crate) fn amend(report: &SharedReport, change: impl FnOnce(&mut Report)) {
    change(&mut report.lock().unwrap_or_else(PoisonError::into_inner));
}
