//! Test cases of a profile: commands that it must allow, ask about or deny. This module reads them;
//! `run_cases` decides them.

use serde::Deserialize;
use toml::Spanned;

use super::problem::{ProblemCollector, ProfileError};
use crate::decision::Verdict;
use crate::limits;
use crate::request::Mode;

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
