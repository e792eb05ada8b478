//! One rule, and the parser of its text. Quotes and escapes work as in the shell, so that a rule can
//! name a word with a space or a star.

use airlock_network::HostPattern;

use super::globs::PathPattern;
use super::matching::{Element, WordPattern};
use crate::limits;

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
    /// Hosts that commands connect to. The runner's proxy applies these rules, too.
    Network,
}

/// One rule.
#[derive(Debug, Clone)]
pub struct Rule {
    tool: Tool,
    text: String,
    pattern: Pattern,
}

#[derive(Debug, Clone)]
enum Pattern {
    Words(WordPattern),
    Path(PathPattern),
    Hosts(HostPattern),
}

/// The reason why a rule was not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// The text does not have the form `Tool(pattern)`.
    #[error("`{0}` is not a rule; write `Tool(pattern)`, such as `Bash(git status)`")]
    Form(String),
    /// The tool does not exist.
    #[error("`{rule}` has the unknown tool `{tool}`; write Bash, PowerShell, Read, Edit or Network")]
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
    #[error("`{0}` has an unclosed quote or an incomplete escape")]
    Quote(String),
    /// The path pattern is not a valid glob.
    #[error("`{rule}` is not a valid path glob: {reason}")]
    Glob {
        /// The rule as written.
        rule: String,
        /// The problem.
        reason: String,
    },
    /// The pattern does not name hosts.
    #[error("`{rule}` does not name a host: {reason}")]
    Host {
        /// The rule as written.
        rule: String,
        /// The problem and the remedy.
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
        parse(text)
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
            Pattern::Words(_) | Pattern::Hosts(_) => None,
        }
    }

    /// Returns the hosts of a `Network` rule.
    #[must_use]
    pub fn hosts(&self) -> Option<&HostPattern> {
        match &self.pattern {
            Pattern::Hosts(hosts) => Some(hosts),
            Pattern::Words(_) | Pattern::Path(_) => None,
        }
    }

    /// Checks that the rule can be in the list `allow`.
    pub(crate) fn check_allowed(&self) -> Result<(), RuleError> {
        let refused = |reason| RuleError::Host { rule: self.text.clone(), reason };
        self.hosts().map_or(Ok(()), |hosts| hosts.check_allowed().map_err(refused))
    }

    pub(crate) fn words(&self) -> Option<&WordPattern> {
        match &self.pattern {
            Pattern::Words(words) => Some(words),
            Pattern::Path(_) | Pattern::Hosts(_) => None,
        }
    }

    pub(crate) fn path(&self) -> Option<&PathPattern> {
        match &self.pattern {
            Pattern::Path(path) => Some(path),
            Pattern::Words(_) | Pattern::Hosts(_) => None,
        }
    }
}

fn parse(text: &str) -> Result<Rule, RuleError> {
    let text = text.trim();
    let (name, body) = split_tool(text)?;
    let tool = match name {
        "Bash" => Tool::Bash,
        "PowerShell" => Tool::PowerShell,
        "Read" => Tool::Read,
        "Edit" | "Write" => Tool::Edit,
        "Network" => Tool::Network,
        other => {
            return Err(RuleError::Tool { rule: text.to_owned(), tool: other.to_owned() });
        }
    };
    let pattern = match tool {
        Tool::Bash | Tool::PowerShell => Pattern::Words(words(text, body)?),
        Tool::Read | Tool::Edit => Pattern::Path(path(text, body)?),
        Tool::Network => Pattern::Hosts(hosts(text, body)?),
    };
    Ok(Rule { tool, text: text.to_owned(), pattern })
}

fn split_tool(text: &str) -> Result<(&str, Option<&str>), RuleError> {
    let form = || RuleError::Form(text.to_owned());
    let Some((name, rest)) = text.split_once('(') else {
        return if text.is_empty() || text.contains(char::is_whitespace) {
            Err(form())
        } else {
            Ok((text, None))
        };
    };
    let body = rest.strip_suffix(')').ok_or_else(form)?;
    Ok((name, Some(body)))
}

fn path(text: &str, body: Option<&str>) -> Result<PathPattern, RuleError> {
    let glob = body.unwrap_or("**");
    if glob.trim().is_empty() {
        return Err(RuleError::Empty(text.to_owned()));
    }
    PathPattern::new(glob).map_err(|reason| RuleError::Glob { rule: text.to_owned(), reason })
}

fn hosts(text: &str, body: Option<&str>) -> Result<HostPattern, RuleError> {
    let refused = |reason| RuleError::Host { rule: text.to_owned(), reason };
    let body = body.ok_or_else(|| refused("it has no pattern; write `Network(example.com)`".to_owned()))?;
    HostPattern::parse(body).map_err(refused)
}

fn words(text: &str, body: Option<&str>) -> Result<WordPattern, RuleError> {
    let Some(body) = body else {
        return Ok(WordPattern::any());
    };
    let (body, prefix) = match body.strip_suffix(":*") {
        Some(head) => (head, true),
        None => (body, false),
    };
    let mut elements = split(text, body)?;
    if elements.is_empty() {
        return Err(RuleError::Empty(text.to_owned()));
    }
    if prefix {
        elements.push(Element::AnyWords);
    }
    Ok(WordPattern::new(elements))
}

/// Splits a pattern into words. A word that is a single `*` matches any number of words.
fn split(rule: &str, body: &str) -> Result<Vec<Element>, RuleError> {
    let unfinished = || RuleError::Quote(rule.to_owned());
    let mut elements = Vec::new();
    let mut word: Option<Vec<Option<u8>>> = None;
    let mut bytes = body.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b' ' | b'\t' | b'\n' => elements.extend(word.take().map(element)),
            b'\\' => {
                let escaped = bytes.next().ok_or_else(unfinished)?;
                word.get_or_insert_default().push(Some(escaped));
            }
            b'\'' | b'"' => {
                let word = word.get_or_insert_default();
                loop {
                    match bytes.next().ok_or_else(unfinished)? {
                        end if end == byte => break,
                        b'\\' if byte == b'"' => {
                            word.push(Some(bytes.next().ok_or_else(unfinished)?));
                        }
                        inner => word.push(Some(inner)),
                    }
                }
            }
            b'*' => word.get_or_insert_default().push(None),
            _ => word.get_or_insert_default().push(Some(byte)),
        }
    }
    elements.extend(word.map(element));
    Ok(elements)
}

fn element(word: Vec<Option<u8>>) -> Element {
    if word.as_slice() == [None] { Element::AnyWords } else { Element::Word(word) }
}
