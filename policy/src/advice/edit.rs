//! Recognizes a file edit: a text that is one `sed -i` with a known script and known files of the workspace.
//!
//! Everything else stays a command. A preview of a file edit runs the same words on copies of the same files, so a wrong
//! answer here can show a useless preview, and cannot write another file.

use std::collections::BTreeSet;

use crate::analysis::{Found, join};
use crate::decision::{Edit, EditedFile, Span};
use crate::facts::Facts;
use crate::getopt::{self, Sorted};
use crate::parse::Word;
use crate::paths::is_below;
use crate::readonly;
use crate::request::{Request, Shell};
use crate::tables;

/// The maximum number of files of one edit.
const FILES: usize = 16;
/// The options of sed that an edit can have, by their long names.
const OPTIONS: [&str; 10] = [
    "quiet",
    "regexp-extended",
    "expression",
    "in-place",
    "line-length",
    "separate",
    "unbuffered",
    "null-data",
    "posix",
    "sandbox",
];

/// Returns the edit, if the text is one.
pub(super) fn of(facts: &Facts<'_>, request: &Request<'_>) -> Option<Edit> {
    let [found] = facts.analysis.commands.as_slice() else {
        return None;
    };
    let is_alone = facts.analysis.complete
        && request.shell == Shell::Bash
        && !facts.has_problems()
        && found.nesting.is_empty()
        && found.redirects.is_empty()
        && found.assignments.is_empty()
        && found.directory.possible().is_some_and(|possible| possible.len() == 1)
        && is_whole_text(request.command, found.span);
    if !is_alone || found.trusted_name() != Some(b"sed") || facts.analysis.defined.contains(b"sed".as_slice())
    {
        return None;
    }
    by_words(found, request)
}

/// Reports whether the text contains nothing but the command: no `&`, no comment, no second line.
fn is_whole_text(text: &[u8], span: Span) -> bool {
    let blank = |part: Option<&[u8]>| part.is_some_and(|part| part.trim_ascii().is_empty());
    blank(text.get(..span.start)) && blank(text.get(span.end..))
}

fn by_words(found: &Found, request: &Request<'_>) -> Option<Edit> {
    let rest = found.words.get(1..)?;
    if rest.iter().any(|word| !is_literal(word)) {
        return None;
    }
    let sorted = getopt::sort(rest, &tables::writer(&[b"sed"])?.options);
    let known = |given: &getopt::GivenFlag| OPTIONS.iter().any(|name| given.is(name));
    if !sorted.troubles.is_empty() || !sorted.has("in-place") || !sorted.flags.iter().all(known) {
        return None;
    }
    let mut operands = sorted.operands.iter().filter_map(|index| rest.get(*index));
    let mut scripts: Vec<&Word> = sorted.values("expression").collect();
    if scripts.is_empty() {
        scripts.extend(operands.next());
    }
    let expressions = scripts.iter().map(|word| text(word)).collect::<Option<Vec<String>>>()?;
    if expressions.is_empty() || !readonly::sed_is_harmless((expressions.join("\n") + "\n").as_bytes()) {
        return None;
    }
    let suffix = suffix(&sorted)?;
    let files = files(operands, suffix.as_deref(), found, request)?;
    let used = |name: &&&str| !matches!(**name, "expression" | "in-place") && sorted.has(name);
    let options = OPTIONS.iter().filter(used).map(|name| (*name).to_owned()).collect();
    Some(Edit { files, expressions, options, suffix })
}

/// Reports whether the word is one known word without an expansion that depends on files or variables.
fn is_literal(word: &Word) -> bool {
    word.text.is_some()
        && word.exactly_one
        && !word.glob
        && !word.foreign_home
        && !word.braced
        && word.variables.is_empty()
        && word.substitutions.is_empty()
}

fn text(word: &Word) -> Option<String> {
    String::from_utf8(word.text.clone()?).ok()
}

/// Returns the suffix of backups. The inner value is `None` if there are no backups. The outer one is `None` if backups
/// would be in another directory.
fn suffix(sorted: &Sorted) -> Option<Option<String>> {
    let last = sorted.flags.iter().rfind(|given| given.is("in-place"))?;
    let Some(word) = &last.value else {
        return Some(None);
    };
    let suffix = text(word)?;
    if suffix.contains('/') {
        return None;
    }
    Some(Some(suffix).filter(|suffix| !matches!(suffix.as_str(), "" | "*")))
}

/// Returns the files with their backups, or `None` if they are not distinct files of the workspace.
fn files<'w>(
    operands: impl Iterator<Item = &'w Word>,
    suffix: Option<&str>,
    found: &Found,
    request: &Request<'_>,
) -> Option<Vec<EditedFile>> {
    let directory = found.directory.possible()?.first()?;
    let mut files = Vec::new();
    for operand in operands {
        let operand = text(operand)?;
        let path = located(&operand, directory).filter(|path| {
            is_below(path, request.workspace) && path.trim_end_matches('/') != request.workspace
        })?;
        let backup = match suffix {
            Some(suffix) => backup((&operand, &path), suffix, directory)?,
            None => None,
        };
        files.push(EditedFile { path, backup });
    }
    let paths = || files.iter().flat_map(|file| std::iter::once(&file.path).chain(&file.backup));
    let distinct: BTreeSet<&String> = paths().collect();
    let is_distinct = distinct.len() == paths().count();
    (is_distinct && (1..=FILES).contains(&files.len())).then_some(files)
}

/// Returns the absolute path of an operand. `..` is understood only at the beginning: after a link, it leads to another
/// directory than the text shows.
fn located(operand: &str, directory: &str) -> Option<String> {
    if matches!(operand, "" | "-" | "." | "..") || operand.ends_with('/') || operand.contains('\0') {
        return None;
    }
    let behind = operand.trim_start_matches("../");
    let climbs = behind.split('/').any(|part| part == "..");
    let name = behind.rsplit('/').next();
    (!climbs && !matches!(name, None | Some("" | "."))).then(|| join(directory, operand))
}

/// Returns the path of a backup as sed forms it: each `*` of the suffix is the operand. Without `*`, the suffix is appended.
/// The inner value is `None` if this is the file itself. The outer one is `None` if it is in another directory.
fn backup((operand, path): (&str, &str), suffix: &str, directory: &str) -> Option<Option<String>> {
    let written =
        if suffix.contains('*') { suffix.replace('*', operand) } else { format!("{operand}{suffix}") };
    let backup = located(&written, directory)?;
    let is_beside = backup.rsplit_once('/')?.0 == path.rsplit_once('/')?.0;
    is_beside.then(|| Some(backup).filter(|backup| backup != path))
}
