//! Rules: `Tool(pattern)` in allow, ask and deny. This module parses and holds them. [`matching`]
//! compares them with words, [`raw`] with text that is not understood, [`globs`] with paths. It
//! does not determine verdicts.

pub(crate) mod globs;
pub(crate) mod matching;
pub(crate) mod overlap;
mod parse;
pub(crate) mod raw;

use crate::limits;
use globs::PathPattern;
use matching::WordPattern;

/// The subject of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tool {
    /// Commands of bash and zsh.
    Bash,
    /// Commands of PowerShell.
    PowerShell,
    /// Paths that are read.
    Read,
    /// Paths that are written, created or removed.
    Edit,
}

/// One rule.
#[derive(Debug, Clone)]
pub struct Rule {
    tool: Tool,
    text: String,
    pattern: Pattern,
}

#[derive(Debug, Clone)]
pub(crate) enum Pattern {
    Words(WordPattern),
    Path(PathPattern),
}

/// The reason why a rule was not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// The text does not have the form `Tool(pattern)`.
    #[error("`{0}` is not a rule; write `Tool(pattern)`, such as `Bash(git status)`")]
    Form(String),
    /// The tool does not exist.
    #[error("`{rule}` names the tool `{tool}`; known are Bash, PowerShell, Read and Edit")]
    Tool {
        /// The rule as written.
        rule: String,
        /// The unknown name.
        tool: String,
    },
    /// The pattern contains no word.
    #[error("`{0}` has an empty pattern; write `Bash` alone to match every command")]
    Empty(String),
    /// A quote is not closed.
    #[error("`{0}` has a quote or a backslash that does not end")]
    Quote(String),
    /// The path pattern is not a valid glob.
    #[error("`{rule}` is not a path glob: {reason}")]
    Glob {
        /// The rule as written.
        rule: String,
        /// The problem.
        reason: String,
    },
    /// There are more rules than the limit.
    #[error("there are {0} rules of one kind; at most {max} are allowed", max = limits::MAX_RULES)]
    TooMany(usize),
}

impl Rule {
    /// Parses one rule.
    ///
    /// # Errors
    ///
    /// Returns the problem with the text, and a valid example.
    pub fn parse(text: &str) -> Result<Self, RuleError> {
        parse::rule(text)
    }

    /// Returns the tool.
    #[must_use]
    pub fn tool(&self) -> Tool {
        self.tool
    }

    /// Returns the rule as it was written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the glob of a `Read` or `Edit` rule in gitignore syntax.
    #[must_use]
    pub fn path_glob(&self) -> Option<&str> {
        match &self.pattern {
            Pattern::Path(path) => Some(path.text()),
            Pattern::Words(_) => None,
        }
    }

    pub(crate) fn words(&self) -> Option<&WordPattern> {
        match &self.pattern {
            Pattern::Words(words) => Some(words),
            Pattern::Path(_) => None,
        }
    }

    pub(crate) fn path(&self) -> Option<&PathPattern> {
        match &self.pattern {
            Pattern::Path(path) => Some(path),
            Pattern::Words(_) => None,
        }
    }
}

/// The rules of a profile, a session or a request.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    /// Rules for commands that run without asking.
    pub allow: Vec<Rule>,
    /// Rules for commands that need an approval.
    pub ask: Vec<Rule>,
    /// Rules for commands that never run.
    pub deny: Vec<Rule>,
}

impl Rules {
    /// Parses three lists of rules.
    ///
    /// # Errors
    ///
    /// Returns the first invalid rule, or an error if a list is longer than the limit.
    pub fn parse<S: AsRef<str>>(allow: &[S], ask: &[S], deny: &[S]) -> Result<Self, RuleError> {
        Ok(Self { allow: parse_list(allow)?, ask: parse_list(ask)?, deny: parse_list(deny)? })
    }

    /// Appends the rules of `other`.
    pub fn extend(&mut self, other: &Self) {
        self.allow.extend(other.allow.iter().cloned());
        self.ask.extend(other.ask.iter().cloned());
        self.deny.extend(other.deny.iter().cloned());
    }

    /// Returns the globs of the deny rules for `Read`: the sandbox's `deny_read`.
    pub fn deny_read(&self) -> impl Iterator<Item = &str> {
        self.denied_paths(Tool::Read)
    }

    /// Returns the globs of the deny rules for `Edit`: the sandbox's `deny_write`.
    pub fn deny_write(&self) -> impl Iterator<Item = &str> {
        self.denied_paths(Tool::Edit)
    }

    fn denied_paths(&self, tool: Tool) -> impl Iterator<Item = &str> {
        self.deny.iter().filter(move |rule| rule.tool() == tool).filter_map(Rule::path_glob)
    }
}

fn parse_list<S: AsRef<str>>(texts: &[S]) -> Result<Vec<Rule>, RuleError> {
    if texts.len() > limits::MAX_RULES {
        return Err(RuleError::TooMany(texts.len()));
    }
    texts.iter().map(|text| Rule::parse(text.as_ref())).collect()
}

#[cfg(test)]
mod tests;
