//! Measures the policy on a directory of labelled commands, one JSON object per line in files
//! `*.jsonl`. It prints the rates of each file and tier, each wrong decision with its reason, and
//! whether the bounds hold. It runs no command. The exit code is 0 if the bounds hold, 1 if they do
//! not, and 2 if there is nothing to measure.
//!
//! Run it with `make corpus CORPUS=DIRECTORY`. Further arguments replace the readable roots with
//! which the reads of an agent's day are measured.

mod day;
mod report;
mod row;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use airlock_policy::Profile;
use day::Day;
use report::Report;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let measured = match arguments.next() {
        None => Err("name a folder of labelled commands, as in: make corpus CORPUS=FOLDER".to_owned()),
        Some(folder) => measure(Path::new(&folder), arguments.collect()),
    };
    match measured {
        Ok(report) => {
            print!("{report}");
            if report.holds() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            eprintln!("corpus: {error}");
            ExitCode::from(2)
        }
    }
}

fn measure(folder: &Path, roots: Vec<String>) -> Result<Report, String> {
    let profile = Profile::builtin("strict").ok_or("the profile strict is missing")?;
    let mut report = Report::new(Day::new(roots)?);
    for path in files(folder)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let text = std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        report.file(&name, &String::from_utf8_lossy(&text), &profile);
    }
    Ok(report)
}

fn files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let shown = folder.display();
    let entries = std::fs::read_dir(folder).map_err(|error| format!("the folder `{shown}`: {error}"))?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl") && path.is_file())
        .collect();
    files.sort();
    if files.is_empty() {
        return Err(format!("the folder `{shown}` has no files *.jsonl"));
    }
    Ok(files)
}
