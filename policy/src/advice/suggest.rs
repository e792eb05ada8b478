//! Rules that would allow a command next time: one for each part that was not
//! proven, and never one that would allow much more.

use crate::analysis::Found;
use crate::decide::Facts;
use crate::tables;

/// Longest rule that is suggested.
const LONGEST: usize = 200;
const MOST: usize = 5;

pub(super) fn rules(facts: &Facts<'_>) -> Vec<String> {
    if !facts.analysis.complete {
        return Vec::new();
    }
    let mut out: Vec<String> = Vec::new();
    for (found, command) in facts.analysis.commands.iter().zip(&facts.commands) {
        if command.refusal.is_none() || found.safe_launcher {
            continue;
        }
        if let Some(rule) = rule(found).filter(|rule| !out.contains(rule)) {
            out.push(rule);
        }
    }
    out.truncate(MOST);
    out
}

fn rule(found: &Found) -> Option<String> {
    let name = std::str::from_utf8(found.trusted_name()?).ok()?;
    let words: Option<Vec<&str>> = found
        .words
        .iter()
        .map(|word| word.text.as_deref().and_then(|text| std::str::from_utf8(text).ok()))
        .collect();
    let subcommand = found.words.get(1).and_then(|word| word.text.as_deref());
    let plain = |text: &[u8]| text.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'-');
    let runs_scripts = matches!(subcommand, Some(b"run" | b"exec" | b"test" | b"start"));
    if tables::global(name.as_bytes()).is_some() && !runs_scripts {
        let sub = subcommand.filter(|text| !text.starts_with(b"-") && plain(text))?;
        return Some(format!("Bash({name} {}:*)", String::from_utf8_lossy(sub)));
    }
    if crate::profile::builtin::runs_anything(name.as_bytes()) {
        return None;
    }
    let quoted: Vec<String> = words?.into_iter().map(quote).collect();
    let rule = format!("Bash({})", quoted.join(" "));
    (rule.len() <= LONGEST).then_some(rule)
}

/// A word as a rule writes it: a literal `*` is escaped.
fn quote(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    let escaped: String =
        word.chars().flat_map(|c| if matches!(c, '"' | '\\') { vec!['\\', c] } else { vec![c] }).collect();
    format!("\"{escaped}\"")
}
