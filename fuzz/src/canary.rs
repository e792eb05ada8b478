//! Fuzzes property 2: a command that the policy calls read-only changes no file and starts only predicted programs.
//! Real programs run on a writable tree. `generate` makes commands from the policy's own tables, `place` is the
//! sandbox, `inside` runs in it, `judge` compares, and `run` counts. No generated command runs outside the sandbox.

pub mod forced;
pub mod generate;
pub mod inside;
pub mod judge;
mod languages;
pub mod obeyed;
pub mod place;
pub mod report;
pub mod run;
mod shell;
pub mod snapshot;
pub mod tables;
pub mod vocabulary;
pub mod worker;

use vocabulary::Random;

/// A command for bash, with a description of its purpose.
#[derive(Debug, Clone)]
pub struct Generated {
    /// The text.
    pub command: String,
    /// Indices of programs, each with the indices of its flags.
    pub tries: Vec<(usize, Vec<usize>)>,
    /// The program, and its flag if any, for which the command was made.
    pub planned: Option<(usize, Option<usize>)>,
    /// The construct that contains it.
    pub construct: &'static str,
}

/// A program with its words, without any bash construct.
#[derive(Debug, Clone)]
struct Line {
    text: String,
    program: usize,
    flags: Vec<usize>,
}

/// A source of random choices and of programs with random words.
trait Source {
    fn random(&mut self) -> &mut Random;

    /// Generates a program with random words.
    fn line(&mut self) -> Line;
}
