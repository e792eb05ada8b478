//! Converts the errors of a validation into problems: the value that was found, the remedy, the nearest known name.

use std::collections::HashSet;

use jsonschema::error::ValidationErrorKind;
use serde_json::Value;

use crate::{
    document::TWICE,
    kinds::TIME,
    layers::{Merged, Part},
    origin::{Origin, Path, value_at},
    problem::{PROBLEMS, Problem},
    schema::{Schema, allows, is_exclusive, nearest, properties, texts},
};

/// The longest part of a value in an error, in characters.
const SHOWN: usize = 40;

/// Validates the merged value, and returns all problems.
pub(crate) fn problems(schema: &Schema, merged: &Merged) -> Vec<Problem> {
    let validator = match &schema.validator {
        Ok(validator) => validator,
        Err(error) => {
            let (what, cure) = (format!("the schema is not valid: {error}"), "report this".to_owned());
            return vec![Problem { origin: None, field: String::new(), what, cure }];
        }
    };
    let mut checks = Checks { schema, merged, seen: HashSet::new(), problems: Vec::new() };
    for error in validator.iter_errors(&merged.value) {
        if checks.problems.len() > PROBLEMS {
            break;
        }
        let path = Path::from_pointer(error.instance_path().as_str(), &merged.value);
        match error.kind() {
            ValidationErrorKind::AdditionalProperties { unexpected } => {
                unexpected.iter().take(PROBLEMS + 1).for_each(|name| checks.unknown(&path, name));
            }
            ValidationErrorKind::Required { property } => {
                checks.missing(&path.key(property.as_str().unwrap_or_default()));
            }
            ValidationErrorKind::MinProperties { .. } | ValidationErrorKind::MaxProperties { .. } => {
                checks.alternatives(&path);
            }
            ValidationErrorKind::MinLength { .. } => checks.unfit(&path, Some("it is empty")),
            _ => checks.unfit(&path, None),
        }
    }
    checks.problems
}

struct Checks<'a> {
    schema: &'a Schema,
    merged: &'a Merged,
    /// The values that have been reported. A value can violate several keywords.
    seen: HashSet<String>,
    problems: Vec<Problem>,
}

impl Checks<'_> {
    fn add(&mut self, path: &Path, origin: Origin, what: String, cure: String) {
        self.problems.push(Problem { origin: Some(origin), field: path.to_string(), what, cure });
    }

    fn unknown(&mut self, table: &Path, name: &str) {
        let path = table.key(name);
        let origin = self.merged.origin(&path, Part::Key);
        let Some(schema) = self.schema.at(table) else { return };
        let near = nearest(name, properties(schema).map(|(key, _)| key));
        let meant = near.map(|near| (table.key(near), near.to_owned()));
        let meant = meant.or_else(|| self.schema.find(name).map(|path| (path.clone(), path.to_string())));
        let cure = match (meant, &origin) {
            (Some((path, _)), Origin::Variable(_)) => {
                format!("did you mean `{}`?", self.merged.variable(&path))
            }
            (Some((path, _)), Origin::Flag(_)) => format!("did you mean `{path}`?"),
            (Some((_, near)), Origin::Place(_)) => format!("did you mean `{near}`?"),
            (None, _) => format!("write one of {}, or remove it", names(schema)),
        };
        self.add(&path, origin, "there is no such key".to_owned(), cure);
    }

    fn missing(&mut self, path: &Path) {
        let origin = self.merged.origin(path, Part::Key);
        let cure = self.schema.at(path).map_or_else(String::new, |schema| remedy(schema, &origin));
        self.add(path, origin, "it is missing".to_owned(), format!("add it; {cure}"));
    }

    fn alternatives(&mut self, path: &Path) {
        let Some(schema) = self.schema.at(path) else { return };
        let given =
            value_at(&self.merged.value, &path.0).and_then(Value::as_object).map_or(0, serde_json::Map::len);
        let what = format!("{given} alternatives are given");
        let cure = format!("give exactly one of {}", names(schema));
        self.add(path, self.merged.origin(path, Part::Key), what, cure);
    }

    fn unfit(&mut self, path: &Path, what: Option<&str>) {
        if !self.seen.insert(path.to_string()) {
            return;
        }
        let (Some(schema), Some(value)) = (self.schema.at(path), value_at(&self.merged.value, &path.0))
        else {
            return;
        };
        let is_choice = schema.get("x-words").is_some();
        let origin = self.merged.origin(path, if is_choice { Part::Key } else { Part::Value });
        let mut words = texts(schema, "enum");
        words.extend(texts(schema, "x-words"));
        let near = value.as_str().and_then(|text| nearest(text, words.into_iter()));
        let cure = near.map_or_else(|| remedy(schema, &origin), |near| format!("did you mean \"{near}\"?"));
        let what = match value {
            _ if what.is_some() => what.unwrap_or_default().to_owned(),
            Value::String(_) if self.schema.is_secret(path) => {
                "this value is not one of the allowed values".to_owned()
            }
            value => format!("it is {}", found(value)),
        };
        self.add(path, origin, what, cure);
    }
}

/// Adds the remedy to a key that occurs twice, if it is a list of tables.
pub(crate) fn twice(schema: &Schema, problem: &mut Problem) {
    let listed = schema.at(&Path::parse(&problem.field)).filter(|schema| has_tables(schema));
    if let (TWICE, Some(listed), Some(origin)) = (problem.what.as_str(), listed, &problem.origin) {
        problem.cure = remedy(listed, origin);
    }
}

/// Reports whether a key is a list of tables.
fn has_tables(schema: &Value) -> bool {
    schema.get("items").is_some_and(|items| allows(items, "object") && items.get("x-words").is_none())
}

/// Returns an instruction, such as "write a whole number from 1 to 128". Only the file has quotes.
fn remedy(schema: &Value, origin: &Origin) -> String {
    let (quoted, bare) = match origin {
        Origin::Place(_) => (" in quotes", ", without quotes"),
        _ => ("", ""),
    };
    let bound = |name: &str| schema.get(name).map(Value::to_string).unwrap_or_default();
    let items = schema.get("items");
    if let Some(words) = schema.get("x-write").and_then(Value::as_str) {
        return format!("write {words}");
    }
    if let Some(bounds) = schema.get(TIME) {
        return format!(
            "write a time with its unit{quoted}, such as \"500ms\", \"30s\" or \"4m\"{}",
            times(bounds)
        );
    }
    if schema.get("x-words").is_some() {
        let words = one_of(&texts(schema, "x-words"));
        let which = if is_exclusive(schema) { "exactly one of " } else { "" };
        return format!("write {words} or a table with {which}{}", names(schema));
    }
    if schema.get("enum").is_some() {
        return format!("write {}", one_of(&texts(schema, "enum")));
    }
    if allows(schema, "boolean") {
        return format!("write true or false{bare}");
    }
    if allows(schema, "integer") {
        let range = match schema.get("maximum").and_then(Value::as_u64) {
            Some(most) if most < i64::MAX.unsigned_abs() => format!("from {} to {most}", bound("minimum")),
            _ => format!("{} or more", bound("minimum")),
        };
        let comma = if range.ends_with("more") { "," } else { "" };
        return format!("write a whole number{comma} {range}{bare}");
    }
    if allows(schema, "number") {
        return format!("write a number from {} to {}", bound("minimum"), bound("maximum"));
    }
    if has_tables(schema) {
        return "begin each of them with its name in double brackets, as in [[name]]".to_owned();
    }
    match (items, schema.get("properties")) {
        (Some(_), _) => "write a list in brackets, such as [\"a\", \"b\"]".to_owned(),
        (None, Some(_)) => format!("write a table with {}", names(schema)),
        (None, None) if allows(schema, "object") => "write a table, such as { name = \"value\" }".to_owned(),
        (None, None) => format!("write a string{quoted}"),
    }
}

fn times(bounds: &Value) -> String {
    let time =
        |name| std::time::Duration::from_millis(bounds.get(name).and_then(Value::as_u64).unwrap_or_default());
    let (least, most) = (time("least"), humantime::format_duration(time("most")));
    match least.is_zero() {
        true => format!(", {most} at most"),
        false => format!(", from {} to {most}", humantime::format_duration(least)),
    }
}

/// Formats `"a"`, or `"a", "b" or "c"`.
fn one_of(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
    match quoted.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}

/// Formats the keys, each in backticks.
fn names(schema: &Value) -> String {
    properties(schema).map(|(key, _)| format!("`{key}`")).collect::<Vec<_>>().join(", ")
}

/// Returns the message for a file without any content.
pub(crate) fn empty(schema: &Schema) -> (String, String) {
    let needed = texts(schema.json(), "required");
    let needed: Vec<String> = needed.iter().map(|key| format!("`{key}`")).collect();
    ("the file is empty".to_owned(), format!("it must contain {}", needed.join(", ")))
}

/// Describes a value.
fn found(value: &Value) -> String {
    match value {
        Value::String(text) => format!("the text `{}`", shortened(&without_password(text)).escape_debug()),
        Value::Number(number)
            if number.is_f64() && number.as_f64().is_some_and(|number| number.abs() < 1e18) =>
        {
            format!("the number {number}")
        }
        Value::Number(number) => {
            let whole = number.as_f64().filter(|_| number.is_f64()).map(|number| format!("{number:.0}"));
            format!("the whole number {}", shortened(&whole.unwrap_or_else(|| number.to_string())))
        }
        Value::Bool(value) => value.to_string(),
        Value::Null => "a date or time of day".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "a table".to_owned(),
    }
}

/// Replaces the password of a URL.
pub(crate) fn without_password(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text.to_owned() };
    let Some((user, host)) = rest.rsplit_once('@') else { return text.to_owned() };
    match user.split_once(':') {
        Some((user, _)) => format!("{scheme}://{user}:***@{host}"),
        None => text.to_owned(),
    }
}

fn shortened(text: &str) -> String {
    let mut shown: String = text.chars().take(SHOWN).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}
