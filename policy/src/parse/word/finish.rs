//! Converts pieces to words: expands braces, recognizes globs, and keeps the known bytes.

use super::lex::LexedWord;
use crate::decision::Span;
use crate::parse::braces;
use crate::parse::build::{Builder, misleads};
use crate::parse::piece::{Mode, Piece};
use crate::parse::tree::Word;

/// Adds the words that the pieces make.
pub(super) fn finish_word(
    builder: &mut Builder<'_>,
    lexed: &LexedWord,
    start: usize,
    end: usize,
    mode: Mode,
    out: &mut Vec<Word>,
) {
    let first = out.len();
    let span = builder.source.span(start, end);
    make_words(builder, lexed, span, mode, out);
    for word in out.iter_mut().skip(first).filter(|word| word.text.is_none()) {
        word.written = builder.source.slice(start, end).to_vec();
    }
}

fn make_words(builder: &mut Builder<'_>, lexed: &LexedWord, span: Span, mode: Mode, out: &mut Vec<Word>) {
    if mode != Mode::Quoted {
        check_unquoted(builder, &lexed.pieces, span);
    }
    if mode != Mode::Argument {
        out.push(make_word(lexed, &lexed.pieces, span, false));
        return;
    }
    check_shape(builder, &lexed.pieces, span);
    if !lexed.pieces.contains(&Piece::Byte { byte: b'{', quoted: false }) {
        out.push(make_word(lexed, &lexed.pieces, span, true));
        return;
    }
    let words = braces::expand(&lexed.pieces);
    let certain = |words: &Vec<Vec<Piece>>| !lexed.assigned_home || *words == [lexed.pieces.clone()];
    let Some(words) = words.filter(certain) else {
        builder.problem("brace_expansion", span);
        let mut word = make_word(lexed, &lexed.pieces, span, true);
        word.text = None;
        word.exactly_one = false;
        out.push(word);
        return;
    };
    let braced = words.len() > 1;
    // An empty unquoted result is not a word.
    for pieces in words.iter().filter(|pieces| !(braced && pieces.is_empty())) {
        out.push(Word { braced, ..make_word(lexed, pieces, span, true) });
    }
}

fn check_unquoted(builder: &mut Builder<'_>, pieces: &[Piece], span: Span) {
    let unquoted = pieces.iter().filter_map(|piece| match piece {
        Piece::Byte { byte, quoted: false } => Some(*byte),
        _ => None,
    });
    if !unquoted.clone().all(|byte| byte.is_ascii()) && misleads(&unquoted.collect::<Vec<u8>>()) {
        builder.problem("unicode_whitespace", span);
    }
}

fn check_shape(builder: &mut Builder<'_>, pieces: &[Piece], span: Span) {
    if mixes_quotes_in_flag(pieces) {
        builder.problem("obfuscated_flags", span);
    }
    let mut depth = 0_i32;
    let mut lowest = 0;
    for piece in pieces {
        match piece {
            Piece::Byte { byte: b'{', quoted: false } => depth += 1,
            Piece::Byte { byte: b'}', quoted: false } => depth -= 1,
            _ => {}
        }
        lowest = lowest.min(depth);
    }
    let bytes = pieces.iter().filter(|p| matches!(p, Piece::Byte { .. })).count();
    if (depth != 0 || lowest < 0) && bytes > 1 {
        builder.problem("malformed_token_injection", span);
    }
}

/// Reports whether a flag's name is partly inside quotes. A flag that is completely quoted, or has
/// a quoted value, is plain.
fn mixes_quotes_in_flag(pieces: &[Piece]) -> bool {
    let mut bytes = pieces.iter().filter_map(byte_of);
    let (Some(b'-'), Some(second)) = (bytes.next(), bytes.next()) else {
        return false;
    };
    let long = second == b'-';
    let mut seen = (false, false);
    let mut letters = 0;
    for (index, piece) in pieces.iter().enumerate() {
        match piece {
            Piece::Byte { byte: b'=', .. } if long => break,
            Piece::Byte { quoted: true, .. } => seen.0 = true,
            Piece::Byte { quoted: false, .. } => seen.1 = true,
            // Quotes that open or close at the start or end of the word are plain.
            Piece::Empty => {
                let inside = letters > 0 && !long && letters < 2;
                let empty = matches!(pieces.get(index + 1), Some(Piece::Empty));
                seen.0 |= inside || (empty && letters > 0);
                continue;
            }
            Piece::Unknown { .. } => break,
        }
        letters += 1;
        if !long && letters == 2 {
            break;
        }
    }
    let wholly = matches!(pieces.first(), Some(Piece::Empty)) && !seen.1 && !reopens(pieces);
    seen.0 && !wholly
}

/// Reports whether quotes close and open again within the flag's name.
fn reopens(pieces: &[Piece]) -> bool {
    let from = pieces.iter().position(|piece| matches!(piece, Piece::Byte { .. })).unwrap_or(0);
    let name = pieces.iter().skip(from).take_while(|p| !matches!(p, Piece::Byte { byte: b'=', .. }));
    let inside: Vec<bool> = name.map(|piece| matches!(piece, Piece::Empty)).collect();
    inside.iter().zip(inside.iter().skip(1)).any(|(empty, next)| *empty && !next)
}

fn byte_of(piece: &Piece) -> Option<u8> {
    match piece {
        Piece::Byte { byte, .. } => Some(*byte),
        _ => None,
    }
}

fn make_word(lexed: &LexedWord, pieces: &[Piece], span: Span, globs: bool) -> Word {
    let known = !pieces.iter().any(|p| matches!(p, Piece::Unknown { .. }));
    let glob = globs && is_glob(pieces);
    let mut lead = Vec::with_capacity(pieces.len());
    lead.extend(
        pieces.iter().take_while(|piece| !matches!(piece, Piece::Unknown { .. })).filter_map(byte_of),
    );
    let one = pieces.iter().all(|p| !matches!(p, Piece::Unknown { one: false }));
    Word {
        span,
        text: (known && !glob).then(|| lead.clone()),
        exactly_one: one && !glob,
        lead,
        glob,
        climbs: !known && climbs(pieces),
        bare: lexed.bare,
        mixed: is_mixed(pieces),
        flagless: (known && glob) || is_flagless(lexed, pieces, one),
        heredoc_text: lexed.heredoc_text,
        foreign_home: lexed.foreign_home,
        only: lexed.plain_variable.clone().filter(|_| lexed.variables.len() == 1 && is_one_expansion(pieces)),
        variables: lexed.variables.clone(),
        hazards: lexed.hazards.clone(),
        substitutions: lexed.substitutions.clone(),
        ..Word::default()
    }
}

/// Reports whether the word consists of one substitution that prints no flag.
fn is_flagless(lexed: &LexedWord, pieces: &[Piece], one: bool) -> bool {
    let [substitution] = lexed.substitutions.as_slice() else {
        return false;
    };
    is_one_expansion(pieces) && lexed.variables.is_empty() && substitution.prints_no_flag(one)
}

fn is_one_expansion(pieces: &[Piece]) -> bool {
    let mut rest = pieces.iter().filter(|piece| **piece != Piece::Empty);
    matches!((rest.next(), rest.next()), (Some(Piece::Unknown { .. }), None))
}

/// Reports whether a `..` follows an unknown part.
fn climbs(pieces: &[Piece]) -> bool {
    let unknown = |piece: &&Piece| !matches!(piece, Piece::Unknown { .. });
    let behind: Vec<u8> = pieces.iter().skip_while(unknown).filter_map(byte_of).collect();
    behind.windows(2).any(|pair| pair == b"..")
}

fn is_mixed(pieces: &[Piece]) -> bool {
    let any = |wanted: bool| {
        pieces.iter().any(|piece| matches!(piece, Piece::Byte { quoted, .. } if *quoted == wanted))
    };
    any(true) && any(false)
}

/// Reports whether it contains an unquoted `*`, `?` or `[...]`.
fn is_glob(pieces: &[Piece]) -> bool {
    let mut open = false;
    pieces.iter().any(|piece| match piece {
        Piece::Byte { byte: b'*' | b'?', quoted: false } => true,
        Piece::Byte { byte: b'[', quoted: false } => {
            open = true;
            false
        }
        Piece::Byte { byte: b']', quoted: false } => open,
        _ => false,
    })
}
