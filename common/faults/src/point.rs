//! The kinds of fault points.

/// A kind of fault point. The operation at the point is the name of the arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Point {
    /// Before a write to the store; named after the store's method.
    BeforeStoreWrite,
    /// After that write.
    AfterStoreWrite,
    /// Before a write to the store that only the clock triggers: a server renews its presence or its leases. Named
    /// after the store's method.
    BeforeRound,
    /// After that write.
    AfterRound,
    /// Before a request for another server's link; named after Peer's method.
    BeforePeerAsk,
    /// After the response.
    AfterPeerAsk,
    /// After another server's request for a link of this server has arrived, before it takes effect. Named after Peer's
    /// method.
    AfterPeerReceive,
    /// Before a message is sent over the link; named after the message. Heartbeats do not count.
    BeforeLinkSend,
    /// After the message had time to be sent.
    AfterLinkSend,
    /// After a message was read from the link, before it takes effect.
    AfterLinkReceive,
    /// Before an entry is written to the runner's journal; named after the entry.
    BeforeJournalWrite,
    /// After that write.
    AfterJournalWrite,
    /// Before output is appended to the spool.
    BeforeSpoolWrite,
    /// After that append.
    AfterSpoolWrite,
    /// Before the spool of a forgotten job is deleted.
    BeforeSpoolRemove,
    /// After that deletion.
    AfterSpoolRemove,
    /// Before the directories of a session are created.
    BeforeSession,
    /// After their creation, before a server is informed.
    AfterSession,
    /// Before the directories of a session are removed.
    BeforeSessionRemove,
    /// After their removal, before a server is informed.
    AfterSessionRemove,
    /// After a step of a sandbox's start; named after the step.
    SandboxStep,
}

impl Point {
    /// All kinds.
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

    /// Returns the name in `AIRLOCK_FAULT` and in the trace.
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
