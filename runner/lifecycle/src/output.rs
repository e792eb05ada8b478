//! The bookkeeping of kept output: which bytes of a stream exist, how much all spools may hold, and the credit of a
//! server's reads. The spool and the output streams do the I/O.

mod credit;
mod layout;
mod segments;

pub use credit::{Found, Need, Next, ReadError, Reads, Time};
pub use layout::{Layout, Look, Piece, StreamState};
pub use segments::{Budget, Full, NoSegment, Segments};
