//! The server's integration tests, as one program. nextest runs every test in a process of its own: `output_memory` counts
//! what its process allocates.

mod binary;
mod commands;
mod edge;
mod output_memory;
