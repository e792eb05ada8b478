//! Network rules, as text and as JSON.

use airlock_client::v1::NetworkRules;
use serde_json::{Value, json};

use super::escape;

/// Formats rules in one line, such as `pypi, github, except gist.github.com`. `None`: no network.
#[must_use]
pub fn text(rules: Option<&NetworkRules>) -> String {
    let shown = |list: &[String]| {
        let shown: Vec<_> = list.iter().map(|entry| escape::line(entry.as_bytes())).collect();
        shown.join(", ")
    };
    let Some(NetworkRules { any, allow, deny }) = rules else { return "none".to_owned() };
    let allowed = match (any, allow.is_empty()) {
        (false, true) => return "none".to_owned(),
        (false, false) => shown(allow),
        (true, true) => "every public host".to_owned(),
        (true, false) => format!("every public host, {}", shown(allow)),
    };
    if deny.is_empty() { allowed } else { format!("{allowed}, except {}", shown(deny)) }
}

/// Formats rules as JSON. `None` is null.
#[must_use]
pub fn json(rules: Option<&NetworkRules>) -> Value {
    rules.map_or(
        Value::Null,
        |NetworkRules { any, allow, deny }| json!({"any": any, "allow": allow, "deny": deny}),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_one_line_without_control_characters() {
        let rules = |any, allow: &[&str], deny: &[&str]| {
            let owned = |list: &[&str]| list.iter().map(|entry| (*entry).to_owned()).collect();
            text(Some(&NetworkRules { any, allow: owned(allow), deny: owned(deny) }))
        };
        assert_eq!(text(None), "none");
        assert_eq!(rules(false, &[], &["a.example"]), "none");
        assert_eq!(rules(false, &["pypi", "npm"], &["a.example"]), "pypi, npm, except a.example");
        assert_eq!(rules(true, &[], &[]), "every public host");
        assert_eq!(rules(true, &["10.0.0.5:5432/tcp"], &[]), "every public host, 10.0.0.5:5432/tcp");
        assert!(!rules(false, &["\u{1b}[2J\n"], &[]).contains(['\u{1b}', '\n']));
    }
}
