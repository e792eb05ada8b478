//! The message with which the runner introduces itself to a server.

use std::collections::BTreeMap;

use airlock_domain::{Capability, Epoch, RunnerHello, RunnerId};
use airlock_proto::LINK_PROTOCOL_VERSION;

use crate::{
    clock,
    config::RunnerConfig,
    floor::{Below, Outside},
};

/// The capability that the runner needs to accept any command.
const FLOOR: &str = "floor";

/// The identity of the runner, and the properties of its host and configuration that servers use.
#[derive(Debug)]
pub(crate) struct Identity {
    pub(crate) id: RunnerId,
    labels: BTreeMap<String, String>,
    slots: u32,
    bases: Vec<String>,
    /// The names of this host's shells, with their versions.
    shells: BTreeMap<String, String>,
    /// The layers of the sandbox.
    layers: Vec<Capability>,
    /// Whether the floor is enforced, and whether commands may run outside the sandbox.
    admission: [Capability; 2],
}

impl Identity {
    pub(super) fn new(
        id: RunnerId,
        config: &RunnerConfig,
        shells: BTreeMap<String, String>,
        layers: Vec<Capability>,
        (below, outside): (&Below, Outside),
    ) -> Self {
        let floor = Capability {
            name: FLOOR.to_owned(),
            enforced: below.as_text().is_none(),
            detail: below.as_text().unwrap_or("every layer of the floor is enforced").to_owned(),
        };
        let unsandboxed = Capability {
            name: "unsandboxed".to_owned(),
            enforced: outside.is_open(),
            detail: outside.as_text().to_owned(),
        };
        Self {
            id,
            labels: config.labels.clone(),
            slots: config.slots,
            bases: config.bases.keys().cloned().collect(),
            shells,
            layers,
            admission: [floor, unsandboxed],
        }
    }

    /// Builds the message for this epoch. `intact` and `vouched_epochs` describe the journal.
    pub(crate) fn hello(&self, epoch: Epoch, (intact, vouched_epochs): (bool, Vec<Epoch>)) -> RunnerHello {
        let journal = Capability {
            name: "journal_intact".to_owned(),
            enforced: intact,
            detail: if intact {
                "the journal contains every job that earlier epochs accepted".to_owned()
            } else {
                "the journal is new, or a host failure truncated it; jobs of earlier epochs are unknown"
                    .to_owned()
            },
        };
        let capabilities = self.layers.iter().chain([&journal]).chain(&self.admission).cloned().collect();
        RunnerHello {
            protocol_version: LINK_PROTOCOL_VERSION,
            runner_id: self.id.clone(),
            epoch,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            labels: self.labels.clone(),
            slots: self.slots,
            bases: self.bases.clone(),
            capabilities,
            shells: self.shells.clone(),
            clock_ms: clock::now_ms(),
            vouched_epochs,
            answers_probes: true,
        }
    }
}
