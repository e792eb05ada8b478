//! Programs that run a command for many words: xargs, parallel, find, fd.

use super::launches::{Launch, Launches};
use super::operands;
use crate::getopt::{self, Sorted};
use crate::parse::Word;
use crate::tables;

pub(super) fn xargs(sorted: &Sorted, operands: Vec<Word>) -> Launches {
    let mut replace = None;
    for given in sorted.flags.iter().filter(|given| ["I", "i", "replace"].iter().any(|name| given.is(name))) {
        replace = Some(given.value.as_ref().map_or(Some(b"{}".to_vec()), |value| value.text.clone()));
    }
    if replace == Some(None) {
        return Launches::opaque();
    }
    // The order and the values of the flags decide which one takes effect, so both are assumed.
    let appends = ["n", "L", "l", "max-args", "max-lines"].iter().any(|flag| sorted.has(flag));
    let mut words = operands;
    let span = words.first().map(|word| word.span).unwrap_or_default();
    if words.is_empty() {
        words.push(Word::known(b"echo", span));
    }
    if let Some(mark) = replace.flatten() {
        words.iter_mut().for_each(|word| blank(word, &mark));
        if appends {
            words.push(Word::unknown(false, span));
        }
    } else {
        words.push(Word::unknown(false, span));
    }
    Launches::one(Launch::command(words))
}

/// Truncates the known part of a word at the mark, because the rest will be replaced.
fn blank(word: &mut Word, mark: &[u8]) {
    let Some(text) = &word.text else {
        return;
    };
    let found = (0..text.len()).find(|at| text.get(*at..).is_some_and(|t| t.starts_with(mark)));
    if let Some(at) = found.filter(|_| !mark.is_empty()) {
        word.climbs =
            text.get(at + mark.len()..).is_some_and(|rest| rest.windows(2).any(|pair| pair == b".."));
        word.lead = text.get(..at).unwrap_or_default().to_vec();
        word.text = None;
    }
}

/// Handles `parallel text ::: words`. The words are inserted into the text, so the command is never
/// fully known.
pub(super) fn parallel(operands: &[Word]) -> Launches {
    let is_source = |word: &Word| word.lead.starts_with(b":::");
    let end = operands.iter().position(is_source).unwrap_or(operands.len());
    let (text, sources) = operands.split_at_checked(end).unwrap_or((operands, &[]));
    let words: Vec<Word> = sources.iter().filter(|word| !is_source(word)).cloned().collect();
    let found = if text.is_empty() { operands::each_text(&words) } else { operands::joined(text) };
    Launches { opaque: true, runs_input: text.is_empty() && words.is_empty(), ..found }
}

/// Handles `fd -x a ; -x b`: a semicolon ends each command.
pub(super) fn until_semicolon(words: Vec<Word>) -> Option<Launch> {
    let mut words: Vec<Word> =
        words.into_iter().take_while(|word| word.text.as_deref() != Some(b";")).collect();
    let span = words.first()?.span;
    words.iter_mut().for_each(|word| blank(word, b"{"));
    words.push(Word::unknown(false, span));
    Some(Launch::command(words))
}

/// Returns the known prefix of the paths that find prints, which comes from its start directories.
pub(crate) fn start_of_found(rest: &[Word]) -> Vec<u8> {
    let mut roots = rest
        .iter()
        .skip_while(|word| matches!(word.text.as_deref(), Some(b"-H" | b"-L" | b"-P")))
        .take_while(|word| !matches!(word.lead.first(), Some(b'-' | b'(' | b'!')));
    let known = |word: &Word| word.text.clone().filter(|text| !text.is_empty());
    let Some(first) = roots.next() else {
        // After `-D` or `-O` the directories are not the first words.
        let later = rest.iter().any(|word| word.lead.starts_with(b"-D") || word.lead.starts_with(b"-O"));
        return if later { Vec::new() } else { b".".to_vec() };
    };
    let common = |a: Vec<u8>, b: Vec<u8>| {
        let same = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
        a.get(..same).unwrap_or_default().to_vec()
    };
    roots.map(known).fold(known(first), |all, root| Some(common(all?, root?))).unwrap_or_default()
}

/// Reports whether the words are an xargs that reads NUL-terminated words from standard input.
pub(crate) fn reads_ended_by_nul(words: &[Word]) -> bool {
    let Some((program, rest)) = words.split_first() else {
        return false;
    };
    let Some(launcher) = tables::launcher(&[b"xargs"]).filter(|_| program.text.as_deref() == Some(b"xargs"))
    else {
        return false;
    };
    let sorted = getopt::sort(rest, &launcher.options);
    sorted.has("null") && !["arg-file", "delimiter"].iter().any(|flag| sorted.has(flag))
}

/// Sets the known prefix of the words that xargs inserts.
pub(crate) fn begin_with(launches: &mut [Launch], start: &[u8]) {
    for launch in launches {
        let Launch::Command { words, .. } = launch else {
            continue;
        };
        let put = |word: &&mut Word| {
            let written = !word.variables.is_empty() || !word.substitutions.is_empty();
            word.text.is_none() && word.lead.is_empty() && !written
        };
        words.iter_mut().filter(put).for_each(|word| {
            word.lead = start.to_vec();
            word.flagless = !start.is_empty();
        });
    }
}

/// Handles `find -exec ... ;`.
pub(super) fn find(rest: &[Word]) -> Launches {
    let mut found = Launches::default();
    let start = start_of_found(rest);
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        let text = word.text.as_deref().unwrap_or_default();
        if !matches!(text, b"-exec" | b"-execdir" | b"-ok" | b"-okdir") {
            // The word may become an action and a command.
            found.opaque |=
                word.text.is_none() && !word.exactly_one && !word.glob && !getopt::is_operand(word);
            continue;
        }
        let mut inner: Vec<Word> = Vec::new();
        let (mut ended, mut many) = (false, false);
        for word in words.by_ref() {
            let after_place = inner.last().is_some_and(|last| last.text.as_deref() == Some(b"{}"));
            many = after_place && word.text.as_deref() == Some(b"+");
            ended = many || matches!(word.text.as_deref(), Some(b";"));
            if ended {
                break;
            }
            inner.push(word.clone());
        }
        found.opaque |= may_end_early(&inner, ended);
        let start = if matches!(text, b"-execdir" | b"-okdir") { b"./".as_slice() } else { &start };
        for word in inner.iter_mut().filter(|word| word.text.is_some()) {
            blank(word, b"{}");
            if word.text.is_none() && word.lead.is_empty() {
                word.lead = start.to_vec();
                word.flagless = !start.is_empty();
                // `{} +` is replaced by several words.
                word.exactly_one = !many;
            }
        }
        found.launches.push(Launch::command(inner));
    }
    found
}

/// Reports whether an unknown word within `-exec` could be the terminating `;`, so that the following words are a
/// separate action. A single such word is safe. There would be one `;` too many, which find refuses before it acts.
fn may_end_early(inner: &[Word], ended: bool) -> bool {
    let unknown = |word: &&Word| {
        let begins = !matches!(word.lead.first(), None | Some(b';' | b'+' | b'*' | b'?' | b'['));
        word.text.is_none() && !word.is_process_input() && !(begins && (word.exactly_one || word.glob))
    };
    let many = inner.iter().filter(unknown).count() > 1
        || inner.iter().any(|word| unknown(&word) && !word.exactly_one);
    let acts = inner.iter().skip_while(|word| !unknown(word)).any(|word| word.lead.starts_with(b"-"));
    many || (inner.iter().any(|word| unknown(&word)) && (!ended || acts))
}
