//! The server's integration tests, as one program. nextest runs every test in a process of its own: `output_memory` counts
//! what its process allocates.

use std::time::Duration;

mod binary;
mod commands;
mod edge;
mod output_memory;

/// How long a test waits for what must happen. All of it passes only where the test fails.
const PATIENCE: Duration = Duration::from_secs(120);
