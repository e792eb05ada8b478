//! The problems that the checks find.

use std::{fs::File, path::Path, time::Duration};

use crate::config::Problem;

/// A collection of problems.
#[derive(Debug, Default)]
pub(super) struct Findings(Vec<Problem>);

impl Findings {
    pub(super) fn require(
        &mut self,
        holds: bool,
        field: &str,
        what: impl Into<String>,
        cure: impl Into<String>,
    ) {
        if !holds {
            self.0.push(Problem {
                origin: None,
                field: field.to_owned(),
                what: what.into(),
                cure: cure.into(),
            });
        }
    }

    pub(super) fn between(&mut self, field: &str, value: Duration, least: Duration, most: Duration) {
        self.require(
            (least..=most).contains(&value),
            field,
            format!("{value:?} is not from {least:?} to {most:?}"),
            "choose a time in that range",
        );
    }

    pub(super) fn readable(&mut self, field: &str, file: &Path) {
        let opened = File::open(file).and_then(|file| file.metadata());
        match opened {
            Ok(data) => self.require(
                data.is_file(),
                field,
                format!("`{}` is not a file", file.display()),
                "name a file",
            ),
            Err(error) => self.require(
                false,
                field,
                format!("`{}` cannot be read: {error}", file.display()),
                "create the file, or correct the path",
            ),
        }
    }

    pub(super) fn into_problems(self) -> Vec<Problem> {
        self.0
    }
}

/// Reports whether the text has 1 to `most` letters, digits, `.`, `_` and `-`.
pub(super) fn is_name(text: &str, most: usize) -> bool {
    (1..=most).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'))
}
