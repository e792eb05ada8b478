//! One labelled command: its label, the expected verdict, and the decision.

use airlock_policy::{Decision, Profile, Request, Rules, Shell, Verdict, decide};
use serde::Deserialize;

/// One line of a file. Unknown fields are ignored.
#[derive(Deserialize)]
pub(super) struct Row {
    #[serde(alias = "command")]
    pub(super) cmd: String,
    /// The kind of the command, in a record of an agent's day.
    pub(super) kind: Option<String>,
    #[serde(default)]
    pub(super) tier: String,
    #[serde(default)]
    pub(super) debatable: bool,
    cwd: Option<String>,
    shell: Option<String>,
    expect: Option<String>,
    rules: Option<RowRules>,
    expect_with_rules: Option<String>,
}

#[derive(Deserialize)]
struct RowRules {
    #[serde(default)]
    allow: Vec<String>,
    #[serde(default)]
    ask: Vec<String>,
    #[serde(default)]
    deny: Vec<String>,
}

/// The expected verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    Allow,
    NotAllow,
    Deny,
    /// The label permits every verdict.
    Open,
}

impl Wanted {
    pub(super) fn holds(self, verdict: Verdict) -> bool {
        match self {
            Self::Allow => verdict == Verdict::Allow,
            Self::NotAllow => verdict != Verdict::Allow,
            Self::Deny => verdict == Verdict::Deny,
            Self::Open => true,
        }
    }

    /// Returns the expected verdict for a label.
    fn labelled(label: &str) -> Self {
        match label {
            "allow" => Self::Allow,
            "not-auto-allowed" | "ask-or-deny" | "ask" | "not-allow" => Self::NotAllow,
            "deny" => Self::Deny,
            _ => Self::Open,
        }
    }
}

/// One decision about a row.
pub(super) struct Outcome {
    pub(super) wanted: Wanted,
    pub(super) decision: Decision,
    pub(super) with_rules: bool,
}

impl Row {
    /// Decides the row without its rules and, if it has rules, with them. `of_file` is the expected
    /// verdict of rows without a label.
    pub(super) fn outcomes(&self, of_file: Wanted, profile: &Profile) -> Result<Vec<Outcome>, String> {
        let wanted = self.expect.as_deref().map_or(of_file, Wanted::labelled);
        let plain = Outcome { wanted, decision: self.decide(profile, None)?, with_rules: false };
        let mut outcomes = vec![plain];
        if let Some(RowRules { allow, ask, deny }) = &self.rules {
            let rules = Rules::parse(allow, ask, deny).map_err(|error| error.to_string())?;
            let wanted = self.expect_with_rules.as_deref().map_or(wanted, Wanted::labelled);
            let decision = self.decide(profile, Some(&rules))?;
            outcomes.push(Outcome { wanted, decision, with_rules: true });
        }
        Ok(outcomes)
    }

    /// Returns the decision with the profile and these additional rules.
    pub(super) fn decide(&self, profile: &Profile, rules: Option<&Rules>) -> Result<Decision, String> {
        let shell = match self.shell.as_deref() {
            None | Some("bash" | "sh") => Shell::Bash,
            Some("zsh") => Shell::Zsh,
            Some("pwsh" | "powershell") => Shell::Pwsh,
            Some(other) => return Err(format!("the shell `{other}` is not known")),
        };
        let cwd = self.cwd.as_deref();
        let request = Request { shell, cwd, extra_rules: rules, ..Request::bash(self.cmd.as_bytes()) };
        Ok(decide(&request, profile))
    }
}
