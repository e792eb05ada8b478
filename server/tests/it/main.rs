//! The server's integration tests as one program.

use std::time::Duration;

mod binary;
mod commands;
mod edge;

/// How long a test waits for an expected event. Only a failing test waits this long.
const PATIENCE: Duration = Duration::from_secs(120);
