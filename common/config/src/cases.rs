//! Generates every way to get one key of a text wrong, from its schema: misspelt, of a wrong type, out of
//! range, missing. For tests; the functions panic if a test should fail.

use std::{ops::Range, time::Duration};

use toml::de::{DeTable, DeValue};

use crate::{
    place::Place,
    schema::{Field, Kind},
};

/// Terms that must not appear in a message for people: names of Rust types, and terms of its parsers.
const FOREIGN: [&str; 14] = [
    "u8", "u16", "u32", "u64", "i64", "usize", "f64", "struct", "enum", "variant", "Some(", "serde", "Err(",
    "expected",
];

/// A text with one error.
#[derive(Debug)]
pub struct Case {
    /// The kind of change.
    pub what: &'static str,
    /// The key's path in the changed text.
    pub path: String,
    /// The line that the message must name.
    pub line: usize,
    /// Text that the message must also contain, such as the correct key.
    pub says: String,
    /// The text.
    pub text: String,
}

/// Returns every case of `text`, which must contain every key of `schema`.
///
/// # Panics
/// If a key of the schema is missing from the text, or the text is not TOML.
#[must_use]
pub fn all(text: &str, schema: &'static [Field]) -> Vec<Case> {
    let table = DeTable::parse(text).map_err(|error| error.to_string());
    assert!(table.is_ok(), "{table:?}");
    let mut cases = Cases { text, made: Vec::new(), shown: Vec::new() };
    if let Ok(table) = &table {
        cases.table("", table.get_ref(), schema);
    }
    let mut wanted = Vec::new();
    leaves("", schema, &mut wanted);
    let missing: Vec<&String> = wanted.iter().filter(|path| !cases.shown.contains(path)).collect();
    assert!(missing.is_empty(), "the text does not contain {missing:?}, so they have no case");
    cases.made
}

/// Generates every case, and asserts that each message of `refuse` contains file, position, key and remedy,
/// without terms of Rust. `refuse` receives the text of a file named `name` and returns its error message.
/// Returns the messages.
///
/// # Panics
/// If a message is missing or incomplete.
pub fn assert_told(
    text: &str,
    name: &str,
    schema: &'static [Field],
    refuse: impl Fn(&str) -> Option<String>,
) -> Vec<String> {
    let mut told = Vec::new();
    for case in all(text, schema) {
        let Case { what, path, line, says, text } = &case;
        let said = refuse(text);
        assert!(said.is_some(), "{what} `{path}` is taken:\n{text}");
        let said = said.unwrap_or_default();
        let here = format!("{name}:{line}:");
        let key = format!("`{path}`: ");
        let fits = |one: &&str| one.starts_with(&here) && one.contains(&key) && one.contains(says.as_str());
        let found = said.lines().find(fits);
        assert!(found.is_some(), "{what} `{path}` must be told at {here} with `{says}`, and not by:\n{said}");
        let found = found.unwrap_or_default();
        assert!(found.contains("; "), "no remedy in: {found}");
        let words = found.replace(path, "");
        let foreign = FOREIGN
            .iter()
            .find(|word| words.split(|c: char| !c.is_alphanumeric() && c != '(').any(|part| part == **word));
        assert!(foreign.is_none(), "`{foreign:?}` is an internal name: {found}");
        told.push(found.to_owned());
    }
    told
}

/// Asserts that `schema` has exactly the keys of the types that serde deserializes. An unknown key is added
/// to each table of `text`; `refuse` must return serde's message, which lists the known keys.
///
/// # Panics
/// If a table's keys differ, or `text` does not contain a table.
pub fn assert_same_keys(text: &str, schema: &'static [Field], refuse: &dyn Fn(&str) -> Option<String>) {
    let mut found = Vec::new();
    tables("", schema, &mut found);
    for (path, fields) in found {
        let key = fields.first().map_or("", |field| field.name);
        let wanted = if path.is_empty() { format!("{key}x") } else { format!("{path}.{key}x") };
        let bare = |path: &str| -> String {
            path.split('[').map(|part| part.split(']').next_back().unwrap_or(part)).collect()
        };
        let case =
            all(text, schema).into_iter().find(|case| case.what == "misspelt" && bare(&case.path) == wanted);
        let said = case.as_ref().and_then(|case| refuse(&case.text)).unwrap_or_default();
        let (_, known) = said.split_once("expected ").unwrap_or_default();
        let mut known: Vec<&str> = known.split('`').skip(1).step_by(2).collect();
        let mut keys: Vec<&str> = fields.iter().map(|field| field.name).collect();
        known.sort_unstable();
        keys.sort_unstable();
        assert_eq!(known, keys, "the keys of `{path}` in the types, and in the schema; {said}");
    }
}

/// Adds every table of a schema with its path.
fn tables(path: &str, fields: &'static [Field], found: &mut Vec<(String, &'static [Field])>) {
    found.push((path.to_owned(), fields));
    for field in fields {
        let path = if path.is_empty() { field.name.to_owned() } else { format!("{path}.{}", field.name) };
        match field.kind {
            Kind::Table(inner) => tables(&path, inner, found),
            Kind::List(Kind::Table(inner)) => tables(&path, inner, found),
            _ => {}
        }
    }
}

fn leaves(path: &str, fields: &[Field], found: &mut Vec<String>) {
    for field in fields {
        let path = if path.is_empty() { field.name.to_owned() } else { format!("{path}.{}", field.name) };
        match field.kind {
            Kind::Table(inner) => leaves(&path, inner, found),
            Kind::List(Kind::Table(inner)) => leaves(&path, inner, found),
            Kind::Choice { fields, .. } => leaves(&path, fields, found),
            _ => {}
        }
        found.push(path);
    }
}

struct Cases<'a> {
    text: &'a str,
    made: Vec<Case>,
    /// The keys that the text contains; lists have no indices.
    shown: Vec<String>,
}

impl Cases<'_> {
    fn table(&mut self, path: &str, table: &DeTable<'_>, fields: &'static [Field]) {
        for field in fields {
            let Some((key, value)) = table.get_key_value(field.name) else { continue };
            let path = if path.is_empty() { field.name.to_owned() } else { format!("{path}.{}", field.name) };
            let bare: String =
                path.split('[').map(|part| part.split(']').next_back().unwrap_or(part)).collect();
            let (key, span) = (key.span(), value.span());
            self.replace(
                "misspelt",
                &format!("{path}x"),
                key.clone(),
                &format!("{}x", field.name),
                field.name,
            );
            if field.required && span.start > key.end && self.on_one_line(key.start, span.end) {
                self.replace("missing", &path, key.start..self.with_comma(span.end), "", "missing");
                // The message refers to the start of the table, or to the first line.
                let line = self.table_line(key.start, path.contains('.'));
                if let Some(last) = self.made.last_mut() {
                    last.line = line;
                }
            }
            self.value(&path, value.get_ref(), &span, &field.kind);
            self.shown.push(bare);
        }
    }

    fn value(&mut self, path: &str, value: &DeValue<'_>, span: &Range<usize>, kind: &'static Kind) {
        match (kind, value) {
            (Kind::Table(fields), DeValue::Table(inner)) => {
                self.alone("a number instead of a table", path);
                self.table(path, inner, fields);
            }
            (Kind::List(Kind::Table(fields)), DeValue::Array(items)) => {
                self.alone("a number instead of tables", path);
                for (index, item) in items.iter().enumerate() {
                    if let DeValue::Table(inner) = item.get_ref() {
                        self.table(&format!("{path}[{index}]"), inner, fields);
                    }
                }
            }
            (Kind::Choice { fields, .. }, value) => {
                self.replace("of a wrong type", path, span.clone(), "17", "it is the whole number 17");
                self.replace("an unknown word", path, span.clone(), "\"quite unknown\"", "write ");
                if let DeValue::Table(inner) = value {
                    self.table(path, inner, fields);
                }
            }
            (Kind::Map(_), _) => self.alone("a number instead of a table", path),
            (Kind::List(_), _) => {
                self.replace("of a wrong type", path, span.clone(), "17", "the whole number 17");
                let item = format!("{path}[0]");
                self.replace("an item of a wrong type", &item, span.clone(), "[17]", "the whole number 17");
            }
            (kind, _) => self.scalar(path, span, kind),
        }
    }

    fn scalar(&mut self, path: &str, span: &Range<usize>, kind: &Kind) {
        let wrong = if matches!(kind, Kind::Text) { "17" } else { "[1]" };
        self.replace("of a wrong type", path, span.clone(), wrong, "it is ");
        let second = if matches!(kind, Kind::Bool | Kind::Number { .. } | Kind::Fraction { .. }) {
            "\"wrong\""
        } else {
            "true"
        };
        self.replace("of a wrong type", path, span.clone(), second, "it is ");
        for value in out_of_range(kind) {
            self.replace("out of range", path, span.clone(), &value, "it is ");
        }
    }

    /// Adds a case with only this key. Content below a heading cannot be replaced in place.
    fn alone(&mut self, what: &'static str, path: &str) {
        if !path.contains('[') {
            let text = format!("{path} = 17\n");
            let says = "the whole number 17".to_owned();
            self.made.push(Case { what, path: path.to_owned(), line: 1, says, text });
        }
    }

    fn replace(&mut self, what: &'static str, path: &str, span: Range<usize>, by: &str, says: &str) {
        let mut text = self.text.to_owned();
        let line = Place::at(&text, span.start).line;
        text.replace_range(span, by);
        self.made.push(Case { what, path: path.to_owned(), line, says: says.to_owned(), text });
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

/// Returns values just outside the permitted range, and malformed ones.
fn out_of_range(kind: &Kind) -> Vec<String> {
    let step = Duration::from_millis(1);
    match *kind {
        Kind::Number { least, most } => {
            vec![(i128::from(least) - 1).to_string(), (i128::from(most) + 1).to_string()]
        }
        Kind::Fraction { least, most } => vec![format!("{:?}", least - 0.5), format!("{:?}", most + 0.5)],
        Kind::Time { least, most } => {
            let below = least.checked_sub(step).map(|time| format!("\"{}us\"", time.as_micros()));
            let above = most.checked_add(step).map(|time| format!("\"{}ms\"", time.as_millis()));
            let formless = ["\"soon\"", "\"5\"", "\"-1s\""].map(str::to_owned);
            formless.into_iter().chain(below).chain(above).collect()
        }
        Kind::OneOf(_) => vec!["\"quite unknown\"".to_owned()],
        Kind::Form(_) => vec!["\"%\"".to_owned(), "\"\"".to_owned()],
        _ => Vec::new(),
    }
}
