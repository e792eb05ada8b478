//! The links of this server to runners: connected runners, and the messages in both directions. This module
//! handles only domain messages; the edge handles the wire.
//!
//! A link belongs to one epoch of one runner. A second link of the same epoch replaces the first. When a later epoch of
//! the runner has connected, the links of earlier epochs are refused.

mod hello;
mod link;
mod registry;

pub(crate) use hello::{FLOOR, UNSANDBOXED, holds_floor, lacks, permits_unsandboxed, vouches_for};
pub use hello::{LinkError, LinkRefusal};
pub(crate) use link::{JobOnLink, Link};
pub(crate) use registry::LinkSink;
pub use registry::{LinkHandle, Links};
