//! Deletions of what cannot be recovered: the workspace's root, HOME, a repository, or anything outside.

use super::place::Places;
use crate::analysis::{Directory, Fed, Found, MethodCall};
use crate::decide::confined::{destroys_files, is_work};
use crate::decision::Access;
use crate::facts::Facts;
use crate::getopt::is_one_of;
use crate::launch::base_name;
use crate::parse::Word;
use crate::paths::{Located, locate, names_repository};
use crate::powershell::Call;
use crate::readonly::PathWord;
use crate::tables::ParameterRole;

/// Parameters with which a cmdlet names only a part of a directory.
const NARROWING: &[&str] = &["Filter", "Include", "Name"];
/// Cmdlets that pass on only a part of their input.
const SELECTING: &[&str] = &["Where-Object", "Select-Object", "Select-String"];

/// Reports whether the command deletes what cannot be recovered.
pub(super) fn deletes(found: &Found, facts: &Facts<'_>, index: usize) -> bool {
    if found.call().is_none() && program_deletes(found, facts, index) {
        return true;
    }
    let Some(call) = found.call_anywhere() else {
        return false;
    };
    let recursive = call.switches_on("Recurse") || call.is_open;
    let whole = !narrows(call);
    let is_deleted =
        |name: &str| call.cmdlet.parameter(name).is_some_and(|own| own.role == ParameterRole::Delete);
    let named = call.parameters.iter().filter(|(name, ..)| is_deleted(name)).flat_map(|(_, words, _)| words);
    // Also those of a table of arguments, and those that fit no parameter.
    let others = call.uses.iter().filter(|used| used.access == Access::Delete).map(|used| &used.word);
    let places = Places::new(facts);
    let words = named.chain(others).flat_map(|word| places.words(word));
    let directly = words.flat_map(|word| located(word, &found.directory, facts));
    let mut directly = directly.filter(|path| is_lost(path, recursive && whole, facts));
    let fed = found.in_powershell.as_ref().and_then(|own| own.fed.as_ref());
    directly.next().is_some() || fed.is_some_and(|fed| feeds_lost(fed, found, recursive && whole, facts))
}

/// Reports whether the earlier parts of a pipeline pass such paths to a deletion.
fn feeds_lost(fed: &Fed, found: &Found, recursive: bool, facts: &Facts<'_>) -> bool {
    let places = Places::new(facts);
    let commands: Vec<&Found> =
        fed.commands.iter().filter_map(|index| facts.analysis.commands.get(*index)).collect();
    let selects = commands
        .iter()
        .any(|part| part.call().is_some_and(|call| SELECTING.contains(&call.cmdlet.name) || narrows(call)));
    let here = Word::known(b".", found.span);
    let listed = commands.iter().flat_map(|part| {
        let recursive = recursive || part.call().is_some_and(|call| call.switches_on("Recurse"));
        let words = listed_by(part, &here);
        words.into_iter().map(move |word| (word, recursive))
    });
    let of_text = fed.text.split(['|', ',', '(', ')']).map(str::trim).filter(|text| !text.is_empty());
    let of_text = of_text.map(|text| {
        let quoted = text.trim_matches(['\'', '"']);
        let known = quoted.len() < text.len() && !quoted.contains('$');
        let word = if known {
            Word::known(quoted.as_bytes(), found.span)
        } else {
            Word { written: text.as_bytes().to_vec(), ..Word::unknown(true, found.span) }
        };
        (word, recursive)
    });
    listed.chain(of_text).any(|(word, recursive)| {
        let words = places.words(&word).into_iter();
        let mut paths = words.flat_map(|word| located(word, &found.directory, facts));
        paths.any(|path| is_lost(&path, recursive && !selects, facts))
    })
}

/// Returns the paths whose items the command lists.
fn listed_by(found: &Found, here: &Word) -> Vec<Word> {
    if found.program() == Some(b"ls") {
        let operands = found.words.iter().skip(1).filter(|word| !word.lead.starts_with(b"-"));
        let operands: Vec<Word> = operands.cloned().collect();
        return if operands.is_empty() { vec![here.clone()] } else { operands };
    }
    let Some(call) = found.call() else { return Vec::new() };
    let named = call.parameters.iter().filter(|(name, ..)| matches!(*name, "Path" | "LiteralPath"));
    let named: Vec<Word> = named.flat_map(|(_, words, _)| words.clone()).collect();
    match call.cmdlet.name {
        "Get-ChildItem" if named.is_empty() => vec![here.clone()],
        "Get-ChildItem" | "Get-Item" | "Resolve-Path" | "Convert-Path" => named,
        "Get-Location" => vec![here.clone()],
        _ => Vec::new(),
    }
}

fn narrows(call: &Call) -> bool {
    let all = |word: &Word| matches!(word.text.as_deref(), Some(b"*" | b"*.*"));
    let mut given = call.parameters.iter().filter(|(name, ..)| NARROWING.contains(name));
    given.any(|(_, words, _)| !words.iter().any(all))
}

/// Returns the paths of a word that is deleted, in the directory that no failure leads to.
fn located(word: Word, directory: &Directory, facts: &Facts<'_>) -> Vec<Located> {
    let here = directory.last().map_or_else(Directory::unknown, Directory::at);
    locate(&PathWord { word, access: Access::Delete }, &here, &facts.places)
}

fn is_lost(path: &Located, recursive: bool, facts: &Facts<'_>) -> bool {
    let is_outside = path.outside && path.path.starts_with('/');
    let of_repository = path.glob.as_ref().is_some_and(|glob| {
        glob.rsplit_once('/').is_some_and(|(directory, name)| directory.ends_with("/.git") && name == "*")
    });
    let is_repository = path.exact && names_repository(&path.path);
    is_outside || of_repository || (recursive && (is_repository || is_work(path, &facts.places)))
}

/// Reports whether a native program deletes what cannot be recovered.
fn program_deletes(found: &Found, facts: &Facts<'_>, index: usize) -> bool {
    let Some((name, rest)) = found.words.split_first() else { return false };
    if name.text.as_deref().map(base_name) == Some(b"find") {
        let paths = facts.commands.get(index).map(|command| command.paths.as_slice()).unwrap_or_default();
        let mut deleted = paths.iter().filter(|path| path.access == Access::Delete);
        return deleted.any(|path| is_lost(path, false, facts)) || destroys_files(found, facts);
    }
    let flags = rest.iter().filter_map(|word| word.text.as_deref());
    let recursive = flags.clone().any(|flag| is_one_of(&["-r", "-R", "--recursive"], flag));
    if flags.clone().any(|flag| matches!(flag, b"--help" | b"--version")) {
        return false;
    }
    let places = Places::new(facts);
    let operands = rest.iter().filter(|word| !word.lead.starts_with(b"-"));
    let words = operands.flat_map(|word| if word.glob { vec![word.clone()] } else { places.words(word) });
    let mut paths = words.flat_map(|word| located(word, &found.directory, facts));
    paths.any(|path| is_lost(&path, recursive, facts))
}

/// Reports whether a static method deletes what cannot be recovered.
pub(super) fn is_lost_by(call: &MethodCall, facts: &Facts<'_>) -> bool {
    let places = Places::new(facts);
    let Some((path, rest)) = call.arguments.split_first() else { return false };
    let is_true = |word: &Word| word.written.eq_ignore_ascii_case(b"$true");
    let recursive = rest.iter().any(is_true) || call.name.ends_with("::deletedirectory");
    let words = places.words(path).into_iter();
    let mut paths = words.flat_map(|word| located(word, &call.directory, facts));
    paths.any(|path| is_lost(&path, recursive, facts))
}
