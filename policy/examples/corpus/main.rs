//! Measures the policy on a directory of labelled commands, one JSON object per line in files `*.jsonl`. It prints the
//! rates of each file and tier, each wrong decision with its reason, and whether the bounds hold. It runs no command.
//! The exit code is 0 if the bounds hold, 1 if they do not, and 2 if there are no commands.
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
        None => Err("name a directory of labelled commands, as in: make corpus CORPUS=DIRECTORY".to_owned()),
        Some(directory) => measure(Path::new(&directory), arguments.collect()),
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

fn measure(directory: &Path, roots: Vec<String>) -> Result<Report, String> {
    let profile = Profile::builtin("strict").ok_or("the profile strict is missing")?;
    let mut report = Report::new(Day::new(roots)?);
    for path in files(directory)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let text = std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        report.file(&name, &String::from_utf8_lossy(&text), &profile);
    }
    Ok(report)
}

fn files(directory: &Path) -> Result<Vec<PathBuf>, String> {
    let shown = directory.display();
    let entries =
        std::fs::read_dir(directory).map_err(|error| format!("the directory `{shown}`: {error}"))?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl") && path.is_file())
        .collect();
    files.sort();
    if files.is_empty() {
        return Err(format!("the directory `{shown}` has no files *.jsonl"));
    }
    Ok(files)
}
