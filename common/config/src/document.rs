//! A TOML text as a value, with the position of each key and value.

use std::collections::HashMap;

use serde_json::{Map, Number, Value};
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use crate::{
    origin::{Origin, Path, Place},
    problem::{ConfigError, PROBLEMS, Problem},
};

/// The problem of a key that occurs twice.
pub(crate) const TWICE: &str = "it is set twice";

/// The byte offsets of a key and of its value. For an entry of a list, both are those of the entry.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Spot {
    pub(crate) key: usize,
    pub(crate) value: usize,
}

/// A parsed text.
#[derive(Debug)]
pub(crate) struct Document {
    text: String,
    pub(crate) value: Value,
    spots: HashMap<String, Spot>,
}

impl Document {
    /// Parses a text.
    ///
    /// # Errors
    /// Every error of the syntax.
    pub(crate) fn parse(text: &str) -> Result<Self, Vec<Problem>> {
        let (table, errors) = DeTable::parse_recoverable(text);
        if !errors.is_empty() {
            return Err(errors.iter().take(PROBLEMS + 1).map(|error| syntax(text, error)).collect());
        }
        let mut spots = HashMap::new();
        let value = read_table(table.get_ref(), &Path::default(), &mut spots);
        Ok(Self { text: text.to_owned(), value, spots })
    }

    /// Reports whether the text has neither keys nor comments.
    pub(crate) fn is_empty(&self) -> bool {
        self.text.trim_start_matches('\u{feff}').trim().is_empty()
    }

    /// Returns the offsets of a key that the text contains.
    pub(crate) fn spot(&self, path: &Path) -> Option<Spot> {
        self.spots.get(&path.to_string()).copied()
    }

    /// Returns the position of an offset.
    pub(crate) fn place(&self, offset: usize) -> Place {
        Place::at(&self.text, offset)
    }

    /// Returns the position of a key, or that of the nearest enclosing table that the text contains.
    pub(crate) fn nearest(&self, path: &Path) -> Place {
        let mut path = path.clone();
        loop {
            match (self.spot(&path), path.parent()) {
                (Some(spot), _) => return self.place(spot.key),
                (None, Some(parent)) => path = parent,
                (None, None) => return self.place(0),
            }
        }
    }
}

impl ConfigError {
    /// Returns an error if there are problems. If `text` is given, the positions are found by the
    /// fields.
    ///
    /// # Errors
    /// The problems, if there are any.
    pub fn unless_right(file: &str, text: Option<&str>, mut problems: Vec<Problem>) -> Result<(), Self> {
        problems.truncate(PROBLEMS + 1);
        if let Some(document) = text.and_then(|text| Document::parse(text).ok()) {
            for problem in &mut problems {
                problem.origin = Some(Origin::Place(document.nearest(&Path::parse(&problem.field))));
            }
        }
        Self::sorted(file, problems)
    }
}

fn read_table(table: &DeTable<'_>, path: &Path, spots: &mut HashMap<String, Spot>) -> Value {
    let mut map = Map::new();
    for (key, value) in table {
        let name: &str = key.get_ref();
        let inner = path.key(name);
        map.insert(name.to_owned(), read(value, &inner, key.span().start, spots));
    }
    Value::Object(map)
}

fn read(value: &Spanned<DeValue<'_>>, path: &Path, key: usize, spots: &mut HashMap<String, Spot>) -> Value {
    // The span of a table with a heading is not useful, so that of its key is used.
    let start = value.span().start;
    spots.insert(path.to_string(), Spot { key, value: if start > key { start } else { key } });
    match value.get_ref() {
        DeValue::String(text) => Value::String(text.clone().into_owned()),
        DeValue::Integer(number) => integer(number.as_str(), number.radix()),
        DeValue::Float(number) => {
            let text = number.as_str();
            let parsed = text.parse().ok().and_then(Number::from_f64);
            parsed.map_or_else(|| Value::String(text.to_owned()), Value::Number)
        }
        DeValue::Boolean(value) => Value::Bool(*value),
        // No key takes a date, and no other value is null.
        DeValue::Datetime(_) => Value::Null,
        DeValue::Array(list) => {
            let items = list.iter().enumerate();
            Value::Array(
                items.map(|(at, item)| read(item, &path.index(at), item.span().start, spots)).collect(),
            )
        }
        DeValue::Table(table) => read_table(table, path, spots),
    }
}

/// Converts an integer. One that does not fit is approximate: every key refuses it.
fn integer(digits: &str, radix: u32) -> Value {
    let exact = i64::from_str_radix(digits, radix).map(Number::from);
    let exact = exact.or_else(|_| u64::from_str_radix(digits, radix).map(Number::from));
    #[expect(clippy::cast_precision_loss, reason = "the number is out of range of every key")]
    let rough = || i128::from_str_radix(digits, radix).map_or(f64::MAX, |number| number as f64);
    match exact {
        Ok(number) => Value::Number(number),
        Err(_) => Number::from_f64(rough()).map_or(Value::Null, Value::Number),
    }
}

fn syntax(text: &str, error: &toml::de::Error) -> Problem {
    let message = error.message().replace('\n', ", ");
    let span = error.span().unwrap_or(0..0);
    let origin = Some(Origin::Place(Place::at(text, span.start)));
    if message.starts_with("duplicate key") {
        let field = text.get(span).unwrap_or_default().trim().to_owned();
        let cure = "keep one of the two".to_owned();
        return Problem { origin, field, what: TWICE.to_owned(), cure };
    }
    let cure = "correct it here: strings need quotes, and a table begins with its name in brackets";
    let what = format!("this is not valid TOML: {message}");
    Problem { origin, field: String::new(), what, cure: cure.to_owned() }
}
