//! The links of this server to runners: connected runners, and the messages in both directions. This module
//! handles only domain messages; the edge handles the wire.
//!
//! A link belongs to one epoch of one runner. A second link of the same epoch replaces the first. An epoch
//! that was followed by another is fenced: its links are refused.

mod handle;
mod link;
mod registry;

pub use handle::{LinkError, LinkHandle, LinkRefusal};
pub(crate) use link::{FLOOR, JobOnLink, Link, UNSANDBOXED, lacks};
pub(crate) use registry::LinkSink;
pub use registry::Links;
