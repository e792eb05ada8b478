//! Compares the parser with facts about PowerShell: for each text, the commands that PowerShell's own parser finds. It
//! prints the share of complete texts by set and by construct, and each difference. The exit code is 0 if the bounds
//! hold, 1 if they do not, and 2 if there are no facts.
//!
//! Run it with `make powershell FACTS=DIRECTORY`.

#![expect(clippy::indexing_slicing, reason = "a missing key of JSON is null, and offsets come from the text")]

mod compare;
mod report;

use std::path::Path;
use std::process::ExitCode;

use report::Report;
use serde_json::Value as Json;

/// The files of texts, each with the file of their facts, and the least share of valid texts that must be complete.
const SETS: [(&str, &str, f64); 3] = [
    ("texts.jsonl", "parse.jsonl", 0.98),
    ("probes.jsonl", "probes_parse.jsonl", 0.95),
    ("everyday.jsonl", "everyday_parse.jsonl", 0.98),
];

fn main() -> ExitCode {
    let Some(directory) = std::env::args().nth(1) else {
        eprintln!("facts: name a directory of facts, as in: make powershell FACTS=DIR");
        return ExitCode::from(2);
    };
    let mut holds = true;
    for (texts, facts, least) in SETS {
        match measure(Path::new(&directory), texts, facts) {
            Ok(report) => {
                println!("{texts}\n{report}");
                holds &= report.holds(least);
            }
            Err(error) => {
                eprintln!("facts: {error}");
                return ExitCode::from(2);
            }
        }
    }
    if holds { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn measure(directory: &Path, texts: &str, facts: &str) -> Result<Report, String> {
    let mut report = Report::default();
    let facts = rows(&directory.join(facts))?;
    let by_id: std::collections::HashMap<&str, &Json> =
        facts.iter().filter_map(|row| Some((row["id"].as_str()?, row))).collect();
    for row in rows(&directory.join(texts))? {
        let (Some(id), Some(text)) = (row["id"].as_str(), row["text"].as_str()) else {
            return Err(format!("{}: a row has no id or text", directory.join(texts).display()));
        };
        let Some(facts) = by_id.get(id) else {
            return Err(format!("the text `{id}` has no facts"));
        };
        report.add(id, text, facts);
    }
    Ok(report)
}

fn rows(path: &Path) -> Result<Vec<Json>, String> {
    let shown = path.display();
    let text = std::fs::read_to_string(path).map_err(|error| format!("the file `{shown}`: {error}"))?;
    let parse =
        |line: &str| serde_json::from_str(line).map_err(|error| format!("the file `{shown}`: {error}"));
    text.lines().map(parse).collect()
}
