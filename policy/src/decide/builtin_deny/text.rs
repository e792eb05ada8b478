//! The search in a PowerShell text that is not understood. It looks for the words of the built-in deny rules.

use super::place::pattern_matches;
use crate::decision::Reason;
use crate::profile::Profile;
use crate::rules::raw::Unquoted;
use crate::tables::{self, BuiltinDeny, names};

/// Programs whose names occur in a text for no other reason.
const PROGRAMS: &[&str] = &["sudo", "doas", "pkexec", "schtasks", "crontab", "runas"];
/// Names of a deletion, and words that name what cannot be recovered.
const DELETIONS: &[&str] = &["remove-item", "ri", "rm", "del", "erase", "rd", "rmdir"];
const LOST: &[&str] =
    &["/", "~", "*", ".", "./", "..", "../", ".git", "./.git", "$pwd", "$home", "/*", "./*", "~/*"];

/// Returns the reason if the text has the words of a rule.
pub(super) fn denied(profile: &Profile, text: &[u8]) -> Option<Reason> {
    let unquoted = Unquoted::of_powershell(text).into_text();
    let lower = String::from_utf8_lossy(&unquoted).to_lowercase();
    let is_end = |char: char| char.is_whitespace() || "(){};|&,=\"'[]".contains(char);
    let words: Vec<&str> = lower.split(is_end).filter(|word| !word.is_empty()).collect();
    let rule = rule(profile, &words)?;
    let message = "a built-in rule denies it: the text is not understood, and has the words of a command that is denied";
    Some(Reason::new(rule.code(), message, None))
}

fn rule(profile: &Profile, words: &[&str]) -> Option<BuiltinDeny> {
    let applies = |rule: &BuiltinDeny| profile.applies(*rule);
    let has = |wanted: &dyn Fn(&str) -> bool| words.iter().any(|word| wanted(word));
    let downloads = has(&is_download) && has(&is_execution);
    if let Some(rule) = downloads.then_some(BuiltinDeny::DownloadAndExecute).filter(applies) {
        return Some(rule);
    }
    let deletes = has(&|word| DELETIONS.contains(&word))
        && has(&|word| word.starts_with("-r"))
        && has(&|word| LOST.contains(&word.replace('\\', "/").as_str()));
    if let Some(rule) = deletes.then_some(BuiltinDeny::IrreversibleDestruction).filter(applies) {
        return Some(rule);
    }
    let is_told = |name: &str| name.contains('-') || PROGRAMS.contains(&name);
    let resolved = |word: &str| tables::cmdlets::alias(word).map(str::to_lowercase);
    let named = tables::denied_names().filter(|name| {
        is_told(name) && has(&|word| word == *name || resolved(word).as_deref() == Some(*name))
    });
    let mut entries = named.flat_map(tables::denied_commands).filter(|entry| !entry.lost);
    let entry = entries.find(|entry| {
        let matches = |word: &str| {
            entry.values.iter().any(|pattern| pattern_matches(pattern, &word.replace('\\', "/")))
        };
        let given = |word: &str| {
            let name = word.strip_prefix('-').filter(|name| !name.is_empty());
            let starts = |full: &&str| name.is_some_and(|name| full.to_lowercase().starts_with(name));
            entry.parameters.iter().any(starts)
        };
        applies(&entry.rule)
            && (entry.values.is_empty() || has(&matches))
            && (entry.parameters.is_empty() || has(&given))
    });
    entry.map(|entry| entry.rule)
}

fn is_download(word: &str) -> bool {
    let resolved = tables::cmdlets::alias(word).map(str::to_lowercase);
    let method = word.rsplit('.').next().unwrap_or_default();
    let of_type = word.strip_prefix("system.").unwrap_or(word);
    names::downloads(word)
        || resolved.is_some_and(|name| names::downloads(&name))
        || names::is_download_type(of_type)
        || (word.contains('.') && names::is_download_method(method))
}

fn is_execution(word: &str) -> bool {
    let resolved = tables::cmdlets::alias(word).map(str::to_lowercase);
    names::executes(word)
        || resolved.is_some_and(|name| names::executes(&name))
        || word.ends_with("scriptblock")
        || word.ends_with(".invokescript")
        || matches!(word, "bash" | "sh" | "pwsh" | "powershell")
}
