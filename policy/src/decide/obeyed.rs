//! The files that read-only commands obey. The runner checks them, because the policy cannot see the file
//! system. This module lists the files; it does not know their contents.

use super::allow;
use super::match_rules::RuleSet;
use crate::analysis::{Found, join};
use crate::decision::{Obeyed, ObeyedFormat};
use crate::facts::Facts;
use crate::launch::base_name;
use crate::paths::Places;
use crate::request::Mode;
use crate::tables::{self, Format, Obeys, Search};

/// Returns the files for every command that no rule allows.
pub(super) fn of(rules: &RuleSet<'_>, facts: &Facts<'_>, mode: Mode) -> Vec<Obeyed> {
    let mut all = Vec::new();
    for (index, found) in facts.analysis.commands.iter().enumerate() {
        let name = found.trusted_name().map(base_name).unwrap_or_default();
        let by_rule = || mode != Mode::Plan && allow::covering_rule(index, rules, facts, mode).is_some();
        let mut entries = tables::obeys(name).peekable();
        if entries.peek().is_some() && !by_rule() {
            all.extend(entries.map(|entry| obeyed(entry, name, found, &facts.places)));
        }
    }
    all.sort();
    all.dedup();
    all
}

fn obeyed(entry: &'static Obeys, name: &[u8], found: &Found, places: &Places<'_>) -> Obeyed {
    let directories = directories(found, entry, places);
    let near = directories.iter().flatten().flat_map(|at| entry.files.iter().map(move |file| join(at, file)));
    let home = entry.home.iter().map(|file| join(places.home, file));
    let is_known = entry.files.is_empty() || directories.is_some();
    let mut paths: Vec<String> = if is_known { near.chain(home).collect() } else { Vec::new() };
    paths.sort();
    paths.dedup();
    Obeyed {
        program: String::from_utf8_lossy(name).into_owned(),
        paths,
        format: match entry.format {
            Format::Toml => ObeyedFormat::Toml,
            Format::Json => ObeyedFormat::Json,
            Format::Git => ObeyedFormat::Git,
            Format::Text => ObeyedFormat::Text,
            Format::Present => ObeyedFormat::Present,
        },
        settings: entry.settings.to_vec(),
    }
}

/// Returns the directories in which the files are searched for, or `None` if they are unknown.
fn directories(found: &Found, entry: &Obeys, places: &Places<'_>) -> Option<Vec<String>> {
    let mut all = Vec::new();
    for start in found.directory.possible()? {
        let start = behind_directory_flag(found, start)?;
        let above = std::iter::successors(Some(start.as_str()), |at| Some(at.rsplit_once('/')?.0));
        let most = if entry.from == Search::Upward { usize::MAX } else { 1 };
        let written = |at: &&str| [places.workspace, places.home, "/tmp"].iter().any(|top| is_below(at, top));
        all.extend(above.take(most).filter(written).map(str::to_owned));
    }
    Some(all)
}

/// Reports whether the path is in a directory that commands can write. Only such files can be planted.
fn is_below(path: &str, top: &str) -> bool {
    path.strip_prefix(top).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Applies `git -C DIR`. Returns `None` if the directory is unknown.
fn behind_directory_flag(found: &Found, start: &str) -> Option<String> {
    let mut at = start.to_owned();
    let mut words = found.words.iter().skip(1);
    while let Some(word) = words.next().filter(|word| word.lead.starts_with(b"-")) {
        if word.text.as_deref() == Some(b"-C") {
            at = join(&at, std::str::from_utf8(words.next()?.text.as_deref()?).ok()?);
        }
    }
    Some(at)
}
