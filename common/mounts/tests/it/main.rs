//! Tests of removals that stop at mount points, and of private mount namespaces. No test mounts anything before it has
//! asserted that it is in such a namespace.

#![expect(clippy::unwrap_used, reason = "a test")]

mod private;
mod remove;
