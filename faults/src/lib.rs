//! Places where a test can have this process killed, to see what survives. In release builds there is
//! nothing of it: every function is empty. Must not change what a process does where no test asks for it.
//!
//! `AIRLOCK_FAULT=POINT` kills at the first arrival there, `AIRLOCK_FAULT=POINT:3` at the third, and
//! `AIRLOCK_FAULT=POINT/NAME:3` at the third that has this name. The kill is SIGKILL to this very process, so
//! nothing is flushed, closed or dropped. `AIRLOCK_FAULT_TRACE=FILE` appends a line `POINT/NAME` to the file
//! for each arrival, so that a test knows which there are. `AIRLOCK_FAULT_STORE=FILE`: as long as the file is
//! there, no step of the store is taken, reads neither, as if its disk answered with errors.

#![forbid(unsafe_code)]

use std::fmt::Debug;

/// A kind of place. What exactly is done there is the arrival's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Point {
    /// A step that changes the store is about to be taken; named after the store's method.
    BeforeStoreWrite,
    /// It was taken.
    AfterStoreWrite,
    /// A step of the store that the clock alone brings about is about to be taken: a server says that it is there, or
    /// that it still drives what it drives. Named after the store's method.
    BeforeRound,
    /// It was taken.
    AfterRound,
    /// Another server is about to be asked for its link; named after Peer's method.
    BeforePeerAsk,
    /// It has answered.
    AfterPeerAsk,
    /// Another server asks for a link of this one; nothing came of it yet. Named after Peer's method.
    AfterPeerReceive,
    /// A message is about to go over the link, to the other side; named after the message. Heartbeats do
    /// not count.
    BeforeLinkSend,
    /// It had time to leave.
    AfterLinkSend,
    /// A message was read from the link; nothing came of it yet.
    AfterLinkReceive,
    /// An entry of the runner's journal is about to be written; named after the entry.
    BeforeJournalWrite,
    /// It was written.
    AfterJournalWrite,
    /// Output is about to be appended to the spool.
    BeforeSpoolWrite,
    /// It was appended.
    AfterSpoolWrite,
    /// The spool of a forgotten job is about to be deleted.
    BeforeSpoolRemove,
    /// It was deleted.
    AfterSpoolRemove,
    /// The folders of a session are about to be made.
    BeforeSession,
    /// They were made; no server knows.
    AfterSession,
    /// The folders of a session are about to be removed.
    BeforeSessionRemove,
    /// They were removed; no server knows.
    AfterSessionRemove,
    /// A step of a sandbox's start was taken; named after the step.
    SandboxStep,
}

impl Point {
    /// Every kind there is.
    pub const ALL: [Self; 21] = [
        Self::BeforeStoreWrite,
        Self::AfterStoreWrite,
        Self::BeforeRound,
        Self::AfterRound,
        Self::BeforePeerAsk,
        Self::AfterPeerAsk,
        Self::AfterPeerReceive,
        Self::BeforeLinkSend,
        Self::AfterLinkSend,
        Self::AfterLinkReceive,
        Self::BeforeJournalWrite,
        Self::AfterJournalWrite,
        Self::BeforeSpoolWrite,
        Self::AfterSpoolWrite,
        Self::BeforeSpoolRemove,
        Self::AfterSpoolRemove,
        Self::BeforeSession,
        Self::AfterSession,
        Self::BeforeSessionRemove,
        Self::AfterSessionRemove,
        Self::SandboxStep,
    ];

    /// How `AIRLOCK_FAULT` and the trace call it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::BeforeStoreWrite => "before_store_write",
            Self::AfterStoreWrite => "after_store_write",
            Self::BeforeRound => "before_round",
            Self::AfterRound => "after_round",
            Self::BeforePeerAsk => "before_peer_ask",
            Self::AfterPeerAsk => "after_peer_ask",
            Self::AfterPeerReceive => "after_peer_receive",
            Self::BeforeLinkSend => "before_link_send",
            Self::AfterLinkSend => "after_link_send",
            Self::AfterLinkReceive => "after_link_receive",
            Self::BeforeJournalWrite => "before_journal_write",
            Self::AfterJournalWrite => "after_journal_write",
            Self::BeforeSpoolWrite => "before_spool_write",
            Self::AfterSpoolWrite => "after_spool_write",
            Self::BeforeSpoolRemove => "before_spool_remove",
            Self::AfterSpoolRemove => "after_spool_remove",
            Self::BeforeSession => "before_session",
            Self::AfterSession => "after_session",
            Self::BeforeSessionRemove => "before_session_remove",
            Self::AfterSessionRemove => "after_session_remove",
            Self::SandboxStep => "sandbox_step",
        }
    }
}

/// Whether a test has the store away just now.
#[cfg(not(debug_assertions))]
#[inline]
#[must_use]
pub fn is_away() -> bool {
    false
}

/// Dies here if a test asked for it. The arrival is named by the first word of `what`: an enum's variant.
#[cfg(not(debug_assertions))]
#[inline]
pub fn hit(_: Point, _: &dyn Debug) {}

/// Whether the next [`hit`] here is deadly, so that what was given away can leave before.
#[cfg(not(debug_assertions))]
#[inline]
#[must_use]
pub fn is_next(_: Point, _: &dyn Debug) -> bool {
    false
}

/// The name of an arrival, where it is needed after what it names was given away.
#[cfg(not(debug_assertions))]
#[inline]
#[must_use]
pub fn name_of(_: &dyn Debug) -> String {
    String::new()
}

#[cfg(debug_assertions)]
mod armed;
#[cfg(debug_assertions)]
pub use armed::{hit, is_away, is_next, name_of};
