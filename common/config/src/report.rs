//! The effective configuration: every key with its value and origin, without secrets.

use std::fmt::Write as _;

use serde_json::Value;

use crate::{
    check::without_password,
    layers::{Merged, Part},
    origin::Path,
    problem::harmless,
    schema::Schema,
};

/// Formats one line per key. `value` is the whole configuration with its defaults.
pub(crate) fn effective(value: &Value, schema: &Schema, merged: &Merged, file: &str) -> String {
    let mut report = Report { schema, merged, file, text: String::new() };
    report.visit(value, &Path::default());
    report.text
}

struct Report<'a> {
    schema: &'a Schema,
    merged: &'a Merged,
    file: &'a str,
    text: String,
}

impl Report<'_> {
    fn visit(&mut self, value: &Value, path: &Path) {
        let is_whole = self.schema.is_secret(path);
        match value {
            Value::Object(table) if !is_whole && (!table.is_empty() || path.0.is_empty()) => {
                table.iter().for_each(|(key, value)| self.visit(value, &path.key(key)));
            }
            Value::Array(list) if !is_whole && list.iter().any(Value::is_object) => {
                list.iter().enumerate().for_each(|(at, value)| self.visit(value, &path.index(at)));
            }
            value => self.line(value, path, is_whole),
        }
    }

    fn line(&mut self, value: &Value, path: &Path, is_secret: bool) {
        let shown = match value {
            Value::Null => "(not set)".to_owned(),
            _ if is_secret => "(secret)".to_owned(),
            value => toml(value),
        };
        let mut origin = String::new();
        // A secret that is a table has one key, and an assignment can name it.
        let inner = value.as_object().and_then(|table| table.keys().next()).map(|key| path.key(key));
        match self.merged.own(inner.as_ref().unwrap_or(path), Part::Value) {
            Some(from) => drop(from.show(self.file, &mut origin)),
            None => origin.push_str("default"),
        }
        // Writing to a text does not fail.
        let _ = harmless(&mut self.text, &path.to_string());
        self.text.push_str(" = ");
        let _ = harmless(&mut self.text, &shown);
        let _ = writeln!(self.text, "  # {origin}");
    }
}

/// Formats a value on one line.
fn toml(value: &Value) -> String {
    match value {
        Value::String(text) => Value::String(without_password(text)).to_string(),
        Value::Array(list) => format!("[{}]", list.iter().map(toml).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}
