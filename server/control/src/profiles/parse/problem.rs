//! The problems of a profile file.

use airlock_config::{Origin, Place, Problem};
use airlock_policy::ProfileError;

/// Returns a problem of a key, without its position.
pub(in crate::profiles) fn problem(field: &str, what: String, cure: &str) -> Problem {
    Problem { origin: None, field: field.to_owned(), what, cure: cure.to_owned() }
}

/// Converts the policy's problems with its part.
pub(in crate::profiles) fn policy_problems(error: ProfileError) -> impl Iterator<Item = Problem> {
    error.problems.into_iter().map(|one| Problem {
        origin: Some(Origin::Place(Place { line: one.line, column: one.column })),
        field: one.key,
        what: one.what,
        cure: one.remedy,
    })
}
