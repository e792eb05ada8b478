//! The links to the runners that this server has: who is connected, what to say to them, what they
//! say. Domain messages only; the wire is the edge's.
//!
//! A link belongs to one epoch of one runner. A second link of the same epoch replaces the first; an
//! epoch that was followed by another is fenced and never listened to again.

mod handle;
mod link;
mod registry;

pub use handle::{LinkError, LinkHandle, LinkRefusal};
pub(crate) use link::{FLOOR, JobOnLink, Link, UNSANDBOXED, lacks};
pub(crate) use registry::LinkSink;
pub use registry::Links;
