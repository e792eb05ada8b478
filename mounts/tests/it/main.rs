//! Removals that stop at mount points, and mount namespaces of a test's own. No test mounts anything before it has held
//! that it is in such a namespace.

#![expect(clippy::unwrap_used, reason = "a test")]

mod private;
mod remove;
