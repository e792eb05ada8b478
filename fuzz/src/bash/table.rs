//! The table in `docs/constructs.md`: for each construct that is never allowed, the step that stops it.

use std::collections::BTreeMap;

use super::tally::Tally;

/// A row of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Whether any command of the construct had a complete parse.
    pub complete: bool,
    /// The step that stops most of its commands.
    pub step: u8,
    /// The code of the reason.
    pub code: String,
}

/// Returns the constructs without an allowed command, by name.
#[must_use]
pub fn never_allowed(tallies: &[Tally]) -> BTreeMap<String, Row> {
    tallies
        .iter()
        .filter(|tally| tally.allowed == 0)
        .map(|tally| {
            let stop = tally.main_stop();
            let row = Row {
                complete: tally.complete > 0,
                step: stop.map_or(0, |stop| stop.step),
                code: stop.map_or("none", |stop| stop.code).to_owned(),
            };
            (tally.name.to_owned(), row)
        })
        .collect()
}

/// Returns the constructs that only the document or only the run lists.
#[must_use]
pub fn differing(document: &str, tallies: &[Tally]) -> Vec<String> {
    let (said, seen) = (documented(document), never_allowed(tallies));
    let only = |a: &BTreeMap<String, Row>, b: &BTreeMap<String, Row>| -> Vec<String> {
        a.keys().filter(|name| !b.contains_key(*name)).cloned().collect()
    };
    [only(&said, &seen), only(&seen, &said)].concat()
}

/// Returns the document with its table rows replaced by `rows`.
#[must_use]
pub fn with_table(text: &str, rows: &BTreeMap<String, Row>) -> String {
    let lines: Vec<String> = rows
        .iter()
        .map(|(name, row)| {
            let complete = if row.complete { "yes" } else { "no" };
            format!("| `{name}` | {complete} | {} | `{}` |\n", row.step, row.code)
        })
        .collect();
    let is_row = |line: &str| line.starts_with("| `");
    let before: String = text.split_inclusive('\n').take_while(|line| !is_row(line)).collect();
    let behind: String =
        text.split_inclusive('\n').skip_while(|line| !is_row(line)).skip_while(|line| is_row(line)).collect();
    format!("{before}{}{behind}", lines.concat())
}

/// Parses the table in a document: the rows that start with a cell in backticks.
#[must_use]
pub fn documented(text: &str) -> BTreeMap<String, Row> {
    let cell = |text: &str| text.trim().trim_matches('`').to_owned();
    text.lines()
        .filter(|line| line.starts_with("| `"))
        .filter_map(|line| {
            let cells: Vec<String> = line.trim_matches('|').split('|').map(cell).collect();
            let [name, complete, step, code, ..] = cells.as_slice() else {
                return None;
            };
            let row = Row { complete: complete == "yes", step: step.parse().ok()?, code: code.clone() };
            Some((name.clone(), row))
        })
        .collect()
}
