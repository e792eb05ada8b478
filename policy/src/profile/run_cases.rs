//! Runs the test cases of a profile. A case is decided; its command is never run.

use super::case::Case;
use super::problem::{ProfileError, ProfileProblem};
use super::resolved::Profile;
use crate::decide::{self, Part};
use crate::decision::{Decision, Verdict};
use crate::request::Request;

impl Case {
    /// Returns the profile's decision.
    #[must_use]
    pub fn decide(&self, profile: &Profile) -> Decision {
        decide::decide(&self.request(), profile)
    }

    /// Returns the verdict of each command in the text alone.
    #[must_use]
    pub fn parts(&self, profile: &Profile) -> Vec<Part> {
        decide::parts(&self.request(), profile)
    }

    fn request(&self) -> Request<'_> {
        Request { mode: self.mode, cwd: self.cwd.as_deref(), ..Request::bash(self.command.as_bytes()) }
    }

    /// Returns the difference between `decision` and the expectation, if there is one.
    #[must_use]
    pub fn failure(&self, decision: &Decision) -> Option<String> {
        let code = decision.reasons.first().map_or("none", |reason| reason.code);
        let right =
            decision.verdict == self.expect && self.reason.as_deref().is_none_or(|expected| expected == code);
        if right {
            return None;
        }
        let wanted = match &self.reason {
            Some(reason) => format!("{} (`{reason}`)", name(self.expect)),
            None => name(self.expect).to_owned(),
        };
        let command = self.command.escape_debug();
        Some(format!("`{command}` is {} (`{code}`), not {wanted}", name(decision.verdict)))
    }

    fn problem(&self, profile: &Profile) -> Option<ProfileProblem> {
        let what = self.failure(&self.decide(profile))?;
        Some(ProfileProblem {
            line: self.line,
            column: self.column,
            key: self.key.clone(),
            what: format!("a test case of the profile fails: {what}"),
            remedy: "change the rules, or correct the expectation".to_owned(),
        })
    }

    /// Checks that a profile passes its own cases.
    ///
    /// # Errors
    ///
    /// Returns each case that fails. `file` is the file that contains the cases.
    pub fn run_all(cases: &[Self], profile: &Profile, file: &str) -> Result<(), ProfileError> {
        let problems: Vec<ProfileProblem> = cases.iter().filter_map(|case| case.problem(profile)).collect();
        if problems.is_empty() {
            return Ok(());
        }
        Err(ProfileError { file: file.to_owned(), problems })
    }
}

fn name(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Allow => "allowed",
        Verdict::Ask => "asked about",
        Verdict::Deny => "denied",
    }
}
