//! The events of the streams for telemetry. They contain counts only: no output and no IDs.

/// Receives the events of the streams. The calls are on the path of every event and must return at
/// once.
pub trait StreamObserver: Send + Sync {
    /// A view was opened.
    fn reader_opened(&self) {}
    /// A view ended for any reason.
    fn reader_closed(&self) {}
    /// Output was delivered to a reader, in bytes.
    fn bytes_out(&self, _bytes: u64) {}
    /// A reader received a gap, in bytes.
    fn bytes_missing(&self, _bytes: u64) {}
    /// A reader fell behind the ring and uses individual reads.
    fn caught_up(&self) {}
    /// A runner opened an output stream.
    fn push_opened(&self) {}
    /// An output stream was ended because the runner violated the protocol.
    fn push_misbehaved(&self) {}
    /// An output was stored, with its size in bytes.
    fn stored(&self, _bytes: u64) {}
    /// An output was lost, completely or in part.
    fn lost(&self) {}
    /// The output of an ended execution was queued for copying into the storage.
    fn storing_began(&self) {}
    /// The copy was stored, lost or postponed.
    fn storing_ended(&self) {}
}

/// An observer that ignores all events.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unobserved;

impl StreamObserver for Unobserved {}
