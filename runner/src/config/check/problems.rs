//! The problems that the checks have found.

use std::path::{Component, Path};

use airlock_config::Problem;

pub(super) struct Problems(pub(super) Vec<Problem>);

impl Problems {
    /// Adds a problem of a key, unless the condition is met.
    pub(super) fn unless(&mut self, holds: bool, field: &str, what: &str, cure: &'static str) {
        if !holds {
            let (field, what, cure) = (field.to_owned(), format!("it {what}"), cure.to_owned());
            self.0.push(Problem { origin: None, field, what, cure });
        }
    }
}

/// Reports whether a path is absolute and has no `..`.
pub(super) fn plain_absolute(path: &Path) -> bool {
    path.is_absolute()
        && path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)))
}
