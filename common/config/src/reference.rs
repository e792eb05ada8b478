//! Generates the reference page and the parts of the chart's schema from a schema.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use crate::{
    kinds::TIME,
    schema::{Schema, allows, has, is_exclusive, properties, texts},
};

/// Returns the tables of a schema in Markdown, one section for each table.
#[must_use]
pub fn page(schema: &Schema) -> String {
    let mut text = String::new();
    section(&mut text, schema.json(), "");
    text
}

/// Returns the schema of one table for the chart, without the keys that the chart sets itself.
#[must_use]
pub fn chart(schema: &Schema, pointer: &str, omitted: &[&str]) -> Value {
    schema.json().pointer(pointer).map_or(Value::Null, |table| plain(table, omitted))
}

fn plain(schema: &Value, omitted: &[&str]) -> Value {
    if schema.get(TIME).is_some() {
        return json!({"$ref": "#/definitions/time"});
    }
    let mut found = Map::new();
    for keyword in ["type", "enum", "minimum", "maximum", "minLength", "pattern", "additionalProperties"] {
        let value = schema.get(keyword).filter(|value| value.as_u64() != Some(i64::MAX.unsigned_abs()));
        found.extend(value.map(|value| (keyword.to_owned(), value.clone())));
    }
    found.extend(schema.get("items").map(|items| ("items".to_owned(), plain(items, &[]))));
    let keys = properties(schema).filter(|(key, _)| !omitted.contains(key));
    let keys: Map<String, Value> = keys.map(|(key, inner)| (key.to_owned(), plain(inner, &[]))).collect();
    let required: Vec<&str> =
        texts(schema, "required").into_iter().filter(|key| keys.contains_key(*key)).collect();
    if !required.is_empty() {
        found.insert("required".to_owned(), json!(required));
    }
    if !keys.is_empty() {
        found.insert("properties".to_owned(), Value::Object(keys));
    }
    Value::Object(found)
}

fn section(text: &mut String, schema: &Value, name: &str) {
    // Writing to a text does not fail.
    if !name.is_empty() {
        let _ = writeln!(text, "\n### `{name}`\n");
        let about = schema.get("description").and_then(Value::as_str);
        if let Some(about) = about {
            let _ = writeln!(text, "{}\n", about.replace('\n', " "));
        }
        if has(schema, "x-guarded") {
            let _ = writeln!(
                text,
                "The environment can set a key of this table only if `--env-may-widen` names it.\n"
            );
        }
    }
    let required = texts(schema, "required");
    let rows: Vec<_> = properties(schema).filter(|(_, inner)| !is_section(inner)).collect();
    if !rows.is_empty() {
        text.push_str("| Key | Type | Default | Unit | Description |\n|---|---|---|---|---|\n");
    }
    for (key, inner) in rows {
        let default = match inner.get("x-default").and_then(Value::as_str) {
            Some(words) => words.to_owned(),
            None if required.contains(&key) => "required".to_owned(),
            None => inner.get("default").map_or_else(|| "not set".to_owned(), |value| format!("`{value}`")),
        };
        let (kind, unit) = (kind(inner), unit(key, inner));
        let _ = writeln!(text, "| `{key}` | {kind} | {default} | {unit} | {} |", description(inner));
    }
    for (key, inner) in properties(schema).filter(|(_, inner)| is_section(inner)) {
        let path = name.trim_matches(['[', ']']);
        let path = if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
        match inner.get("items") {
            Some(items) => {
                let mut items = items.clone();
                // The description of the field is written for readers of the page.
                if let (Some(items), Some(about)) = (items.as_object_mut(), inner.get("description")) {
                    items.insert("description".to_owned(), about.clone());
                }
                section(text, &items, &format!("[[{path}]]"));
            }
            None => section(text, inner, &format!("[{path}]")),
        }
    }
}

/// Reports whether a key is a table, or a list of tables, of its own.
fn is_section(schema: &Value) -> bool {
    let table = schema.get("items").unwrap_or(schema);
    table.get("properties").is_some() && table.get("x-words").is_none()
}

fn kind(schema: &Value) -> String {
    let bound = |name: &str| schema.get(name).map(Value::to_string);
    if let Some(bounds) = schema.get(TIME) {
        let time =
            |name| std::time::Duration::from_millis(bounds.get(name).and_then(Value::as_u64).unwrap_or(0));
        let shown = |name| humantime::format_duration(time(name)).to_string();
        return format!("time, {} to {}", shown("least"), shown("most"));
    }
    let code =
        |words: Vec<&str>| words.iter().map(|word| format!("`\"{word}\"`")).collect::<Vec<_>>().join(", ");
    if schema.get("x-words").is_some() {
        let keys: Vec<String> = properties(schema).map(|(key, _)| format!("`{key}`")).collect();
        let which = if is_exclusive(schema) { "one of " } else { "" };
        return format!("{}, or a table with {which}{}", code(texts(schema, "x-words")), keys.join(", "));
    }
    if schema.get("enum").is_some() {
        return code(texts(schema, "enum"));
    }
    if let Some(items) = schema.get("items") {
        return format!("list of {}", kind(items));
    }
    if let Some(values) = schema.get("additionalProperties").filter(|inner| inner.is_object()) {
        let is_table = values.get("properties").is_some();
        return format!("table of {}", if is_table { "tables".to_owned() } else { kind(values) });
    }
    match (bound("minimum"), bound("maximum")) {
        (Some(least), Some(most)) if most != i64::MAX.to_string() && most != u32::MAX.to_string() => {
            format!("{}, {least} to {most}", base(schema))
        }
        (Some(least), _) => format!("{}, {least} or more", base(schema)),
        _ => base(schema).to_owned(),
    }
}

fn base(schema: &Value) -> &'static str {
    match () {
        () if allows(schema, "boolean") => "boolean",
        () if allows(schema, "integer") => "integer",
        () if allows(schema, "number") => "number",
        () if schema.get("format").is_some() => "address",
        () => "text",
    }
}

/// Returns the unit of a value. The name of a key contains it, except for times, which contain it themselves.
fn unit(key: &str, schema: &Value) -> &'static str {
    match () {
        () if schema.get(TIME).is_some() => "in the value",
        () if key.ends_with("bytes_per_day") => "bytes per day",
        () if key.ends_with("bytes") => "bytes",
        () if key.ends_with("_per_second") => "per second",
        () if key.ends_with("_per_minute") => "per minute",
        () if key.ends_with("_millis") => "thousandths",
        () if allows(schema, "integer") => "count",
        () => "",
    }
}

fn description(schema: &Value) -> String {
    let about = schema.get("description").and_then(Value::as_str).unwrap_or_default().replace('\n', " ");
    let values = schema.get("x-values").and_then(Value::as_object).into_iter().flatten();
    let values = values.filter_map(|(word, text)| Some(format!(" `\"{word}\"`: {}", text.as_str()?)));
    format!("{about}{}", values.collect::<String>()).replace('|', "\\|").replace('\n', " ")
}
