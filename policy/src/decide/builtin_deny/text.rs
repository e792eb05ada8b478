//! The search in a PowerShell text that is not understood. It looks for the words of the built-in deny rules.

use std::collections::HashSet;

use super::place::pattern_matches;
use crate::decision::Reason;
use crate::powershell::folded;
use crate::profile::Profile;
use crate::rules::raw::Unquoted;
use crate::tables::{self, BuiltinDeny, names};

/// The largest number of different words that are compared with patterns.
const MOST: usize = 8_000;
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
    let words = Words::new(lower.split(is_end).filter(|word| !word.is_empty()));
    let rule = rule(profile, &words)?;
    let message = "a built-in rule denies it: the text is not understood, and has the words of a command that is denied";
    Some(Reason::new(rule.code(), message, None))
}

/// The words of a text, each once.
struct Words<'t> {
    all: HashSet<&'t str>,
    /// The cmdlets that the words are aliases of, in lower case.
    resolved: HashSet<String>,
}

impl<'t> Words<'t> {
    fn new(words: impl Iterator<Item = &'t str>) -> Self {
        let all: HashSet<&str> = words.collect();
        let aliases = all.iter().filter_map(|word| tables::cmdlets::alias(word));
        let resolved = aliases.map(str::to_lowercase).collect();
        Self { all, resolved }
    }

    fn names(&self, command: &str) -> bool {
        self.all.contains(command) || self.resolved.contains(command)
    }

    /// Reports whether a word satisfies `test`. If there are too many words, one may.
    fn any(&self, test: impl Fn(&str) -> bool) -> bool {
        self.all.len() > MOST || self.all.iter().any(|word| test(word))
    }
}

fn rule(profile: &Profile, words: &Words<'_>) -> Option<BuiltinDeny> {
    let applies = |rule: &BuiltinDeny| profile.applies(*rule);
    let known = || words.all.iter().copied().chain(words.resolved.iter().map(String::as_str));
    let downloads = known().any(is_download) && known().any(is_execution);
    if let Some(rule) = downloads.then_some(BuiltinDeny::DownloadAndExecute).filter(applies) {
        return Some(rule);
    }
    let deletes = DELETIONS.iter().any(|name| words.names(name))
        && words.any(|word| word.starts_with("-r"))
        && words.any(|word| LOST.contains(&word.replace('\\', "/").as_str()));
    if let Some(rule) = deletes.then_some(BuiltinDeny::IrreversibleDestruction).filter(applies) {
        return Some(rule);
    }
    let is_told = |name: &str| name.contains('-') || PROGRAMS.contains(&name);
    let named = tables::denied_names().filter(|name| is_told(name) && words.names(name));
    let mut entries = named.flat_map(tables::denied_commands).filter(|entry| !entry.lost);
    let entry = entries.find(|entry| {
        let matches = |word: &str| {
            let word = word.replace('\\', "/");
            entry.values.iter().any(|pattern| pattern_matches(pattern, &word))
        };
        let given = |word: &str| {
            let name = word.strip_prefix('-').filter(|name| !name.is_empty());
            let starts = |full: &&str| name.is_some_and(|name| full.to_lowercase().starts_with(name));
            entry.parameters.iter().any(starts)
        };
        applies(&entry.rule)
            && (entry.values.is_empty() || words.any(matches))
            && (entry.parameters.is_empty() || words.any(given))
    });
    entry.map(|entry| entry.rule)
}

fn is_download(word: &str) -> bool {
    let method = word.rsplit('.').next().unwrap_or_default();
    names::downloads(word)
        || names::is_download_type(&folded(word))
        || (word.contains('.') && names::is_download_method(method))
}

fn is_execution(word: &str) -> bool {
    names::executes(word)
        || word.ends_with("scriptblock")
        || word.ends_with(".invokescript")
        || matches!(word, "bash" | "sh" | "pwsh" | "powershell")
}
