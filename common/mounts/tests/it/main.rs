//! Tests of removals that stop at mount points, and of private mount namespaces. A test mounts only after it has
//! asserted that it is in such a namespace.

#![expect(clippy::unwrap_used, reason = "a test")]

mod private;
mod remove;
