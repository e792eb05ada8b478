//! Finds the line of a field in the text of a configuration. Nothing here decides what is right.

use toml::de::{DeTable, DeValue};

use super::Problem;

/// The line (from 1) where `field`, a path such as `limits.queue` or `identity[1].match`, is written;
/// where it is not written, that of the nearest table around it.
pub(super) fn line_of(text: &str, field: &str) -> Option<usize> {
    let table = DeTable::parse(text).ok()?;
    let mut offset = None;
    let mut value: Option<&DeValue<'_>> = None;
    for step in steps(field) {
        let found = match (step, value) {
            (Step::Key(key), None) => entry(table.get_ref(), key),
            (Step::Key(key), Some(DeValue::Table(inner))) => entry(inner, key),
            (Step::Index(index), Some(DeValue::Array(list))) => {
                list.get(index).map(|item| (item.span().start, item.get_ref()))
            }
            _ => None,
        };
        let Some((start, next)) = found else { break };
        offset = Some(start);
        value = Some(next);
    }
    Some(line_at(text, offset.unwrap_or(0)))
}

/// What the parser refused, with the field where it did.
pub(super) fn parse_problem(text: &str, error: &toml::de::Error) -> Problem {
    let offset = error.span().map(|span| span.start);
    let message = error.message().lines().next().unwrap_or("it cannot be read").to_owned();
    let field = offset.map(|offset| field_at(text, offset)).unwrap_or_default();
    Problem {
        line: offset.map(|offset| line_at(text, offset)),
        field: if field.is_empty() { "file".to_owned() } else { field },
        what: message,
        cure: "see deploy/server.toml for every field and its form".to_owned(),
    }
}

enum Step<'a> {
    Key(&'a str),
    Index(usize),
}

/// `a.b[2].c` as `a`, `b`, 2, `c`.
fn steps(field: &str) -> impl Iterator<Item = Step<'_>> {
    field
        .split(['.', '[', ']'])
        .filter(|part| !part.is_empty())
        .map(|part| part.parse().map_or(Step::Key(part), Step::Index))
}

fn entry<'a, 'i>(table: &'a DeTable<'i>, key: &str) -> Option<(usize, &'a DeValue<'i>)> {
    table
        .iter()
        .find(|(name, _)| name.get_ref() == key)
        .map(|(name, value)| (name.span().start, value.get_ref()))
}

/// The path of the innermost field whose key or value is at `offset`.
fn field_at(text: &str, offset: usize) -> String {
    let mut path = String::new();
    if let Ok(table) = DeTable::parse(text) {
        descend(table.get_ref(), offset, &mut path);
    }
    path
}

fn descend(table: &DeTable<'_>, offset: usize, path: &mut String) {
    // Tables written under headings have only the heading as their span, so the inside is asked too.
    for (name, value) in table.iter() {
        let length = path.len();
        if !path.is_empty() {
            path.push('.');
        }
        path.push_str(name.get_ref());
        let inside = path.len();
        visit(value.get_ref(), offset, path);
        if path.len() > inside || name.span().contains(&offset) || value.span().contains(&offset) {
            return;
        }
        path.truncate(length);
    }
}

fn visit(value: &DeValue<'_>, offset: usize, path: &mut String) {
    match value {
        DeValue::Table(inner) => descend(inner, offset, path),
        DeValue::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                let before = path.len();
                path.push_str(&format!("[{index}]"));
                let inside = path.len();
                visit(item.get_ref(), offset, path);
                if path.len() > inside || item.span().contains(&offset) {
                    return;
                }
                path.truncate(before);
            }
        }
        _ => {}
    }
}

fn line_at(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
}
