//! Compares the policy with facts about PowerShell: the cmdlet and the parameters to which each argument is bound, and
//! the changes that texts make when they run. It prints the shares and each difference. The exit code is 0 if no text
//! that changes something is read-only, enough of the texts that are labelled read-only are, and the parameters agree;
//! otherwise 1, or 2 if there are no facts.
//!
//! Run it with `make powershell FACTS=DIRECTORY`.

mod bindings;
mod changes;
mod decided;
mod labels;

use std::collections::HashMap;
use std::path::Path;
use std::process::ExitCode;

use airlock_policy::Profile;
use serde_json::Value as Json;

fn main() -> ExitCode {
    let Some(directory) = std::env::args().nth(1) else {
        eprintln!("powershell: name a directory of facts, as in: make powershell FACTS=DIR");
        return ExitCode::from(2);
    };
    match measure(Path::new(&directory)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("powershell: {error}");
            ExitCode::from(2)
        }
    }
}

fn measure(directory: &Path) -> Result<bool, String> {
    let profile = Profile::builtin("strict").ok_or("the profile strict is missing")?;
    let mut texts = HashMap::new();
    for file in ["texts.jsonl", "probes.jsonl", "everyday.jsonl"] {
        texts.extend(rows(&directory.join(file))?.into_iter().filter_map(|row| {
            Some((row.get("id")?.as_str()?.to_owned(), row.get("text")?.as_str()?.to_owned()))
        }));
    }
    let mut holds = bindings::measure(&rows(&directory.join("bindings.jsonl"))?, &texts, &profile);
    for file in ["effects.jsonl", "everyday_effects.jsonl"] {
        let found = changes::measure(&rows(&directory.join(file))?, &texts, &profile);
        println!("{file}\n{found}");
        holds &= found.holds();
    }
    let cases = changes::cases(&rows(&directory.join("behaviour.jsonl"))?, &profile);
    println!("behaviour.jsonl\n{cases}");
    holds &= labels::measure(&texts, &profile)?;
    Ok(holds && cases.holds())
}

fn rows(path: &Path) -> Result<Vec<Json>, String> {
    let shown = path.display();
    let text = std::fs::read_to_string(path).map_err(|error| format!("the file `{shown}`: {error}"))?;
    let parse =
        |line: &str| serde_json::from_str(line).map_err(|error| format!("the file `{shown}`: {error}"));
    text.lines().map(parse).collect()
}
