//! Other spellings of the same words: quotes, blanks and line continuations.

use airlock_policy::{Decision, Nesting, Span};
use fastrand::Rng;

/// Words that bash treats differently when they are quoted.
const RESERVED: &[&[u8]] = &[
    b"if",
    b"then",
    b"else",
    b"elif",
    b"fi",
    b"case",
    b"esac",
    b"for",
    b"select",
    b"while",
    b"until",
    b"do",
    b"done",
    b"in",
    b"function",
    b"time",
    b"coproc",
    b"{",
    b"}",
    b"!",
    b"[[",
    b"]]",
];

/// Returns the text with some words and blanks spelled differently, or `None` if there is no other spelling.
pub(super) fn anew(text: &[u8], before: &Decision, rng: &mut Rng) -> Option<Vec<u8>> {
    // The policy does not understand a quote after `$'\\'`: the grammar reads on to that quote.
    if has(text, "$'") && has(text, "\\\\'") {
        return None;
    }
    let words = plain_words(text, before);
    // The policy does not understand a line continuation after a `case` inside parentheses.
    let continues = !(has(text, "case") && has(text, "("));
    let gaps: &[&str] = if continues { &["  ", "\t", " \\\n", "\\\n "] } else { &["  ", "\t"] };
    let mut edits: Vec<(Span, Vec<u8>)> = Vec::new();
    for (at, span) in words.iter().enumerate() {
        if rng.u8(..3) == 0 {
            edits.push((*span, word(text.get(span.start..span.end)?, continues, rng)));
        }
        let gap = words.get(at + 1).map(|next| Span::new(span.end, next.start));
        let gap = gap.filter(|gap| text.get(gap.start..gap.end) == Some(b" "));
        if let Some(gap) = gap.filter(|_| rng.u8(..3) == 0) {
            edits.push((gap, rng.choice(gaps)?.as_bytes().to_vec()));
        }
    }
    let mut out = text.to_vec();
    for (span, new) in edits.iter().rev() {
        out.splice(span.start..span.end, new.iter().copied());
    }
    (!edits.is_empty()).then_some(out)
}

fn has(text: &[u8], part: &str) -> bool {
    text.windows(part.len()).any(|here| here == part.as_bytes())
}

/// Returns the positions of words that are written exactly as the program gets them, in order.
fn plain_words(text: &[u8], before: &Decision) -> Vec<Span> {
    // An alias with a quoted part of its name is not expanded. Inside backquotes, escapes have another
    // meaning.
    let strange =
        !before.parse_complete || text.contains(&b'`') || ["alias", "<<"].iter().any(|part| has(text, part));
    if strange {
        return Vec::new();
    }
    let inside = |kind: &Nesting| matches!(kind, Nesting::ShellText | Nesting::Launched);
    let outer = before.commands.iter().filter(|found| !found.nesting.iter().any(inside));
    let mut spans: Vec<Span> = outer
        .flat_map(|found| {
            let condition = found.argv.first().is_some_and(|word| word.text.as_deref() == Some(b"[["));
            found.argv.iter().filter(move |_| !condition)
        })
        .filter(|word| {
            let here = text.get(word.span.start..word.span.end);
            here == word.text.as_deref() && here.is_some_and(is_plain)
        })
        .map(|word| word.span)
        .collect();
    spans.sort();
    spans.dedup();
    spans
}

/// Returns whether no byte has a special meaning for bash. A flag is excluded: a validator asks about quotes
/// in its name.
fn is_plain(word: &[u8]) -> bool {
    let known = |byte: &u8| byte.is_ascii_alphanumeric() || b"_./,@+:-".contains(byte);
    !word.is_empty() && word.iter().all(known) && !word.starts_with(b"-") && !RESERVED.contains(&word)
}

fn word(word: &[u8], continues: bool, rng: &mut Rng) -> Vec<u8> {
    let (head, tail) = word.split_at(rng.usize(..=word.len()));
    let parts: [&[&[u8]]; 6] = [
        &[b"'", word, b"'"],
        &[b"\"", word, b"\""],
        &[head, b"'", tail, b"'"],
        &[b"\"", head, b"\"", tail],
        &[head, b"''", tail],
        &[head, b"\\\n", tail],
    ];
    let parts = if continues { &parts[..] } else { parts.split_last().map_or(&[][..], |(_, rest)| rest) };
    rng.choice(parts).copied().unwrap_or_default().concat()
}
