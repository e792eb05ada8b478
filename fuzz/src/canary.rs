//! Property 2: commands that the policy calls read-only change nothing and start nothing that
//! was not predicted, tried with real programs on a tree that could be changed. `generate`
//! makes commands from the policy's own tables, `place` is the sandbox, `inside` runs there,
//! `judge` compares, `run` counts. Nothing here decides, and no generated command runs outside
//! the sandbox.

pub mod forced;
pub mod generate;
pub mod inside;
pub mod judge;
mod languages;
pub mod obeyed;
pub mod place;
pub mod random;
pub mod report;
pub mod run;
mod shell;
pub mod snapshot;
pub mod tables;
pub mod vocabulary;
mod words;
pub mod worker;
