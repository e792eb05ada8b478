//! The error of a profile that does not load: all problems of one file, each with position, key and
//! remedy. This module does not find problems itself.

use std::fmt;

/// One problem.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProfileProblem {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The key, such as `policy.allow[2]`; empty for the whole text.
    pub key: String,
    /// The problem.
    pub what: String,
    /// The remedy.
    pub remedy: String,
}

/// All problems of one file, in the order of the file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct ProfileError {
    /// The file as the caller named it.
    pub file: String,
    /// The problems; at least one.
    pub problems: Vec<ProfileProblem>,
}

impl fmt::Display for ProfileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            let ProfileProblem { line, column, key, what, remedy } = problem;
            write!(f, "{}:{line}:{column}: ", self.file.escape_debug())?;
            if !key.is_empty() {
                write!(f, "`{}`: ", key.escape_debug())?;
            }
            let what = what.replace(char::is_control, " ");
            write!(f, "{what}; {remedy}")?;
        }
        Ok(())
    }
}

/// The largest number of reported problems of one file.
const PROBLEMS: usize = 100;

/// The text that is read, with its line starts, and the problems found so far.
pub(super) struct ProblemCollector<'a> {
    text: &'a str,
    file: &'a str,
    line_starts: Vec<usize>,
    problems: Vec<ProfileProblem>,
}

impl<'a> ProblemCollector<'a> {
    pub(super) fn new(text: &'a str, file: &'a str) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let line_starts = std::iter::once(0).chain(ends.map(|(at, _)| at + 1)).collect();
        Self { text, file, line_starts, problems: Vec::new() }
    }

    /// Returns the line and column of a byte, both from 1.
    pub(super) fn place(&self, offset: usize) -> (usize, usize) {
        let line = self.line_starts.partition_point(|start| *start <= offset).max(1);
        let start = self.line_starts.get(line - 1).copied().unwrap_or_default();
        let before = self.text.get(start..offset).unwrap_or_default();
        (line, before.chars().count() + 1)
    }

    pub(super) fn add(&mut self, offset: usize, key: &str, what: String, remedy: &str) {
        if self.problems.len() < PROBLEMS {
            let (line, column) = self.place(offset);
            let (key, remedy) = (key.to_owned(), remedy.to_owned());
            self.problems.push(ProfileProblem { line, column, key, what, remedy });
        }
    }

    /// Returns an error for a file that cannot be checked any further.
    pub(super) fn refusal(mut self, offset: usize, key: &str, what: String, remedy: &str) -> ProfileError {
        self.add(offset, key, what, remedy);
        self.into_error()
    }

    /// Returns the error for a text that is not TOML or does not have the expected structure.
    pub(super) fn no_toml(self, error: &toml::de::Error, remedy: &str) -> ProfileError {
        let offset = error.span().map_or(0, |span| span.start);
        self.refusal(offset, "", error.message().replace('\n', " "), remedy)
    }

    /// Returns an error if a problem was found.
    pub(super) fn finish(self) -> Result<(), ProfileError> {
        if self.problems.is_empty() { Ok(()) } else { Err(self.into_error()) }
    }

    fn into_error(mut self) -> ProfileError {
        self.problems.sort();
        ProfileError { file: self.file.to_owned(), problems: self.problems }
    }
}
