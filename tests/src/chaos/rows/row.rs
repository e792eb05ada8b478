//! The list of the rows.

use std::fmt::Debug;

use crate::chaos::plan::Plan;

/// A row of the fault table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Row {
    /// A client's stream is cut at any event of an ended execution, by the client or by the network.
    StreamCut,
    /// The same for a running execution.
    LiveStreamCut,
    /// A reader is slow or does not read.
    SlowReader,
    /// The server dies at any step: before and after each write to the store and each message of the link.
    ServerPoint,
    /// The server dies at any time, with executions in every state.
    ServerMoment,
    /// The link is cut, down or stalled, or the server is down, for less than `link_grace`.
    Away,
    /// The same for longer.
    AwayForGood,
    /// The runner dies at any step: of its journal, the link, the spool, a sandbox's start, a session.
    RunnerPoint,
    /// The same for a new runner: executions that are not in its journal may have run before it.
    NewRunner,
    /// The runner dies at any time, with executions in every state.
    RunnerMoment,
    /// Faults in short-lived states, which are prolonged: `STARTING`, and finished but not stored.
    HeldState,
    /// The store is unavailable for a while.
    StoreGone,
    /// The runner's disk is full.
    DiskFull,
    /// The runner drains because its process stops.
    RunnerStops,
    /// The server stops.
    ServerStops,
}

impl Row {
    /// All rows, each with the smallest number of its injections, and the number of those in `make test`.
    pub const ALL: [(Self, usize, usize); 15] = [
        (Self::StreamCut, 60, 12),
        (Self::LiveStreamCut, 20, 4),
        (Self::SlowReader, 30, 6),
        (Self::ServerPoint, 120, 12),
        (Self::ServerMoment, 8, 2),
        (Self::Away, 12, 3),
        (Self::AwayForGood, 3, 1),
        (Self::RunnerPoint, 112, 12),
        (Self::NewRunner, 36, 4),
        (Self::RunnerMoment, 6, 2),
        (Self::HeldState, 10, 3),
        (Self::StoreGone, 10, 3),
        (Self::DiskFull, 5, 2),
        (Self::RunnerStops, 4, 1),
        (Self::ServerStops, 4, 1),
    ];

    /// Returns the row with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().map(|(row, ..)| *row).find(|row| format!("{row:?}").eq_ignore_ascii_case(name))
    }

    /// Returns the smallest number of injections in all of the row's tests.
    #[must_use]
    pub fn least(self) -> usize {
        Self::ALL.iter().find(|(row, ..)| *row == self).map_or(0, |(_, least, _)| *least)
    }

    /// Returns the number of injections in `make test`.
    #[must_use]
    pub fn sample(self) -> usize {
        Self::ALL.iter().find(|(row, ..)| *row == self).map_or(0, |(.., sample)| *sample)
    }

    pub(super) fn note(self, plan: &Plan, index: usize, what: &dyn Debug) -> String {
        plan.note(&format!("{self:?}"), index, &format!("{what:?}"));
        format!("{self:?}-{}-{index}-{}", plan.seed, plan.tally().injections)
    }
}
