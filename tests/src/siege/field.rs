//! The fleet of a run, with its stores.

use std::{collections::BTreeMap, sync::Mutex, time::Duration};

use airlock_client::{Client, Patience};

use crate::{
    cutter::Cutter,
    engines::{Bucket, Database},
    fleet::Fleet,
};

/// The fleet, and the relays between it and its stores.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) fleet: Fleet,
    pub(super) database: (Database, Cutter),
    pub(super) bucket: (Bucket, Cutter),
    pub(super) tally: Mutex<Tally>,
}

impl Field {
    /// Returns a client of all servers, which starts with a server that depends on the number.
    pub(super) fn client(&self, number: usize) -> Client {
        let servers: Vec<usize> =
            (0..usize::from(SERVERS)).map(|one| (one + number) % usize::from(SERVERS)).collect();
        self.fleet.client_with(&servers, patience())
    }

    /// Returns a client of one server that retries only briefly.
    pub(super) fn hasty(&self, server: usize) -> Client {
        self.fleet.client_with(&[server], Patience { call: Duration::from_secs(2), ..patience() })
    }
}

fn patience() -> Patience {
    Patience { call: LIMIT, view: LIMIT, ..Patience::default() }
}

pub(super) const SERVERS: u8 = 3;
pub(super) const RUNNERS: u8 = 5;
/// The longest time for any progress on a busy host with faults.
pub(super) const LIMIT: Duration = Duration::from_secs(240);

/// The extent of a run.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// The seed of all random choices.
    pub seed: u64,
    /// The number of executions.
    pub count: usize,
}

/// The counts of a run.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) injected: BTreeMap<String, u32>,
    /// The fault points at which a process died, with their counts.
    pub(super) died: BTreeMap<String, u32>,
    /// The responses of single servers about executions in progress.
    pub(super) answers: u32,
    /// The executions that every server reported correctly at the end.
    pub(super) agreed: usize,
    /// The bytes of all outputs that were read to their end.
    pub(super) bytes: u64,
}

impl Tally {
    pub(super) fn inject(&mut self, what: &str) {
        *self.injected.entry(what.to_owned()).or_default() += 1;
    }

    pub(super) fn died(&mut self, point: &str) {
        *self.died.entry(point.to_owned()).or_default() += 1;
    }

    /// Returns the number of faults that occurred.
    pub(super) fn faults(&self) -> u32 {
        self.injected.values().chain(self.died.values()).sum()
    }
}
