//! The place of an entry that is not a rule.

use crate::rules::{List, RuleError};

impl RuleError {
    /// Returns the path of the entry below the table of the rules, such as `network.allow[3]`.
    #[must_use]
    pub fn path(&self, table: &str) -> String {
        let list = match self.list {
            List::Allow => "allow",
            List::Deny => "deny",
            List::Ask => "ask",
        };
        let index = self.index.map_or_else(String::new, |index| format!("[{index}]"));
        format!("{table}.{list}{index}")
    }

    /// Returns the problem and the remedy.
    #[must_use]
    pub fn problem_and_remedy(&self) -> (&str, &str) {
        self.message.rsplit_once("; ").unwrap_or((&self.message, "correct the entry"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_its_entry_and_its_remedy() {
        let error = |index, message: &str| RuleError { list: List::Deny, index, message: message.to_owned() };
        let full = error(Some(3), "`*` matches every host; set `any`");
        assert_eq!(full.path("network"), "network.deny[3]");
        assert_eq!(full.problem_and_remedy(), ("`*` matches every host", "set `any`"));
        let short = error(None, "the list is too long");
        assert_eq!(short.path("floor.network"), "floor.network.deny");
        assert_eq!(short.problem_and_remedy(), ("the list is too long", "correct the entry"));
    }
}
