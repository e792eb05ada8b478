//! Rules: `Tool(pattern)` in allow, ask and deny. This module parses and holds
//! them; [`matching`] compares them with words, [`raw`] with text that was not
//! understood, [`globs`] with paths. It does not know what a verdict is.

pub(crate) mod globs;
pub(crate) mod matching;
pub(crate) mod overlap;
mod parse;
pub(crate) mod raw;

use crate::limits;
use globs::PathPattern;
use matching::WordPattern;

/// What a rule speaks about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tool {
    /// Commands of bash and zsh.
    Bash,
    /// Commands of PowerShell.
    PowerShell,
    /// Paths that are read.
    Read,
    /// Paths that are written, made or removed.
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

/// Why a rule was not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// Not of the form `Tool(pattern)`.
    #[error("`{0}` is not a rule; write `Tool(pattern)`, such as `Bash(git status)`")]
    Form(String),
    /// A tool that does not exist.
    #[error("`{rule}` names the tool `{tool}`; known are Bash, PowerShell, Read and Edit")]
    Tool {
        /// The rule as written.
        rule: String,
        /// The name that is not known.
        tool: String,
    },
    /// A pattern without a word.
    #[error("`{0}` has an empty pattern; write `Bash` alone to match every command")]
    Empty(String),
    /// A quote that does not end.
    #[error("`{0}` has a quote or a backslash that does not end")]
    Quote(String),
    /// A path pattern that is not a glob.
    #[error("`{rule}` is not a path glob: {reason}")]
    Glob {
        /// The rule as written.
        rule: String,
        /// What is wrong with it.
        reason: String,
    },
    /// More rules than the limit.
    #[error("there are {0} rules of one kind; at most {max} are allowed", max = limits::MAX_RULES)]
    TooMany(usize),
}

impl Rule {
    /// Reads one rule.
    ///
    /// # Errors
    ///
    /// Says what is wrong with the text, and what would be right.
    pub fn parse(text: &str) -> Result<Self, RuleError> {
        parse::rule(text)
    }

    /// The tool it speaks about.
    #[must_use]
    pub fn tool(&self) -> Tool {
        self.tool
    }

    /// The rule as it was written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The glob of a `Read` or `Edit` rule, as gitignore writes it.
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
    /// What runs without asking.
    pub allow: Vec<Rule>,
    /// What is always asked about.
    pub ask: Vec<Rule>,
    /// What never runs.
    pub deny: Vec<Rule>,
}

impl Rules {
    /// Reads three lists of rules.
    ///
    /// # Errors
    ///
    /// The first rule that is wrong, or more rules than the limit.
    pub fn parse<S: AsRef<str>>(allow: &[S], ask: &[S], deny: &[S]) -> Result<Self, RuleError> {
        Ok(Self { allow: parse_list(allow)?, ask: parse_list(ask)?, deny: parse_list(deny)? })
    }

    /// Adds the rules of `other` behind these.
    pub fn extend(&mut self, other: &Self) {
        self.allow.extend(other.allow.iter().cloned());
        self.ask.extend(other.ask.iter().cloned());
        self.deny.extend(other.deny.iter().cloned());
    }

    /// Globs of the deny rules for `Read`: the sandbox's `deny_read`.
    pub fn deny_read(&self) -> impl Iterator<Item = &str> {
        self.denied_paths(Tool::Read)
    }

    /// Globs of the deny rules for `Edit`: the sandbox's `deny_write`.
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
