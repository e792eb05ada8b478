//! The events that the machine takes, and the effects that it asks for.

use airlock_domain::{Epoch, ExecutionId, ExecutionResult, JobReport, SessionId};

use super::{
    job::Record,
    offer::{OfferKey, Room, Terms},
};

/// Something that happened to the runner or to a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The runner begins a new epoch.
    EpochBegan(Epoch),
    /// Every server has read the reports about earlier epochs.
    ServersTold,
    /// A server offers a job.
    Offered {
        /// The offer.
        offer: OfferKey,
        /// The current epoch.
        epoch: Epoch,
        /// The conditions of the offer. `None` if the caller refuses the offer in any case.
        terms: Option<Terms>,
    },
    /// The runner checked a new offer, and can accept it if there is room.
    Checked {
        /// The offer.
        offer: OfferKey,
        /// The current epoch.
        epoch: Epoch,
        /// The session of the job.
        session: SessionId,
        /// The capacity of the runner.
        room: Room,
    },
    /// The runner checked a new offer, and refuses it.
    Rejected {
        /// The offer.
        offer: OfferKey,
        /// The current epoch.
        epoch: Epoch,
        /// The stable name of the reason.
        reason: &'static str,
        /// The result of the execution.
        result: ExecutionResult,
    },
    /// The command runs.
    Started {
        /// The execution.
        id: ExecutionId,
    },
    /// The job ended. If the cause is `RunnerLost`, it ended with its epoch.
    Ended {
        /// The execution.
        id: ExecutionId,
        /// The result.
        result: ExecutionResult,
        /// The time until which the result is kept for a server, on the runner's clock, in milliseconds.
        keep_until_ms: u64,
    },
    /// The runner restarted and found this ended job. It is kept until this time for a server.
    Kept {
        /// The execution.
        id: ExecutionId,
        /// The time on the runner's clock, in milliseconds.
        until_ms: u64,
    },
    /// A server has fetched the job, or the time to keep it is over.
    Forget {
        /// The execution.
        id: ExecutionId,
    },
    /// A record of [`Effect::Append`] was written.
    Written(Record),
    /// A record of [`Effect::Append`] could not be written.
    NotWritten {
        /// The record.
        record: Record,
        /// The problem, for people.
        problem: String,
    },
}

/// Something that the runner does for the machine. The effects are performed in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Appends a record to the journal, then reports [`Event::Written`] or [`Event::NotWritten`]. No other event may
    /// come between.
    Append(Record),
    /// Checks the contents of a new offer, then reports [`Event::Checked`] or [`Event::Rejected`]. No other event may
    /// come between.
    Check(OfferKey),
    /// Starts the accepted job.
    Start(ExecutionId),
    /// Counts a refused offer.
    Refuse {
        /// The execution.
        id: ExecutionId,
        /// The stable name of the reason.
        reason: &'static str,
    },
    /// Reports the job to every server. The report is built from the state when it is sent. A delayed report therefore
    /// does not contradict a later one.
    Report(ExecutionId),
    /// Sends this report, which the state does not contain, to every server.
    Answer(JobReport),
    /// Deletes the output of the job.
    DeleteOutput(ExecutionId),
}
