//! At which step of the policy a command stops, as seen from outside, and the table
//! of `docs/constructs.md` that says so of each construct that cannot come through.

use std::collections::BTreeMap;

use super::tally::Tally;

/// Where a command stops, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stop {
    /// The step of the pipeline.
    pub step: u8,
    /// The code of the deciding reason.
    pub code: &'static str,
}

/// The step is told by what still passes: the mode `bypass` skips all behind step 5,
/// and what is allowed for being sandboxed has passed all before step 12.
#[must_use]
pub fn stop(code: &'static str, bypassed: bool, sandboxed: bool) -> Stop {
    let step = match code {
        _ if !bypassed => 4,
        _ if sandboxed => 13,
        "path_outside" | "protected_path" => 8,
        _ => 7,
    };
    Stop { step, code }
}

/// One row of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Whether any command of the construct had a complete parse.
    pub complete: bool,
    /// What stops most of them.
    pub step: u8,
    /// Its code.
    pub code: String,
}

/// The constructs of which no command was allowed, by name.
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

/// The constructs about which the document and the run are not of one mind.
#[must_use]
pub fn differing(document: &str, tallies: &[Tally]) -> Vec<String> {
    let (said, seen) = (documented(document), never_allowed(tallies));
    let only = |a: &BTreeMap<String, Row>, b: &BTreeMap<String, Row>| -> Vec<String> {
        a.keys().filter(|name| !b.contains_key(*name)).cloned().collect()
    };
    [only(&said, &seen), only(&seen, &said)].concat()
}

/// The document with these rows in its table's place.
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

/// The table in the text of a document: the rows whose first cell is in backticks.
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
