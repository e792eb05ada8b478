//! Compares a text with its schema and collects all differences. It stops early only if the text is not
//! TOML.

use std::{ops::Range, time::Duration};

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use crate::{
    place::Place,
    problem::{PROBLEMS, Problem},
    schema::{Field, Kind, names},
};

/// The longest part of a value in an error, in characters.
const SHOWN: usize = 40;

pub(crate) fn problems(text: &str, schema: &'static [Field]) -> Vec<Problem> {
    let mut walk = Walk { text, schema, problems: Vec::new(), more: false };
    if text.trim_start_matches('\u{feff}').trim().is_empty() {
        let what = "the file is empty".to_owned();
        walk.add(0, "", what, format!("it must contain {}", names(&needed(schema))));
        return walk.problems;
    }
    let (table, errors) = DeTable::parse_recoverable(text);
    for error in errors {
        walk.syntax(&error);
    }
    if walk.problems.is_empty() {
        walk.table("", table.get_ref(), schema, 0);
    }
    walk.problems.sort_by_key(|problem| problem.place);
    // A consequence of an error on the same line is not helpful.
    walk.problems.dedup_by(|later, first| {
        later.field.is_empty() && first.place.map(|at| at.line) == later.place.map(|at| at.line)
    });
    if walk.more {
        walk.problems.push(Problem::more());
    }
    walk.problems
}

fn needed(schema: &[Field]) -> Vec<Field> {
    schema.iter().filter(|field| field.required).copied().collect()
}

struct Walk<'a> {
    text: &'a str,
    schema: &'static [Field],
    problems: Vec<Problem>,
    /// Whether there are more problems than are reported.
    more: bool,
}

impl Walk<'_> {
    fn add(&mut self, offset: usize, field: &str, what: String, cure: String) {
        if self.problems.len() >= PROBLEMS {
            self.more = true;
            return;
        }
        let place = Some(Place::at(self.text, offset));
        self.problems.push(Problem { place, field: field.to_owned(), what, cure });
    }

    fn syntax(&mut self, error: &toml::de::Error) {
        let message = error.message().replace('\n', ", ");
        let span = error.span().unwrap_or(0..0);
        if message.starts_with("duplicate key") {
            let key = self.text.get(span.clone()).unwrap_or_default().trim().to_owned();
            let listed =
                |field: &&Field| field.name == key && matches!(field.kind, Kind::List(Kind::Table(_)));
            let list = self.schema.iter().find(listed);
            let cure = list.map_or_else(|| "keep one of the two".to_owned(), |list| list.kind.cure());
            self.add(span.start, &key, "it is set twice".to_owned(), cure);
            return;
        }
        let cure = "correct it here: strings need quotes, and a table begins with its name in brackets";
        self.add(span.start, "", format!("this is not valid TOML: {message}"), cure.to_owned());
    }

    fn table(&mut self, path: &str, table: &DeTable<'_>, fields: &'static [Field], at: usize) {
        for (key, value) in table {
            let name: &str = key.get_ref();
            let inner = join(path, name);
            match fields.iter().find(|field| field.name == name) {
                Some(field) => self.value(&inner, value, &field.kind, key.span().start),
                None => self.unknown(&inner, name, fields, key.span().start),
            }
        }
        for field in fields.iter().filter(|field| field.required) {
            if !table.keys().any(|key| key.get_ref() == field.name) {
                let cure = format!("add it; {}", field.kind.cure());
                self.add(at, &join(path, field.name), "it is missing".to_owned(), cure);
            }
        }
    }

    fn unknown(&mut self, path: &str, name: &str, fields: &'static [Field], at: usize) {
        let near = nearest(name, fields.iter().map(|field| field.name));
        let elsewhere = || home(self.schema, "", name);
        let cure = match (near, elsewhere()) {
            (Some(near), _) => format!("did you mean `{near}`?"),
            (None, Some(home)) => format!("did you mean `{home}`?"),
            (None, None) => format!("write one of {}, or remove it", names(fields)),
        };
        self.add(at, path, "there is no such key".to_owned(), cure);
    }

    fn value(&mut self, path: &str, value: &Spanned<DeValue<'_>>, kind: &'static Kind, key: usize) {
        let span = value.span();
        match (kind, value.get_ref()) {
            (Kind::Table(fields), DeValue::Table(table)) => self.table(path, table, fields, key),
            (Kind::Map(inner), DeValue::Table(table)) => {
                for (name, value) in table {
                    self.value(&join(path, name.get_ref()), value, inner, name.span().start);
                }
            }
            (Kind::List(inner), DeValue::Array(list)) => {
                for (index, item) in list.iter().enumerate() {
                    self.value(&format!("{path}[{index}]"), item, inner, item.span().start);
                }
            }
            (Kind::Choice { words, fields }, value) => self.choice(path, value, (words, fields), kind, key),
            (kind, value) => {
                if let Some(what) = unfit(kind, value) {
                    self.add(start(&span, key), path, what, cure(kind, value));
                }
            }
        }
    }

    fn choice(
        &mut self,
        path: &str,
        value: &DeValue<'_>,
        (words, fields): (&'static [&'static str], &'static [Field]),
        kind: &Kind,
        key: usize,
    ) {
        match value {
            DeValue::Table(table) => {
                self.table(path, table, fields, key);
                if table.len() != 1 {
                    let what = format!("{} alternatives are given", table.len());
                    self.add(key, path, what, format!("give exactly one of {}", names(fields)));
                }
            }
            DeValue::String(text) if words.contains(&text.as_ref()) => {}
            DeValue::String(text) => {
                let near = nearest(text, words.iter().copied());
                let cure = near.map_or_else(|| kind.cure(), |near| format!("did you mean \"{near}\"?"));
                self.add(key, path, "this value is not one of the allowed values".to_owned(), cure);
            }
            other => self.add(key, path, format!("it is {}", found(other)), kind.cure()),
        }
    }
}

/// Returns the position of a value. The span of a table with a heading is not useful, so that of its
/// key is used.
fn start(span: &Range<usize>, key: usize) -> usize {
    if span.start > key { span.start } else { key }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// Returns the most similar known name.
fn nearest(name: &str, known: impl Iterator<Item = &'static str>) -> Option<&'static str> {
    let name = name.to_ascii_lowercase().replace('-', "_");
    known
        .map(|known| (strsim::damerau_levenshtein(&name, known), known))
        .filter(|(distance, known)| *distance <= 1 + known.len() / 4 && *distance < known.len())
        .min()
        .map(|(_, known)| known)
}

/// Returns the path of the only key in the schema with this name.
fn home(fields: &[Field], path: &str, name: &str) -> Option<String> {
    fields.iter().find_map(|field| {
        let inner = join(path, field.name);
        match field.kind {
            _ if field.name == name => Some(inner),
            Kind::Table(fields) => home(fields, &inner, name),
            _ => None,
        }
    })
}

/// Returns the reason why a value does not match, if it does not.
fn unfit(kind: &Kind, value: &DeValue<'_>) -> Option<String> {
    let fits = match (kind, value) {
        (Kind::Text, DeValue::String(_)) | (Kind::Bool, DeValue::Boolean(_)) => true,
        (Kind::Number { least, most }, DeValue::Integer(number)) => {
            let number = i128::from_str_radix(number.as_str(), number.radix()).unwrap_or(i128::MAX);
            (i128::from(*least)..=i128::from(*most)).contains(&number)
        }
        (Kind::Fraction { least, most }, DeValue::Float(number)) => {
            number.as_str().parse().is_ok_and(|number| (*least..=*most).contains(&number))
        }
        (Kind::Fraction { least, most }, DeValue::Integer(number)) => {
            number.as_str().parse().is_ok_and(|number| (*least..=*most).contains(&number))
        }
        (Kind::Time { least, most }, DeValue::String(text)) => {
            humantime::parse_duration(text).is_ok_and(|time: Duration| (*least..=*most).contains(&time))
        }
        (Kind::OneOf(words), DeValue::String(text)) => words.contains(&text.as_ref()),
        (Kind::Form(form), DeValue::String(text)) => (form.holds)(text),
        _ => false,
    };
    (!fits).then(|| format!("it is {}", found(value)))
}

fn cure(kind: &Kind, value: &DeValue<'_>) -> String {
    let near = match (kind, value) {
        (Kind::OneOf(words), DeValue::String(text)) => nearest(text, words.iter().copied()),
        _ => None,
    };
    near.map_or_else(|| kind.cure(), |near| format!("did you mean \"{near}\"?"))
}

/// Describes a value.
fn found(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => format!("the text `{}`", shortened(text).escape_debug()),
        DeValue::Integer(number) => format!("the whole number {}", shortened(number.as_str())),
        DeValue::Float(number) => format!("the number {}", shortened(number.as_str())),
        DeValue::Boolean(value) => value.to_string(),
        DeValue::Datetime(_) => "a date or time of day".to_owned(),
        DeValue::Array(_) => "a list".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
    }
}

fn shortened(text: &str) -> String {
    let mut shown: String = text.chars().take(SHOWN).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}
