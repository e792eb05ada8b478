//! find's expression. Each known primary is listed with its number of words. The command of `-exec`
//! is judged separately.

use super::proof::{PathWord, Proof, Refusal};
use crate::decision::Span;
use crate::parse::Word;
use crate::rules::matching::glob_matches;

/// Primaries without a value.
const ALONE: &[&[u8]] = &[
    b"-print",
    b"-print0",
    b"-ls",
    b"-prune",
    b"-quit",
    b"-true",
    b"-false",
    b"-depth",
    b"-d",
    b"-mount",
    b"-xdev",
    b"-noleaf",
    b"-follow",
    b"-daystart",
    b"-empty",
    b"-executable",
    b"-readable",
    b"-writable",
    b"-nouser",
    b"-nogroup",
    b"-not",
    b"-a",
    b"-and",
    b"-o",
    b"-or",
    b"!",
    b"(",
    b")",
    b",",
    b"-help",
    b"--help",
    b"-version",
    b"--version",
    b"-warn",
    b"-nowarn",
    b"-ignore_readdir_race",
    b"-noignore_readdir_race",
    b"-H",
    b"-L",
    b"-P",
];

/// Primaries with one value that is not a path.
const VALUE: &[&[u8]] = &[
    b"-name",
    b"-iname",
    b"-path",
    b"-ipath",
    b"-wholename",
    b"-iwholename",
    b"-regex",
    b"-iregex",
    b"-regextype",
    b"-type",
    b"-xtype",
    b"-size",
    b"-mtime",
    b"-atime",
    b"-ctime",
    b"-mmin",
    b"-amin",
    b"-cmin",
    b"-perm",
    b"-user",
    b"-group",
    b"-uid",
    b"-gid",
    b"-links",
    b"-inum",
    b"-fstype",
    b"-lname",
    b"-ilname",
    b"-maxdepth",
    b"-mindepth",
    b"-printf",
    b"-used",
    b"-context",
    b"-D",
];

/// Primaries with one value that is a path.
const PATH: &[&[u8]] = &[b"-newer", b"-anewer", b"-cnewer", b"-samefile"];

/// Primaries that run a command, which is listed separately.
const RUNS: &[&[u8]] = &[b"-exec", b"-execdir"];

/// Primaries that a glob must not be able to become.
const HARMFUL: &[&[u8]] = &[
    b"-delete",
    b"-exec",
    b"-execdir",
    b"-ok",
    b"-okdir",
    b"-fprint",
    b"-fprint0",
    b"-fprintf",
    b"-fls",
    b"-files0-from",
];

pub(super) fn check(rest: &[Word], span: Span) -> Proof {
    let mut paths = Vec::new();
    let mut words = rest.iter().peekable();
    let mut in_paths = true;
    while let Some(word) = words.next() {
        let Some(text) = word.text.as_deref() else {
            unknown(word, in_paths)?;
            paths.push(PathWord::read(word));
            continue;
        };
        let primary = text.starts_with(b"-") && text.len() > 1 || matches!(text, b"(" | b")" | b"!" | b",");
        if !primary || text.starts_with(b"-O") {
            if in_paths {
                paths.push(PathWord::read(word));
            }
            continue;
        }
        in_paths &= matches!(text, b"-H" | b"-L" | b"-P" | b"-D");
        if ALONE.contains(&text) {
        } else if RUNS.contains(&text) {
            skip_command(&mut words);
        } else if VALUE.contains(&text) || PATH.contains(&text) || text.starts_with(b"-newer") {
            let Some(value) = words.next() else {
                return Err(Refusal::new("unknown_flag", "a test of find has no value", span));
            };
            let one = value.exactly_one || (value.glob && becomes_no_action(value));
            if !one {
                return Err(unknown_word(value));
            }
            if PATH.contains(&text) || (text.starts_with(b"-newer") && super::looks_like_path(value)) {
                paths.push(PathWord::read(value));
            }
        } else {
            let known = HARMFUL.contains(&text);
            let code = if known { "dangerous_flag" } else { "unknown_flag" };
            let message = format!(
                "`{}` of find writes, deletes or runs a command, or is not known",
                String::from_utf8_lossy(text)
            );
            return Err(Refusal::new(code, message, word.span));
        }
    }
    Ok(paths)
}

fn skip_command<'w>(words: &mut impl Iterator<Item = &'w Word>) {
    let mut last_is_place = false;
    for word in words {
        let text = word.text.as_deref();
        if text == Some(b";") || (text == Some(b"+") && last_is_place) {
            return;
        }
        last_is_place = text.is_some_and(|text| text.ends_with(b"{}"));
    }
}

fn unknown_word(word: &Word) -> Refusal {
    let message = "an unknown word of find may be an action";
    Refusal::new("unknown_word", message, word.span)
}

/// Checks an unknown word in the position of a path or a primary.
fn unknown(word: &Word, in_paths: bool) -> Result<(), Refusal> {
    let harmless =
        if word.glob { becomes_no_action(word) } else { in_paths && crate::getopt::is_operand(word) };
    if harmless { Ok(()) } else { Err(unknown_word(word)) }
}

/// Reports whether the glob can match no file that is named like an action. Brackets are assumed to
/// match any byte.
fn becomes_no_action(word: &Word) -> bool {
    let pattern: Vec<Option<u8>> =
        word.lead.iter().map(|byte| (!matches!(byte, b'*' | b'?' | b'[' | b']')).then_some(*byte)).collect();
    !word.lead.contains(&b'[') && !HARMFUL.iter().any(|action| glob_matches(&pattern, action))
}
