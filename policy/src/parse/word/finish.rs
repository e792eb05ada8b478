//! Converts pieces to words: expands braces, recognizes globs, and keeps the known bytes.

use super::lex::Made;
use crate::decision::Span;
use crate::parse::braces;
use crate::parse::build::Builder;
use crate::parse::piece::{Mode, Piece};
use crate::parse::tree::Word;
use crate::parse::unicode::misleads;

impl Builder<'_> {
    pub(super) fn finish_word(
        &mut self,
        made: &Made,
        start: usize,
        end: usize,
        mode: Mode,
        out: &mut Vec<Word>,
    ) {
        let first = out.len();
        self.make_words(made, self.span(start, end), mode, out);
        for word in out.iter_mut().skip(first).filter(|word| word.text.is_none()) {
            word.written = self.bytes(start, end).to_vec();
        }
    }

    fn make_words(&mut self, made: &Made, span: Span, mode: Mode, out: &mut Vec<Word>) {
        if mode != Mode::Quoted {
            self.check_unquoted(&made.pieces, span);
        }
        if mode != Mode::Argument {
            out.push(make_word(made, &made.pieces, span, false));
            return;
        }
        self.check_shape(&made.pieces, span);
        if !made.pieces.contains(&Piece::Byte { byte: b'{', quoted: false }) {
            out.push(make_word(made, &made.pieces, span, true));
            return;
        }
        let words = braces::expand(&made.pieces);
        let certain = |words: &Vec<Vec<Piece>>| !made.assigned_home || *words == [made.pieces.clone()];
        let Some(words) = words.filter(certain) else {
            self.problem("brace_expansion", span);
            let mut word = make_word(made, &made.pieces, span, true);
            word.text = None;
            word.exactly_one = false;
            out.push(word);
            return;
        };
        let braced = words.len() > 1;
        // An empty unquoted result is not a word.
        for pieces in words.iter().filter(|pieces| !(braced && pieces.is_empty())) {
            out.push(Word { braced, ..make_word(made, pieces, span, true) });
        }
    }

    fn check_unquoted(&mut self, pieces: &[Piece], span: Span) {
        let unquoted = pieces.iter().filter_map(|piece| match piece {
            Piece::Byte { byte, quoted: false } => Some(*byte),
            _ => None,
        });
        if !unquoted.clone().all(|byte| byte.is_ascii()) && misleads(&unquoted.collect::<Vec<u8>>()) {
            self.problem("unicode_whitespace", span);
        }
    }

    fn check_shape(&mut self, pieces: &[Piece], span: Span) {
        if mixes_quotes_in_flag(pieces) {
            self.problem("obfuscated_flags", span);
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
            self.problem("malformed_token_injection", span);
        }
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

fn make_word(made: &Made, pieces: &[Piece], span: Span, globs: bool) -> Word {
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
        bare: made.bare,
        mixed: is_mixed(pieces),
        flagless: (known && glob) || is_flagless(made, pieces, one),
        heredoc_text: made.heredoc_text,
        foreign_home: made.foreign_home,
        only: made.plain_variable.clone().filter(|_| made.variables.len() == 1 && is_one_expansion(pieces)),
        variables: made.variables.clone(),
        hazards: made.hazards.clone(),
        substitutions: made.substitutions.clone(),
        ..Word::default()
    }
}

/// Reports whether the word consists of one substitution that prints no flag.
fn is_flagless(made: &Made, pieces: &[Piece], one: bool) -> bool {
    let [substitution] = made.substitutions.as_slice() else {
        return false;
    };
    is_one_expansion(pieces) && made.variables.is_empty() && substitution.prints_no_flag(one)
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
