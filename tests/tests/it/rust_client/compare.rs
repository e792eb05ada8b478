//! The values of the cases: references to saved values, and the comparison of a response with what is expected.

use serde_json::{Map, Value};

/// Returns the value with saved values in it.
pub(super) fn resolved(value: &Value, saved: &Map<String, Value>) -> Value {
    match value {
        Value::String(text) => reference(text, saved),
        Value::Object(fields) => match (fields.get("repeat"), fields.get("times")) {
            (Some(Value::String(text)), Some(times)) => {
                Value::String(text.repeat(usize::try_from(times.as_u64().unwrap()).unwrap()))
            }
            _ => fields.iter().map(|(key, one)| (key.clone(), resolved(one, saved))).collect(),
        },
        Value::Array(all) => all.iter().map(|one| resolved(one, saved)).collect(),
        other => other.clone(),
    }
}

fn reference(text: &str, saved: &Map<String, Value>) -> Value {
    if let Some(rest) = text.strip_prefix("$tmp/") {
        return format!("{}/{rest}", saved["tmp"].as_str().unwrap()).into();
    }
    let Some(path) = text.strip_prefix('$') else {
        return text.into();
    };
    let mut keys = path.split('.');
    let mut found = &saved[keys.next().unwrap()];
    for key in keys {
        found = &found[key];
    }
    found.clone()
}

/// Returns the first difference, or `None` if the response matches.
pub(super) fn difference(expected: &Value, got: &Value, at: &str) -> Option<String> {
    let unless = |holds: bool| (!holds).then(|| format!("{at}: {got} does not match {expected}"));
    match expected {
        Value::Object(fields) => {
            if let Some(pattern) = fields.get("$match") {
                let pattern = regex::Regex::new(pattern.as_str().unwrap()).unwrap();
                return unless(got.as_str().is_some_and(|text| pattern.is_match(text)));
            }
            if let Some(part) = fields.get("$contains") {
                return unless(contains(part, got));
            }
            if let Some(least) = fields.get("$at_least") {
                return unless(got.as_u64() >= least.as_u64());
            }
            if !got.is_object() && !got.is_null() {
                return unless(false);
            }
            fields.iter().find_map(|(key, one)| difference(one, &got[key], &format!("{at}.{key}")))
        }
        Value::Array(all) => {
            let Some(elements) = got.as_array().filter(|elements| elements.len() == all.len()) else {
                return unless(false);
            };
            let mut pairs = all.iter().zip(elements).enumerate();
            pairs.find_map(|(i, (one, other))| difference(one, other, &format!("{at}[{i}]")))
        }
        _ => unless(expected == got),
    }
}

fn contains(part: &Value, got: &Value) -> bool {
    match got {
        Value::String(text) => part.as_str().is_some_and(|part| text.contains(part)),
        Value::Array(all) => all.iter().any(|one| difference(part, one, "").is_none()),
        _ => false,
    }
}

#[test]
fn the_comparison_can_fail() {
    for (expected, got, same) in [
        (r#"{"a": 1}"#, r#"{"a": 1, "b": 2}"#, true),
        (r#"{"a": 1}"#, r#"{"a": 2}"#, false),
        (r#"{"a": null}"#, r#"{"a": 2}"#, false),
        (r#"{"a": []}"#, r#"{"a": [1]}"#, false),
        (r#"[1, {"b": 2}]"#, r#"[1, {"b": 2, "c": 3}]"#, true),
        ("[1]", "[1, 2]", false),
        (r#"{"$match": "^b"}"#, r#""abc""#, false),
        (r#"{"$match": "b"}"#, r#""abc""#, true),
        (r#"{"$match": "b"}"#, "null", false),
        (r#"{"$contains": "bc"}"#, r#""abc""#, true),
        (r#"{"$contains": {"a": 1}}"#, r#"[{"a": 2}, {"a": 1}]"#, true),
        (r#"{"$contains": {"a": 1}}"#, r#"[{"a": 2}]"#, false),
        (r#"{"$at_least": 2}"#, "1", false),
        (r#"{"$at_least": 2}"#, "2", true),
        (r#"{"a": 1}"#, "[]", false),
        (r#""a""#, r#""b""#, false),
    ] {
        let value = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        let found = difference(&value(expected), &value(got), "x");
        assert_eq!(found.is_none(), same, "{expected} and {got}: {found:?}");
    }
}
