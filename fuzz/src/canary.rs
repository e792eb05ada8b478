//! Fuzzes property 2: a command that the policy calls read-only changes no file and starts only predicted programs.
//! Real programs run on a writable tree. `generate` makes commands from the policy's own tables, `place` is the
//! sandbox, `inside` runs in it, `judge` compares, and `run` counts. No generated command runs outside the sandbox.

mod command;
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
