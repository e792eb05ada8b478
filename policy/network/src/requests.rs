//! Rules about the requests of a host: methods and the beginning of the path.
//!
//! The form of a rule is `[METHODS] HOST[:PORT][/PATH]`, such as `GET,HEAD api.example.com/repos/`. Without methods,
//! every method is permitted; without a path, every path.
//!
//! A rule is an entry of an allow list. A request whose path has several readings is never permitted.

mod path;

use std::fmt;

use path::is_plain;

use crate::{
    host::Host,
    rules::{MOST_CHARACTERS, entry::Entry, error::Problem},
    target::Target,
};

/// The longest method in a rule.
const MOST_METHOD: usize = 32;

/// A rule about the requests of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestRule {
    text: String,
    /// Empty: every method.
    methods: Vec<String>,
    host: Entry,
    /// Empty: every path. It begins with a slash.
    path: String,
}

/// A text that is not a rule about requests. It is shown as one line of ASCII: the rule, the problem and the remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{rule}`: {problem}")]
pub struct RequestRuleError {
    rule: String,
    problem: Problem,
}

impl RequestRuleError {
    /// Returns the problem and the remedy.
    #[must_use]
    pub fn problem_and_remedy(&self) -> (String, String) {
        self.problem.parts()
    }
}

impl RequestRule {
    /// Parses a rule.
    ///
    /// # Errors
    ///
    /// Fails if the text is not a rule, or if the path of the rule has several readings.
    pub fn parse(text: &str) -> Result<Self, RequestRuleError> {
        parsed(text).map_err(|problem| RequestRuleError {
            rule: airlock_escape::shortened(text.as_bytes(), MOST_CHARACTERS),
            problem,
        })
    }

    /// Returns the text of the rule.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Reports whether the rule is about requests to this target.
    #[must_use]
    pub fn concerns(&self, target: &Target) -> bool {
        self.host.allows(target)
    }

    /// Reports whether the rule is about requests over TLS to this target: on port 443, or on the port that it names.
    #[must_use]
    pub fn concerns_tls(&self, target: &Target) -> bool {
        self.concerns(target) && (target.port == 443 || self.host.has_port())
    }

    /// Reports whether the rule permits a request to a target that it concerns. `path` is the part of the URL before the
    /// query, as it is sent.
    #[must_use]
    pub fn permits(&self, method: &str, path: &str) -> bool {
        let method_fits = self.methods.is_empty() || self.methods.iter().any(|one| one == method);
        method_fits && (self.path.is_empty() || is_plain(path) && is_below(path, &self.path))
    }
}

impl fmt::Display for RequestRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Reports whether a path is `prefix`, or continues it after a slash.
fn is_below(path: &str, prefix: &str) -> bool {
    path.strip_prefix(prefix)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || prefix.ends_with('/'))
}

fn parsed(text: &str) -> Result<RequestRule, Problem> {
    let problem = |what: &str, remedy: &str| Problem::new(what.to_owned(), remedy.to_owned());
    if text.chars().count() > MOST_CHARACTERS {
        return Err(problem("it is too long", "write at most 300 characters"));
    }
    let (methods, place) = text.split_once(' ').unwrap_or(("", text));
    let methods: Vec<String> = match methods {
        "" => Vec::new(),
        list => list.split(',').map(str::to_owned).collect(),
    };
    if !methods.iter().all(|method| is_method(method)) {
        return Err(problem(
            "a method is not in upper case, or the list has a blank",
            "write methods as `GET,HEAD`, and one blank before the host",
        ));
    }
    let (host, path) = match place.find('/') {
        Some(at) => place.split_at(at),
        None => (place, ""),
    };
    if !path.is_empty() && (!is_plain(path) || path.contains('%')) {
        return Err(problem(
            "the path has several readings",
            "write it without `%`, `?`, `#`, `;`, `\\`, `//` and `..`",
        ));
    }
    if matches!(Host::parse(host), Ok(Host::Name(name)) if name.is_single_label()) {
        return Err(problem(
            "it names no host, or one without a domain",
            "name such a host with its port, as `HOST:443`",
        ));
    }
    Ok(RequestRule {
        text: airlock_escape::line(text.as_bytes()),
        methods,
        host: Entry::parse(host)?,
        path: if path == "/" { String::new() } else { path.to_owned() },
    })
}

fn is_method(text: &str) -> bool {
    (1..=MOST_METHOD).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_uppercase() || matches!(byte, b'-' | b'_'))
}

#[cfg(test)]
mod tests;
