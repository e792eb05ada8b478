//! Generates every way to get one key wrong, in each layer, from the schema: misspelt, of a wrong type, out of range,
//! missing. For tests; the functions panic if a test should fail.

use std::{collections::BTreeSet, ops::Range};

use serde_json::Value;
use toml::de::{DeTable, DeValue};

use crate::{
    kinds::TIME,
    origin::{Path, Place, Step},
    overrides::{Overrides, variable},
    schema::{Schema, allows, has, properties},
};

/// Terms that must not appear in a message for people: names of Rust types, and terms of its parsers.
const FOREIGN: [&str; 14] = [
    "u8", "u16", "u32", "u64", "i64", "usize", "f64", "struct", "enum", "variant", "Some(", "serde", "Err(",
    "expected",
];

/// A configuration with one error.
#[derive(Debug)]
pub struct Case {
    /// The kind of change.
    pub what: &'static str,
    /// The key's path in the changed configuration.
    pub path: String,
    /// The origin that the message must begin with. The name of the file is `FILE`.
    pub origin: String,
    /// Text that the message must also contain, such as the correct key.
    pub says: String,
    /// The text of the file.
    pub text: String,
    /// The environment and the flags.
    pub overrides: Overrides,
}

/// Returns every case of `text`, which must contain every key of `schema`. Without `prefix`, only the file is wrong.
///
/// # Panics
/// If a key of the schema is missing from the text, or the text is not TOML.
#[must_use]
pub fn all(text: &str, schema: &'static Schema, prefix: Option<&'static str>) -> Vec<Case> {
    let table = DeTable::parse(text).map_err(|error| error.to_string());
    assert!(table.is_ok(), "{table:?}");
    let mut cases = Cases { text, schema, prefix, made: Vec::new(), shown: BTreeSet::new() };
    if let Ok(table) = &table {
        cases.table(&Path::default(), table.get_ref(), schema.json());
    }
    let missing: Vec<String> = keys(schema).into_iter().filter(|path| !cases.shown.contains(path)).collect();
    assert!(missing.is_empty(), "the text does not contain {missing:?}, so they have no case");
    cases.made
}

/// Generates every case, and asserts that each message of `refuse` contains origin, key and remedy, without terms of
/// Rust. `refuse` receives the text of a file named `name`, and returns its error message. Returns the messages.
///
/// # Panics
/// If a message is missing or incomplete.
pub fn assert_told(
    text: &str,
    name: &str,
    (schema, prefix): (&'static Schema, Option<&'static str>),
    refuse: impl Fn(&str, &Overrides) -> Option<String>,
) -> Vec<String> {
    let mut told = Vec::new();
    for case in all(text, schema, prefix) {
        let Case { what, path, origin, says, text, overrides } = &case;
        let said = refuse(text, overrides);
        assert!(said.is_some(), "{what} `{path}` of {origin} is taken:\n{text}\n{overrides:?}");
        let said = said.unwrap_or_default();
        let (here, key) = (
            origin.strip_prefix("FILE").map_or_else(|| origin.clone(), |line| format!("{name}{line}")),
            format!("`{path}`: "),
        );
        let fits = |one: &&str| one.starts_with(&here) && one.contains(&key) && one.contains(says.as_str());
        let found = said.lines().find(fits);
        assert!(found.is_some(), "{what} `{path}` must be told at {here} with `{says}`, and not by:\n{said}");
        let found = found.unwrap_or_default();
        assert!(found.contains("; "), "no remedy in: {found}");
        let words = found.replace(path, "").replace(origin, "");
        let foreign = FOREIGN
            .iter()
            .find(|word| words.split(|c: char| !c.is_alphanumeric() && c != '(').any(|part| part == **word));
        assert!(foreign.is_none(), "`{foreign:?}` is an internal name: {found}");
        told.push(found.to_owned());
    }
    told
}

/// Returns the path of every key of a schema, without indices and without the keys of maps.
#[must_use]
pub fn keys(schema: &Schema) -> BTreeSet<String> {
    fn visit(schema: &Value, path: &str, found: &mut BTreeSet<String>) {
        for (key, inner) in properties(schema) {
            let path = if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
            visit(inner.get("items").unwrap_or(inner), &path, found);
            found.insert(path);
        }
    }
    let mut found = BTreeSet::new();
    visit(schema.json(), "", &mut found);
    found
}

/// Returns every value of `text` as an assignment: the path, the variable, and the text for both.
///
/// # Panics
/// If the text is not TOML.
#[must_use]
pub fn assignments(text: &str, schema: &Schema, prefix: &str) -> Vec<(String, String, String)> {
    fn visit(value: &Value, path: &Path, found: &mut Vec<(Path, String)>) {
        match value {
            Value::Object(table) => table.iter().for_each(|(key, value)| visit(value, &path.key(key), found)),
            Value::Array(list) if list.iter().any(Value::is_object) => {
                list.iter().enumerate().for_each(|(at, value)| visit(value, &path.index(at), found));
            }
            Value::String(text) => found.push((path.clone(), text.clone())),
            other => found.push((path.clone(), other.to_string())),
        }
    }
    let value = crate::document::Document::parse(text).map(|document| document.value);
    let mut found = Vec::new();
    visit(&value.unwrap_or_default(), &Path::default(), &mut found);
    assert!(!found.is_empty(), "the text is not TOML");
    found.into_iter().map(|(path, text)| (path.to_string(), variable(prefix, schema, &path), text)).collect()
}

struct Cases<'a> {
    text: &'a str,
    schema: &'static Schema,
    prefix: Option<&'static str>,
    made: Vec<Case>,
    /// The keys that the text contains; lists have no indices.
    shown: BTreeSet<String>,
}

impl Cases<'_> {
    fn table(&mut self, path: &Path, table: &DeTable<'_>, schema: &Value) {
        for (name, inner) in properties(schema) {
            let Some((key, value)) = table.get_key_value(name) else { continue };
            let path = path.key(name);
            let (key, span) = (key.span(), value.span());
            self.misspelt(&path, &key, name);
            let is_required = schema.get("required").and_then(Value::as_array);
            let is_required = is_required.is_some_and(|names| names.iter().any(|one| one == name));
            if is_required && span.start > key.end && self.on_one_line(key.start, span.end) {
                // The message refers to the start of the table, or to the first line.
                let line = self.table_line(key.start, path.0.len() > 1);
                self.file("missing", &path, key.start..self.with_comma(span.end), "", "missing");
                if let Some(last) = self.made.last_mut() {
                    last.origin = format!("FILE:{line}:");
                }
            }
            self.value(&path, value.get_ref(), &span, inner);
            let keys = path.0.iter().filter(|step| matches!(step, Step::Key(_))).cloned();
            self.shown.insert(Path(keys.collect()).to_string());
        }
    }

    fn misspelt(&mut self, path: &Path, key: &Range<usize>, name: &str) {
        let Some(parent) = path.parent() else { return };
        let wrong = parent.key(&format!("{name}x"));
        self.file("misspelt", &wrong, key.clone(), &format!("{name}x"), name);
        self.assigned("misspelt", (&wrong, &wrong), "1", path);
    }

    fn value(&mut self, path: &Path, value: &DeValue<'_>, span: &Range<usize>, schema: &Value) {
        let items = schema.get("items");
        match value {
            DeValue::Table(inner) if schema.get("x-words").is_none() => {
                self.alone("a number instead of a table", path);
                self.set("a number instead of a table", path, "17");
                self.table(path, inner, schema);
            }
            DeValue::Array(list) if items.is_some_and(|items| allows(items, "object")) => {
                self.alone("a number instead of tables", path);
                self.set("a number instead of tables", path, "17");
                for (at, item) in list.iter().enumerate() {
                    if let (DeValue::Table(inner), Some(items)) = (item.get_ref(), items) {
                        self.table(&path.index(at), inner, items);
                    }
                }
            }
            DeValue::Array(_) => {
                self.wrong("of a wrong type", path, span, "17", "the whole number 17");
                self.file(
                    "an item of a wrong type",
                    &path.index(0),
                    span.clone(),
                    "[17]",
                    "the whole number 17",
                );
                self.set("an item of a wrong type", &path.index(0), "17");
            }
            value => {
                let is_choice = schema.get("x-words").is_some();
                let first = if is_choice || schema_is_text(schema) { "17" } else { "[1]" };
                self.wrong("of a wrong type", path, span, first, "it is ");
                let second = if allows(schema, "string") { "true" } else { "\"wrong\"" };
                self.wrong("of a wrong type", path, span, second, "it is ");
                for value in out_of_range(schema) {
                    self.wrong("out of range", path, span, &value, "");
                }
                if !is_choice {
                    self.assigned("a table instead of a value", (&path.key("x"), path), "1", path);
                }
                if let DeValue::Table(inner) = value {
                    self.table(path, inner, schema);
                }
            }
        }
    }

    /// Adds a wrong value in each layer.
    fn wrong(&mut self, what: &'static str, path: &Path, span: &Range<usize>, value: &str, says: &str) {
        self.file(what, path, span.clone(), value, says);
        let schema = self.schema.at(path);
        let is_text = value.starts_with('"');
        // Every value of a variable is a text, if the schema has a text.
        if is_text || !schema.is_some_and(|schema| allows(schema, "string")) {
            self.set(what, path, value.trim_matches('"'));
        }
    }

    /// Adds a wrong value in the environment and in a flag.
    fn set(&mut self, what: &'static str, path: &Path, value: &str) {
        let schema = self.schema.at(path);
        if value != "17" || !schema.is_some_and(|schema| allows(schema, "string")) {
            self.assigned(what, (path, path), value, &Path::default());
        }
    }

    /// Adds an assignment to the first path that is reported for the second. `near` is the remedy, if it is a key.
    fn assigned(&mut self, what: &'static str, paths: (&Path, &Path), value: &str, near: &Path) {
        let Some(prefix) = self.prefix else { return };
        let (set, reported) = (paths.0, paths.1.to_string());
        let name = variable(prefix, self.schema, set);
        let says = |shown: String| {
            if near == set || near.0.is_empty() || set != paths.1 { String::new() } else { shown }
        };
        let in_environment = Overrides {
            prefix,
            variables: vec![(name.clone(), Some(value.to_owned()))],
            may_widen: self.guarded(),
            ..Overrides::default()
        };
        let in_flags = Overrides { prefix, flags: vec![format!("{set}={value}")], ..Overrides::default() };
        for (origin, overrides, says) in [
            (format!("{name}: "), in_environment, says(variable(prefix, self.schema, near))),
            (format!("--set {set}: "), in_flags, says(near.to_string())),
        ] {
            self.made.push(Case {
                what,
                path: reported.clone(),
                origin,
                says,
                text: self.text.to_owned(),
                overrides,
            });
        }
    }

    /// Returns the keys that the environment can set only by name.
    fn guarded(&self) -> Vec<String> {
        let tables = properties(self.schema.json()).filter(|(_, table)| has(table, "x-guarded"));
        tables
            .flat_map(|(table, inner)| properties(inner).map(move |(key, _)| format!("{table}.{key}")))
            .collect()
    }

    /// Adds a file with only this key. Content below a heading cannot be replaced in place.
    fn alone(&mut self, what: &'static str, path: &Path) {
        if path.0.iter().all(|step| matches!(step, Step::Key(_))) {
            let text = format!("{path} = 17\n");
            let (path, says) = (path.to_string(), "the whole number 17".to_owned());
            self.made.push(Case {
                what,
                path,
                origin: "FILE:1:".to_owned(),
                says,
                text,
                overrides: Overrides::default(),
            });
        }
    }

    fn file(&mut self, what: &'static str, path: &Path, span: Range<usize>, by: &str, says: &str) {
        let mut text = self.text.to_owned();
        let origin = format!("FILE:{}:", Place::at(&text, span.start).line);
        text.replace_range(span, by);
        let (path, says) = (path.to_string(), says.to_owned());
        self.made.push(Case { what, path, origin, says, text, overrides: Overrides::default() });
    }

    /// Returns the end of a value in an inline table, including its comma.
    fn with_comma(&self, end: usize) -> usize {
        let after = self.text.get(end..).unwrap_or_default();
        after.strip_prefix(", ").map_or(end, |rest| self.text.len() - rest.len())
    }

    fn on_one_line(&self, from: usize, to: usize) -> bool {
        Place::at(self.text, from).line == Place::at(self.text, to).line
    }

    /// Returns the line of the heading or inline table around `offset`; 1 at the top level.
    fn table_line(&self, offset: usize, nested: bool) -> usize {
        let before = self.text.get(..offset).unwrap_or_default();
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let inline = before.get(line_start..).is_some_and(|line| line.contains('{'));
        match (nested, inline) {
            (false, _) => 1,
            (true, true) => Place::at(self.text, offset).line,
            (true, false) => before.rfind("\n[").map_or(1, |at| Place::at(self.text, at + 1).line),
        }
    }
}

/// Reports whether a value is a text without a range or a form.
fn schema_is_text(schema: &Value) -> bool {
    allows(schema, "string") && out_of_range(schema).is_empty()
}

/// Returns values just outside the permitted range, and malformed ones.
fn out_of_range(schema: &Value) -> Vec<String> {
    if let Some(bounds) = schema.get(TIME) {
        let bound = |name| bounds.get(name).and_then(Value::as_u64).unwrap_or_default();
        let below = bound("least").checked_sub(1).map(|time| format!("\"{time}ms\""));
        let above = format!("\"{}ms\"", bound("most") + 1);
        return ["\"soon\"", "\"5\"", "\"-1s\"", &above]
            .map(str::to_owned)
            .into_iter()
            .chain(below)
            .collect();
    }
    if schema.get("enum").or(schema.get("x-words")).is_some() {
        return vec!["\"quite unknown\"".to_owned()];
    }
    if schema.get("x-write").is_some() {
        return vec!["\"\"".to_owned()];
    }
    let bound = |name: &str| schema.get(name).and_then(Value::as_f64);
    let whole = |name: &str| schema.get(name).and_then(Value::as_i64).map(i128::from);
    match (allows(schema, "integer"), allows(schema, "number")) {
        (true, _) => {
            let below = whole("minimum").map(|least| (least - 1).to_string());
            below.into_iter().chain(whole("maximum").map(|most| (most + 1).to_string())).collect()
        }
        (false, true) => {
            let below = bound("minimum").map(|least| format!("{:?}", least - 0.5));
            below.into_iter().chain(bound("maximum").map(|most| format!("{:?}", most + 0.5))).collect()
        }
        (false, false) => Vec::new(),
    }
}
