//! The fleet of a run, with its stores.

use std::{sync::Mutex, time::Duration};

use airlock_client::{Client, Patience};

use super::{
    plan::{LIMIT, SERVERS},
    tally::Tally,
};
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
