//! The hosts of one rule, such as `Network(*.example.com)`.

use crate::{
    rules::{List, entries, entry::Entry},
    target::Target,
};

/// The hosts of one rule: an entry or a preset of network rules. Without a port, it matches every port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPattern {
    text: String,
    entries: Vec<Entry>,
}

impl HostPattern {
    /// Parses the hosts of a rule.
    ///
    /// # Errors
    ///
    /// Returns the problem and the remedy, in one line.
    pub fn parse(text: &str) -> Result<Self, String> {
        let entries = entries(List::Ask, text).map_err(|problem| problem.to_string())?;
        Ok(Self { text: text.to_owned(), entries })
    }

    /// Returns the text, which is an entry of a list of network rules.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Reports whether the rule is about this target.
    #[must_use]
    pub fn matches(&self, target: &Target) -> bool {
        self.entries.iter().any(|entry| entry.asks(target))
    }

    /// Checks that the hosts can be allowed.
    ///
    /// # Errors
    ///
    /// Returns the problem and the remedy, in one line.
    pub fn check_allowed(&self) -> Result<(), String> {
        entries(List::Allow, &self.text).map(drop).map_err(|problem| problem.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, target: &str) -> bool {
        HostPattern::parse(pattern).unwrap().matches(&Target::parse(target).unwrap())
    }

    #[test]
    fn a_pattern_without_a_port_matches_every_port() {
        for (pattern, target, expected) in [
            ("example.com", "example.com:443", true),
            ("example.com", "EXAMPLE.com.:22", true),
            ("example.com", "a.example.com:443", false),
            ("*.example.com", "a.b.example.com:8080", true),
            ("*.example.com", "example.com:443", false),
            ("example.com:443", "example.com:443", true),
            ("example.com:443", "example.com:80", false),
            ("10.0.0.0/8", "10.1.2.3:5432", true),
            ("pypi", "pypi.org:443", true),
            ("pypi", "upload.pypi.org:443", false),
        ] {
            assert_eq!(matches(pattern, target), expected, "{pattern} {target}");
        }
    }

    #[test]
    fn a_pattern_that_is_no_entry_is_refused_with_a_remedy() {
        for text in ["", "*", "a.*", "https://example.com", "example.com:0", "pipy", "a b", "example.com/tcp"]
        {
            let problem = HostPattern::parse(text).unwrap_err();
            assert!(problem.contains("; "), "{text}: {problem}");
        }
        let wide = HostPattern::parse("*.com").unwrap();
        assert!(wide.check_allowed().is_err());
        assert_eq!(HostPattern::parse("*.example.com").unwrap().check_allowed(), Ok(()));
    }
}
