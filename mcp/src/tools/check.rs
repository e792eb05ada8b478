//! Compares the arguments of a tool with its schema, so that a model learns every problem at once, by the argument's name.
//!
//! It knows the keywords that the schemas here use, and no others.

use airlock_escape as escape;
use rmcp::model::JsonObject;
use serde_json::Value;

/// Returns the problems of the arguments, or `None` if there are none.
pub(super) fn problems(schema: &JsonObject, arguments: &JsonObject) -> Option<String> {
    let empty = JsonObject::new();
    let known = schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    let missing = required
        .filter_map(Value::as_str)
        .filter(|name| !arguments.contains_key(*name))
        .map(|name| format!("`{name}` is missing"));
    let wrong = arguments.iter().filter_map(|(name, value)| match known.get(name) {
        Some(rule) => problem(rule, value).map(|problem| format!("`{name}` {problem}")),
        None => {
            let names: Vec<_> = known.keys().map(|name| format!("`{name}`")).collect();
            let name = escape::shortened(name.as_bytes(), NAME_COLUMNS);
            Some(format!("there is no argument `{name}`; the arguments are {}", names.join(", ")))
        }
    });
    let all: Vec<_> = missing.chain(wrong).take(PROBLEMS).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// The maximum number of problems in one text.
const PROBLEMS: usize = 8;
/// The columns of an unknown name in a text.
const NAME_COLUMNS: usize = 60;

fn problem(rule: &Value, value: &Value) -> Option<String> {
    let limit = |name: &str| rule.get(name).and_then(Value::as_u64);
    let is_a = rule.get("type").and_then(Value::as_str).unwrap_or_default();
    match (is_a, value) {
        ("string", Value::String(text)) => {
            let is_short = limit("minLength").is_some_and(|least| (text.len() as u64) < least);
            is_short.then(|| "must not be empty".to_owned())
        }
        ("boolean", Value::Bool(_)) => None,
        ("integer", Value::Number(_)) => {
            let (least, most) = (limit("minimum").unwrap_or(0), limit("maximum").unwrap_or(u64::MAX));
            match value.as_u64() {
                Some(number) if number > most => Some(format!("must be at most {most}")),
                Some(number) if number >= least => None,
                _ => Some(format!("must be a whole number of at least {least}")),
            }
        }
        ("string", _) => Some(format!("must be a string, not {}", kind(value))),
        ("boolean", _) => Some(format!("must be true or false, not {}", kind(value))),
        _ => Some(format!("must be a whole number, not {}", kind(value))),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_problem_names_its_argument() {
        let schema = json!({
            "properties": {
                "text": {"type": "string", "minLength": 1},
                "count": {"type": "integer", "minimum": 1, "maximum": 9},
                "all": {"type": "boolean"},
            },
            "required": ["text"],
        });
        let unknown = "there is no argument `txt`; the arguments are `all`, `count`, `text`";
        for (arguments, expected) in [
            (json!({"text": "x", "count": 9, "all": true}), None),
            (json!({}), Some("`text` is missing")),
            (json!({"text": ""}), Some("`text` must not be empty")),
            (json!({"text": 3}), Some("`text` must be a string, not a number")),
            (json!({"text": "x", "count": "5"}), Some("`count` must be a whole number, not a string")),
            (json!({"text": "x", "count": 0}), Some("`count` must be a whole number of at least 1")),
            (json!({"text": "x", "count": -1}), Some("`count` must be a whole number of at least 1")),
            (json!({"text": "x", "count": 1.5}), Some("`count` must be a whole number of at least 1")),
            (json!({"text": "x", "count": 10}), Some("`count` must be at most 9")),
            (json!({"text": "x", "all": "yes"}), Some("`all` must be true or false, not a string")),
            (json!({"text": "x", "txt": "x"}), Some(unknown)),
            (json!({"count": []}), Some("`text` is missing; `count` must be a whole number, not an array")),
        ] {
            let (schema, arguments) = (schema.as_object().unwrap(), arguments.as_object().unwrap());
            assert_eq!(problems(schema, arguments).as_deref(), expected, "{arguments:?}");
        }
    }
}
