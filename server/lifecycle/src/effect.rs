//! The effects of an event, as data. The server performs them after the write, in their order.

use airlock_domain::{CancelledBy, ToRunner};

use crate::record::ExecutionRecord;

/// The outcome of an event for the stored record.
#[derive(Debug, Clone, Copy)]
pub enum Outcome<'a> {
    /// The transition was written.
    Written {
        /// The record before it.
        before: &'a ExecutionRecord,
        /// The record after it.
        after: &'a ExecutionRecord,
    },
    /// The event has no transition for this record.
    Left(&'a ExecutionRecord),
    /// Another writer was first, and the transition is not repeated. Contains the current record.
    Raced(&'a ExecutionRecord),
}

impl<'a> Outcome<'a> {
    /// Returns the current record.
    #[must_use]
    pub fn record(&self) -> &'a ExecutionRecord {
        match self {
            Self::Written { after, .. } => after,
            Self::Left(record) | Self::Raced(record) => record,
        }
    }
}

/// The effects of an event.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Effects {
    /// The effects on the server. These effects are performed first.
    pub server: Vec<Effect>,
    /// The effects on the job at the runner.
    pub job: Vec<JobEffect>,
}

/// An effect on the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Notify the tasks that wait for the execution.
    Notify,
    /// Notify the watches on the executions of its tenant.
    NotifyTenant,
    /// Look at the queue of its session.
    LookAtSession,
    /// Run the reconcile loop now.
    Reconcile,
    /// Note that its runner is no longer full.
    RunnerHasRoom,
    /// Free its slot.
    FreeSlot,
    /// Open the span of the time in the queue.
    EnterQueue,
    /// Close the span of the time in the queue.
    LeaveQueue,
    /// Forget since when it was the first of its session.
    ForgetTurn,
    /// Remove the state of the execution from memory.
    Forget,
    /// Record in memory who requested its end.
    NoteCancel(CancelledBy),
    /// Tell its runner to end it, on whichever link there is.
    SendEnd,
    /// Measure the time that it was queued.
    MeasureQueue,
    /// Measure its result.
    MeasureResult,
}

/// An effect on the job at the runner. The service that has the link performs it.
#[derive(Debug, Clone, PartialEq)]
pub enum JobEffect {
    /// Measure the time from the offer to the start.
    MeasureStart,
    /// Inform the runner that the command is in the background, unless it already knows.
    TellBackgrounded,
    /// Tell the runner again to end the job.
    RepeatEnd,
    /// Copy the output from the runner.
    KeepOutput,
    /// Tell the runner to forget the job.
    ForgetJob,
    /// End or forget the job at the runner, because it must not run or has ended.
    Disown {
        /// The attempt that the runner reported.
        attempt: u32,
        /// The message to the runner.
        message: Box<ToRunner>,
    },
    /// Free the slot on this link.
    FreeSlot,
    /// Log an end that came after the result was stored. It does not replace the result.
    LogLateEnd {
        /// The name of the stored cause, or nothing.
        stored: &'static str,
        /// The name of the reported cause.
        reported: &'static str,
    },
    /// Record that the runner is full.
    SetFull,
    /// Set the session back to a directory that exists.
    SetBackDirectory,
    /// Mark the session as lost, because its runner no longer has it.
    LoseSession,
    /// Look at the queue of the session.
    LookAtSession,
}
