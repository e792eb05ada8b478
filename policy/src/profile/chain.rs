//! Follows `extends` to the first ancestor, and reads the profiles in that order. It terminates:
//! cycles are detected, and the length of the chain is bounded.

use super::case::Case;
use super::load;
use super::problem::ProfileError;
use super::resolved::Profile;
use crate::limits::MAX_EXTENDS;

/// The text of a profile, and its name in errors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProfileText {
    /// The file as the caller names it.
    pub file: String,
    /// The contents.
    pub text: String,
}

pub(super) fn resolve(
    own: &ProfileText,
    lookup: &dyn Fn(&str) -> Option<ProfileText>,
) -> Result<(Profile, Vec<Case>), ProfileError> {
    let mut parent: Option<Profile> = None;
    for ancestor in ancestors(own, lookup)?.iter().rev() {
        let known = |_: &str| parent.clone();
        let (profile, cases) = load::read(&ancestor.text, &ancestor.file, &known)?;
        Case::run_all(&cases, &profile, &ancestor.file)?;
        parent = Some(profile);
    }
    load::read(&own.text, &own.file, &|_| parent.clone())
}

/// Returns the texts of the ancestors, nearest first.
fn ancestors(
    own: &ProfileText,
    lookup: &dyn Fn(&str) -> Option<ProfileText>,
) -> Result<Vec<ProfileText>, ProfileError> {
    let mut found: Vec<ProfileText> = Vec::new();
    loop {
        let last = found.last().unwrap_or(own);
        let Some(next) = load::extends(&last.text).and_then(|name| lookup(&name)) else {
            return Ok(found);
        };
        if next.file == own.file || found.iter().any(|seen| seen.file == next.file) {
            let what = format!("the profiles extend each other in a cycle that contains `{}`", next.file);
            return Err(load::refuse_extends(
                &last.text,
                &last.file,
                what,
                "remove one `extends` of the cycle",
            ));
        }
        if found.len() == MAX_EXTENDS {
            let what = format!("the chain of `extends` has more than {MAX_EXTENDS} profiles");
            return Err(load::refuse_extends(&own.text, &own.file, what, "shorten the chain"));
        }
        found.push(next);
    }
}
