//! Rules: `Tool(pattern)` in allow, ask and deny. [`rule`] parses one rule.
//! [`matching`] compares rules with words, [`raw`] with text that is not understood, [`globs`] with
//! paths. This module does not determine verdicts.

pub(crate) mod globs;
pub(crate) mod matching;
pub(crate) mod overlap;
pub(crate) mod raw;
mod rule;

use airlock_network::HostPattern;

use crate::limits;

pub use rule::{Rule, RuleError, Tool};

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
        let rules = Self { allow: parse_list(allow)?, ask: parse_list(ask)?, deny: parse_list(deny)? };
        rules.allow.iter().try_for_each(Rule::check_allowed)?;
        Ok(rules)
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

    /// Returns the entries of network rules that the `Network` rules of a list contain.
    pub fn hosts(list: &[Rule]) -> impl Iterator<Item = &str> {
        list.iter().filter_map(Rule::hosts).map(HostPattern::text)
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
