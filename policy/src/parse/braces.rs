//! Brace expansion, which bash performs before all other expansions. The result is `None` if it is not
//! static or too large.

use super::piece::Piece;
use crate::limits::MAX_BRACE_WORDS;

type Pieces = Vec<Piece>;

/// The largest number of pairs of braces, nested or in sequence.
const MOST_BRACES: usize = 16;

/// Returns the words that these pieces expand to.
pub(super) fn expand(pieces: &[Piece]) -> Option<Vec<Pieces>> {
    let words = expand_within(pieces, MOST_BRACES)?;
    let changed = words.iter().any(|word| word != pieces);
    (!changed || words.iter().all(|word| expands_no_further(word))).then_some(words)
}

/// Reports whether bash finds no new expansion in the word. A character that was a separate word may now precede a name
/// or start the word.
fn expands_no_further(word: &[Piece]) -> bool {
    let home = word.first().is_some_and(|piece| is(piece, b'~'));
    let plain =
        |piece: &Piece| matches!(piece, Piece::Byte { byte, quoted: false } if b"/.,:%+=]}~^".contains(byte));
    let mut pairs = word.iter().zip(word.iter().skip(1));
    !home && pairs.all(|(piece, next)| !is(piece, b'$') || plain(next))
}

fn expand_within(pieces: &[Piece], budget: usize) -> Option<Vec<Pieces>> {
    let Some(brace) = find(pieces) else {
        return Some(vec![pieces.to_vec()]);
    };
    if brace.inner.iter().any(|part| part.iter().any(|p| matches!(p, Piece::Unknown { .. }))) {
        return None;
    }
    let (head, tail) = (pieces.get(..brace.open)?, pieces.get(brace.close + 1..)?);
    let budget = budget.checked_sub(1)?;
    let tails = expand_within(tail, budget)?;
    let mut middles = Vec::new();
    for part in &brace.inner {
        middles.extend(if brace.is_range { vec![part.clone()] } else { expand_within(part, budget)? });
        if middles.len() > MAX_BRACE_WORDS {
            return None;
        }
    }
    if middles.len() * tails.len() > MAX_BRACE_WORDS {
        return None;
    }
    let mut out = Vec::new();
    for middle in &middles {
        for tail in &tails {
            out.push([head, middle, tail].concat());
        }
    }
    Some(out)
}

/// Reports whether a text starts with braces that look like an expansion.
pub(super) fn opens_word(text: &[u8]) -> bool {
    let word = text.split(|byte| byte.is_ascii_whitespace()).next().unwrap_or_default();
    word.starts_with(b"{") && (word.contains(&b',') || word.windows(2).any(|pair| pair == b".."))
}

struct Brace {
    open: usize,
    close: usize,
    inner: Vec<Pieces>,
    is_range: bool,
}

fn is(piece: &Piece, wanted: u8) -> bool {
    matches!(piece, Piece::Byte { byte, quoted: false } if *byte == wanted)
}

/// Returns the first pair of braces that expands.
fn find(pieces: &[Piece]) -> Option<Brace> {
    pieces.iter().enumerate().filter(|(_, piece)| is(piece, b'{')).find_map(|(open, _)| at(pieces, open))
}

fn at(pieces: &[Piece], open: usize) -> Option<Brace> {
    let mut depth = 0_usize;
    let mut commas = Vec::new();
    for (index, piece) in pieces.iter().enumerate().skip(open + 1) {
        if is(piece, b'{') {
            depth += 1;
        } else if is(piece, b',') && depth == 0 {
            commas.push(index);
        } else if is(piece, b'}') {
            if depth > 0 {
                depth -= 1;
                continue;
            }
            return close(pieces, open, index, &commas);
        }
    }
    None
}

fn close(pieces: &[Piece], open: usize, close: usize, commas: &[usize]) -> Option<Brace> {
    let inner = pieces.get(open + 1..close)?;
    if commas.is_empty() {
        let inner =
            if is_range_of_braces(inner) { vec![vec![Piece::Unknown { one: false }]] } else { range(inner)? };
        return Some(Brace { open, close, inner, is_range: true });
    }
    let mut parts = Vec::new();
    let mut from = open + 1;
    for end in commas.iter().copied().chain([close]) {
        parts.push(pieces.get(from..end)?.to_vec());
        from = end + 1;
    }
    Some(Brace { open, close, inner: parts, is_range: false })
}

/// Reports whether the text looks like a range that contains braces: bash ignores the outer braces or
/// expands none.
fn is_range_of_braces(inner: &[Piece]) -> bool {
    let dots = inner.windows(2).any(|pair| pair.iter().all(|piece| is(piece, b'.')));
    dots && inner.iter().any(|piece| is(piece, b'{'))
}

/// Expands `1..3`, `a..e` or `1..10..2`. A range that exceeds the limit becomes an unknown piece, so
/// that the caller refuses it.
fn range(inner: &[Piece]) -> Option<Vec<Pieces>> {
    let text: Option<Vec<u8>> = inner
        .iter()
        .map(|piece| match piece {
            Piece::Byte { byte, quoted: false } => Some(*byte),
            _ => None,
        })
        .collect();
    let text = String::from_utf8(text?).ok()?;
    let parts: Vec<&str> = text.split("..").collect();
    let (first, last, step) = match parts.as_slice() {
        [first, last] => (*first, *last, 1),
        [first, last, step] => (*first, *last, step.parse::<i64>().ok()?.unsigned_abs().max(1)),
        _ => return None,
    };
    if let (Ok(from), Ok(to)) = (first.parse::<i64>(), last.parse::<i64>()) {
        let width = if padded(first) || padded(last) { first.len().max(last.len()) } else { 0 };
        return Some(steps(from, to, step, |n| format!("{n:0width$}")));
    }
    let (from, to) = (letter(first)?, letter(last)?);
    let is_lower = |letter: i64| letter >= i64::from(b'a');
    if is_lower(from) != is_lower(to) {
        // Between upper and lower case are a backslash and a backtick, which bash reads again.
        return Some(vec![vec![Piece::Unknown { one: false }]]);
    }
    Some(steps(from, to, step, |n| {
        u8::try_from(n).map_or_else(|_| String::new(), |byte| char::from(byte).to_string())
    }))
}

fn padded(number: &str) -> bool {
    let digits = number.trim_start_matches('-');
    digits.len() > 1 && digits.starts_with('0')
}

fn letter(text: &str) -> Option<i64> {
    match text.as_bytes() {
        [byte] if byte.is_ascii_alphabetic() => Some(i64::from(*byte)),
        _ => None,
    }
}

fn steps(from: i64, to: i64, step: u64, text: impl Fn(i64) -> String) -> Vec<Pieces> {
    let distance = from.abs_diff(to);
    let count = usize::try_from(distance / step).unwrap_or(usize::MAX);
    if count >= MAX_BRACE_WORDS {
        return vec![vec![Piece::Unknown { one: false }]];
    }
    let mut out = Vec::new();
    for index in 0..=count {
        let offset = i64::try_from(index as u64 * step).unwrap_or(0);
        let value = if from <= to { from.wrapping_add(offset) } else { from.wrapping_sub(offset) };
        out.push(text(value).bytes().map(|byte| Piece::Byte { byte, quoted: true }).collect());
    }
    out
}
