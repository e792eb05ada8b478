//! What is wrong with a configuration: file, line, what, and what to do about it.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use toml::de::{DeTable, DeValue};

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1, where it is known.
    pub line: Option<usize>,
    /// What is wrong.
    pub what: String,
    /// What to do about it.
    pub cure: String,
}

/// Everything that is wrong; shown as one line each.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct ConfigError {
    /// At least one.
    pub problems: Vec<Problem>,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            write!(f, "{}", problem.file.display())?;
            if let Some(line) = problem.line {
                write!(f, ":{line}")?;
            }
            write!(f, ": {}; {}", problem.what, problem.cure)?;
        }
        Ok(())
    }
}

/// A problem before its line is looked up.
#[derive(Debug)]
pub(super) struct Found {
    /// The field, such as `limits.sessions` or `server.0.endpoint`.
    pub(super) field: String,
    pub(super) what: String,
    pub(super) cure: &'static str,
}

impl ConfigError {
    pub(super) fn one(file: &Path, line: Option<usize>, what: String, cure: &str) -> Self {
        let cure = cure.to_owned();
        Self { problems: vec![Problem { file: file.to_owned(), line, what, cure }] }
    }

    pub(super) fn located(file: &Path, text: &str, found: Vec<Found>) -> Self {
        let table = DeTable::parse(text).ok();
        let line = |field: &str| {
            let root = table.as_ref()?;
            locate(root.get_ref(), field).map(|at| line_of(text, at))
        };
        let problems = found
            .into_iter()
            .map(|found| Problem {
                file: file.to_owned(),
                line: line(&found.field),
                what: format!("`{}` {}", found.field, found.what),
                cure: found.cure.to_owned(),
            })
            .collect();
        Self { problems }
    }
}

/// Where the deepest part of `field` that is there begins.
fn locate(root: &DeTable<'_>, field: &str) -> Option<usize> {
    let mut parts = field.split('.');
    let first = parts.next()?;
    let (key, mut value) = root.get_key_value(first)?;
    let mut at = key.span().start;
    for part in parts {
        let next = match value.get_ref() {
            DeValue::Table(table) => table.get_key_value(part).map(|(key, value)| (key.span(), value)),
            DeValue::Array(array) => part
                .parse::<usize>()
                .ok()
                .and_then(|index| array.get(index))
                .map(|value| (value.span(), value)),
            _ => None,
        };
        let Some((span, inner)) = next else { break };
        at = span.start;
        value = inner;
    }
    Some(at)
}

pub(super) fn line_of(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
}
