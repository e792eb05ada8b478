//! The values that an expression may have, from the strings of the text itself. They are only candidates for deny rules.

use std::collections::HashMap;

/// Returns the values of a variable or of joined strings, as they are written.
pub(crate) fn possible_values(written: &str, constants: &HashMap<String, Vec<String>>) -> Vec<String> {
    let written = written.trim();
    if let Some(joined) = joined(written) {
        return vec![joined];
    }
    let quoted = written.trim_matches('"');
    let name = quoted.strip_prefix('$').map(|name| name.trim_matches(['{', '}']).to_ascii_lowercase());
    name.and_then(|name| constants.get(&name)).cloned().unwrap_or_default()
}

/// Returns the text of strings in quotes that `+` joins: `('a' + 'b')`.
fn joined(text: &str) -> Option<String> {
    let inner = text.strip_prefix('(').and_then(|inner| inner.strip_suffix(')')).unwrap_or(text);
    let part = |part: &str| {
        let part = part.trim();
        let quote = part.chars().next().filter(|first| matches!(first, '\'' | '"'))?;
        let inner = part.strip_prefix(quote)?.strip_suffix(quote)?;
        (!inner.contains(['$', '`', quote])).then(|| inner.to_owned())
    };
    inner.split('+').map(part).collect()
}
