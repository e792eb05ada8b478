//! A generated command, and the source of its parts.

use super::random::Random;

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
pub(super) struct Line {
    pub(super) text: String,
    pub(super) program: usize,
    pub(super) flags: Vec<usize>,
}

/// A source of random choices and of programs with random words.
pub(super) trait Source {
    fn random(&mut self) -> &mut Random;

    /// Generates a program with random words.
    fn line(&mut self) -> Line;
}
