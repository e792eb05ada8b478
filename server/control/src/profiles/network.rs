//! The network rules of a profile, parsed once. Every decision uses the parsed form.

use std::ops::Deref;

use airlock_domain::NetworkRules;
use airlock_network::Rules;

/// The network rules of a profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProfileNetwork {
    rules: NetworkRules,
    parsed: Option<Rules>,
}

impl ProfileNetwork {
    /// Parses the rules.
    #[must_use]
    pub fn new(rules: NetworkRules) -> Self {
        let parsed = parsed(&rules);
        Self { rules, parsed }
    }

    /// Returns the parsed rules, or `None` if an entry is wrong.
    #[must_use]
    pub fn parsed(&self) -> Option<&Rules> {
        self.parsed.as_ref()
    }
}

impl Deref for ProfileNetwork {
    type Target = NetworkRules;

    fn deref(&self) -> &NetworkRules {
        &self.rules
    }
}

/// Parses rules with their mode. `None`: an entry is wrong.
pub(crate) fn parsed(rules: &NetworkRules) -> Option<Rules> {
    let NetworkRules { any, allow, deny, warn, ask } = rules;
    Some(Rules::parse(*any, allow, deny).and_then(|rules| rules.asking(ask)).ok()?.warning(*warn))
}
