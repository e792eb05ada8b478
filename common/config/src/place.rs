//! The position of a field in a text.

use toml::de::{DeTable, DeValue};

/// A position in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
}

impl Place {
    /// Returns the position of a byte.
    #[must_use]
    pub fn at(text: &str, offset: usize) -> Self {
        let mut offset = offset.min(text.len());
        while !text.is_char_boundary(offset) {
            offset -= 1;
        }
        let (before, _) = text.split_at(offset);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        Self {
            line: before.bytes().filter(|byte| *byte == b'\n').count() + 1,
            column: before.get(line_start..).unwrap_or_default().chars().count() + 1,
        }
    }
}

/// Returns the position of `field`, a path such as `limits.queue` or `identity[1].match`, in `text`,
/// which was parsed as `table`. If the field is missing, returns the position of the nearest enclosing
/// table.
pub(crate) fn place_in(table: &DeTable<'_>, text: &str, field: &str) -> Place {
    let mut offset = 0;
    let mut value: Option<&DeValue<'_>> = None;
    for step in steps(field) {
        let found = match (step, value) {
            (Step::Key(key), None) => entry(table, key),
            (Step::Key(key), Some(DeValue::Table(inner))) => entry(inner, key),
            (Step::Index(index), Some(DeValue::Array(list))) => {
                list.get(index).map(|item| (item.span().start, item.get_ref()))
            }
            _ => None,
        };
        let Some((start, next)) = found else { break };
        offset = start;
        value = Some(next);
    }
    Place::at(text, offset)
}

enum Step<'a> {
    Key(&'a str),
    Index(usize),
}

/// Splits a path: `a.b[2].c` into `a`, `b`, 2, `c`.
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
