//! Measures the policy on a folder of labelled commands: one JSON object a line,
//! `cmd` the text. Prints the rates of each file and every row that came out wrong.
//!
//! `cargo run --example corpus -- FOLDER`

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use airlock_policy::{Decision, Profile, Request, Rules, Shell, Verdict, decide};
use serde::Deserialize;

#[derive(Deserialize)]
struct Row {
    cmd: String,
    #[serde(default)]
    tier: String,
    #[serde(default)]
    debatable: bool,
    cwd: Option<String>,
    shell: Option<Shell>,
    expect: Option<String>,
    rules: Option<RowRules>,
    expect_with_rules: Option<String>,
}

#[derive(Deserialize)]
struct RowRules {
    #[serde(default)]
    allow: Vec<String>,
    #[serde(default)]
    ask: Vec<String>,
    #[serde(default)]
    deny: Vec<String>,
}

/// What a row must come out as.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Allow,
    NotAllow,
    Anything,
}

fn main() -> ExitCode {
    let Some(folder) = std::env::args().nth(1) else {
        eprintln!("name a folder with .jsonl files");
        return ExitCode::from(2);
    };
    match run(Path::new(&folder)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(folder: &Path) -> Result<(), String> {
    let profile = Profile::builtin("strict").ok_or("the profile strict is missing")?;
    let entries = std::fs::read_dir(folder).map_err(|error| error.to_string())?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .collect();
    files.sort();
    for file in files {
        measure(&file, &profile)?;
    }
    Ok(())
}

fn wanted(name: &str, row: &Row) -> Wanted {
    if row.debatable {
        return Wanted::Anything;
    }
    match row.expect.as_deref() {
        Some("not-auto-allowed") => return Wanted::NotAllow,
        Some(_) => return Wanted::Anything,
        None => {}
    }
    if name.contains("outside") {
        Wanted::Anything
    } else if name.contains("must_not") || name.contains("trap") {
        Wanted::NotAllow
    } else {
        Wanted::Allow
    }
}

fn measure(file: &Path, profile: &Profile) -> Result<(), String> {
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let text = std::fs::read_to_string(file).map_err(|error| error.to_string())?;
    let mut tiers: std::collections::BTreeMap<String, [usize; 4]> = Default::default();
    let mut misses = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let row: Row = serde_json::from_str(line).map_err(|error| format!("{name}: {error}"))?;
        let plain = answer(&row, profile, None)?;
        let tally = tiers.entry(row.tier.clone()).or_default();
        let slot = match plain.verdict {
            Verdict::Allow => &mut tally[0],
            Verdict::Ask => &mut tally[1],
            Verdict::Deny => &mut tally[2],
        };
        *slot += 1;
        let wrong = match wanted(&name, &row) {
            Wanted::Allow => plain.verdict != Verdict::Allow,
            Wanted::NotAllow => plain.verdict == Verdict::Allow,
            Wanted::Anything => false,
        };
        if wrong {
            tally[3] += 1;
            misses.push(miss(&row, &plain));
        }
        if let Some(rules) = &row.rules {
            let ruled = answer(&row, profile, Some(rules))?;
            let right = match row.expect_with_rules.as_deref() {
                Some("deny") => ruled.verdict == Verdict::Deny,
                Some(_) => ruled.verdict != Verdict::Allow,
                None => row.expect.as_deref() != Some("not-auto-allowed") || ruled.verdict != Verdict::Allow,
            };
            if !right {
                tally[3] += 1;
                misses.push(format!("with rules {}", miss(&row, &ruled)));
            }
        }
    }
    println!("\n{name}");
    for (tier, [allow, ask, deny, wrong]) in &tiers {
        let total = allow + ask + deny;
        println!("  {tier:<10} {total:>4} rows: {allow} allow, {ask} ask, {deny} deny, {wrong} wrong");
    }
    misses.iter().for_each(|miss| println!("    {miss}"));
    Ok(())
}

fn answer(row: &Row, profile: &Profile, rules: Option<&RowRules>) -> Result<Decision, String> {
    let rules = rules
        .map(|rules| Rules::parse(&rules.allow, &rules.ask, &rules.deny))
        .transpose()
        .map_err(|error| error.to_string())?;
    let request = Request {
        shell: row.shell.unwrap_or(Shell::Bash),
        cwd: row.cwd.as_deref(),
        extra_rules: rules.as_ref(),
        ..Request::bash(row.cmd.as_bytes())
    };
    Ok(decide(&request, profile))
}

fn miss(row: &Row, decision: &Decision) -> String {
    let reason = decision.reasons.first();
    let code = reason.map_or("none", |reason| reason.code);
    let message = reason.map_or("", |reason| reason.message.as_str());
    format!("{:?} {:?}: {code}, {message}", decision.verdict, row.cmd)
}
