//! Sessions. Each has its own workspace, HOME, `/tmp`, host uid and loopback, and a current directory that persists.
//! Sessions outlive the runner's process. Only `close` removes them.
//!
//! Hostile commands control the contents of these directories. Access them through directory handles only.

mod copy;
mod make;
mod open;
mod saved;
mod strays;
mod table;

pub(crate) use copy::CopyLimits;
pub use make::SessionError;
pub(crate) use open::OpenSession;
pub(crate) use table::{Closing, Opening, Reserved, SessionTable};

#[cfg(test)]
mod tests;
