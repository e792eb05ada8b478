//! What the streams tell the telemetry. Only counts: nothing of what was written, and no id.

/// Told what happens in the streams. Called on the way of every event, so it must return at once.
pub trait StreamObserver: Send + Sync {
    /// A view began.
    fn reader_opened(&self) {}
    /// A view ended, for whatever reason.
    fn reader_closed(&self) {}
    /// A reader was given so many bytes of output.
    fn bytes_out(&self, _bytes: u64) {}
    /// Readers were told that so many bytes are no longer held.
    fn bytes_missing(&self, _bytes: u64) {}
    /// A reader fell behind the ring, and reads by itself.
    fn caught_up(&self) {}
    /// An output stream from a runner was opened.
    fn push_opened(&self) {}
    /// An output stream from a runner was ended because of what it carried.
    fn push_misbehaved(&self) {}
    /// An output is in the storage, with so many bytes.
    fn stored(&self, _bytes: u64) {}
    /// An output, or a part of it, is gone.
    fn lost(&self) {}
    /// The output of an execution that has ended waits to be put into the storage.
    fn storing_began(&self) {}
    /// It is there, is gone, or is given up for now.
    fn storing_ended(&self) {}
}

/// Hears everything and says nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unobserved;

impl StreamObserver for Unobserved {}
