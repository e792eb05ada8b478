//! Test cases of a profile: commands that it must allow, ask about or deny. A case is decided; its
//! command is never run.

use serde::Deserialize;
use toml::Spanned;

use super::problem::{ProblemCollector, ProfileError, ProfileProblem};
use super::resolved::Profile;
use crate::decide::{self, Part};
use crate::decision::{Decision, Verdict};
use crate::limits;
use crate::request::{Mode, Request};

/// A case in `[[policy.test]]`, or in `[[test]]` of a file of cases.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CaseTable {
    command: String,
    expect: Expect,
    reason: Option<String>,
    mode: Option<Mode>,
    cwd: Option<String>,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "snake_case")]
enum Expect {
    Allow,
    Ask,
    Deny,
}

impl Expect {
    fn verdict(self) -> Verdict {
        match self {
            Self::Allow => Verdict::Allow,
            Self::Ask => Verdict::Ask,
            Self::Deny => Verdict::Deny,
        }
    }
}

/// A case and its position.
#[derive(Debug, Clone)]
pub struct Case {
    /// The command.
    pub command: String,
    /// The expected verdict.
    pub expect: Verdict,
    /// The expected code of the deciding reason.
    pub reason: Option<String>,
    /// The mode to decide in; `None` selects the profile's.
    pub mode: Option<Mode>,
    /// The working directory; `None` selects the workspace's root.
    pub cwd: Option<String>,
    /// The line in the file, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The key, such as `policy.test[0]`.
    pub key: String,
}

impl Case {
    /// Reads a file of cases: tables `[[test]]` with the keys of `[[policy.test]]`.
    ///
    /// # Errors
    ///
    /// Fails for an invalid text, with position and remedy.
    pub fn read_all(text: &str, file: &str) -> Result<Vec<Self>, ProfileError> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct File {
            test: Vec<Spanned<CaseTable>>,
        }
        let mut source = ProblemCollector::new(text, file);
        let file: File = match toml::from_str(text) {
            Ok(file) => file,
            Err(error) => {
                let remedy = "write tables [[test]], each with `command` and `expect`";
                return Err(source.no_toml(&error, remedy));
            }
        };
        let cases = placed(&mut source, "test", file.test);
        source.finish().map(|()| cases)
    }
}

/// Returns the cases with their positions.
pub(super) fn placed(
    source: &mut ProblemCollector<'_>,
    key: &str,
    written: Vec<Spanned<CaseTable>>,
) -> Vec<Case> {
    if let Some(first) = written.get(limits::MAX_CASES) {
        let what = format!("there are more than {} cases", limits::MAX_CASES);
        source.add(first.span().start, key, what, "move some of them to a file of cases");
        return Vec::new();
    }
    let mut cases = Vec::new();
    for (index, case) in written.into_iter().enumerate() {
        let (line, column) = source.place(case.span().start);
        let CaseTable { command, expect, reason, mode, cwd } = case.into_inner();
        let key = format!("{key}[{index}]");
        cases.push(Case { command, expect: expect.verdict(), reason, mode, cwd, line, column, key });
    }
    cases
}

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
