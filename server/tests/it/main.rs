//! The server's integration tests as one program. nextest runs every test in its own process, because
//! `output_memory` counts the allocations of its process.

use std::time::Duration;

mod binary;
mod commands;
mod edge;
mod output_memory;

/// How long a test waits for an expected event. Only a failing test waits this long.
const PATIENCE: Duration = Duration::from_secs(120);
