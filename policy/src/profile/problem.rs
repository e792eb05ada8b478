//! Why a profile does not load: everything that is wrong with one file, each with its
//! place, its key and the cure. It finds no mistakes itself.

use std::fmt;

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProfileProblem {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The key, such as `policy.allow[2]`; empty for the whole text.
    pub key: String,
    /// What is wrong.
    pub what: String,
    /// What to do about it.
    pub cure: String,
}

/// Everything that is wrong with one file, in the order of the file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct ProfileError {
    /// The file as the caller named it.
    pub file: String,
    /// At least one.
    pub problems: Vec<ProfileProblem>,
}

impl fmt::Display for ProfileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            let ProfileProblem { line, column, key, what, cure } = problem;
            write!(f, "{}:{line}:{column}: ", self.file.escape_debug())?;
            if !key.is_empty() {
                write!(f, "`{}`: ", key.escape_debug())?;
            }
            let what = what.replace(char::is_control, " ");
            write!(f, "{what}; {cure}")?;
        }
        Ok(())
    }
}

/// Of one file's problems that are told; nobody reads more at once.
const PROBLEMS: usize = 100;

/// The text being read, to turn offsets into places; collects what is wrong with it.
pub(super) struct Source<'a> {
    text: &'a str,
    file: &'a str,
    line_starts: Vec<usize>,
    problems: Vec<ProfileProblem>,
}

impl<'a> Source<'a> {
    pub(super) fn new(text: &'a str, file: &'a str) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let line_starts = std::iter::once(0).chain(ends.map(|(at, _)| at + 1)).collect();
        Self { text, file, line_starts, problems: Vec::new() }
    }

    /// Line and column, from 1, of a byte.
    pub(super) fn place(&self, offset: usize) -> (usize, usize) {
        let line = self.line_starts.partition_point(|start| *start <= offset).max(1);
        let start = self.line_starts.get(line - 1).copied().unwrap_or_default();
        let before = self.text.get(start..offset).unwrap_or_default();
        (line, before.chars().count() + 1)
    }

    pub(super) fn add(&mut self, offset: usize, key: &str, what: String, cure: &str) {
        if self.problems.len() < PROBLEMS {
            let (line, column) = self.place(offset);
            let (key, cure) = (key.to_owned(), cure.to_owned());
            self.problems.push(ProfileProblem { line, column, key, what, cure });
        }
    }

    /// The error of a file with which nothing else can be found out.
    pub(super) fn refusal(mut self, offset: usize, key: &str, what: String, cure: &str) -> ProfileError {
        self.add(offset, key, what, cure);
        self.into_error()
    }

    /// The error of a text that is no TOML, or not of the form that is read.
    pub(super) fn no_toml(self, error: &toml::de::Error, cure: &str) -> ProfileError {
        let offset = error.span().map_or(0, |span| span.start);
        self.refusal(offset, "", error.message().replace('\n', " "), cure)
    }

    /// Refuses where something was wrong.
    pub(super) fn finish(self) -> Result<(), ProfileError> {
        if self.problems.is_empty() { Ok(()) } else { Err(self.into_error()) }
    }

    fn into_error(mut self) -> ProfileError {
        self.problems.sort();
        ProfileError { file: self.file.to_owned(), problems: self.problems }
    }
}
