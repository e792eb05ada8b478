//! awk programs as tokens. Refuses awk programs that can run a program, write or read a file by name, or load code.
//! Also refuses those that awk implementations may read differently. There is no parser above the tokens: the names and
//! operators of a program are sufficient.

mod lex;

use super::proof::{PathWord, Proof, Refusal};
use crate::decision::Span;
use crate::parse::Word;
use lex::{Stop, Token};

/// Names that run, write, read other files, or load code.
const REFUSED: &[&[u8]] =
    &[b"system", b"ARGV", b"ARGC", b"SYMTAB", b"FUNCTAB", b"extension", b"include", b"load"];

/// The permitted targets of output: the program's own streams.
const STREAMS: &[&[u8]] = &[b"/dev/null", b"/dev/stderr", b"/dev/stdout"];

pub(super) fn check(operands: &[&Word], span: Span) -> Proof {
    let Some((program, files)) = operands.split_first() else {
        return Err(Refusal::new("awk_program", "the awk program is missing", span));
    };
    let harmless = program.text.as_deref().is_some_and(is_harmless);
    if !harmless {
        let message = "the awk program writes or reads a file, runs a command, or is not understood";
        return Err(Refusal::new("awk_program", message, program.span));
    }
    let is_file = |word: &&&Word| crate::parse::assignment_name(&word.lead).is_none();
    Ok(files.iter().filter(is_file).map(|word| PathWord::read(word)).collect())
}

/// Reports whether the program only filters.
pub(crate) fn is_harmless(text: &[u8]) -> bool {
    // awk implementations differ on a `/` in brackets. The program must be harmless with brackets,
    // and without them either harmless or invalid.
    let with = lex::tokens(text, true).is_ok_and(|tokens| only_filters(&tokens));
    with && match lex::tokens(text, false) {
        Ok(tokens) => only_filters(&tokens),
        Err(stop) => stop == Stop::Broken,
    }
}

fn only_filters(tokens: &[Token<'_>]) -> bool {
    let mut depth = 0_usize;
    // The bracket depth at which a `print` and a `getline` started.
    let mut printing = None;
    let mut getting = None;
    let mut before = Token::Mark(b'\n');
    for (index, token) in tokens.iter().enumerate() {
        let behind = tokens.get(index + 1..).unwrap_or_default();
        let harmless = match *token {
            Token::Name(name) => {
                if matches!(name, b"print" | b"printf") {
                    printing = Some(depth);
                }
                if name == b"getline" {
                    getting = Some(depth);
                }
                !REFUSED.contains(&name)
            }
            // A single bar runs a program.
            Token::Mark(b'|') => false,
            Token::Mark(b'<') => getting.is_none(),
            Token::Mark(b'>') => printing != Some(depth) || goes_to_stream(behind),
            Token::Double(b'>') => printing == Some(depth) && goes_to_stream(behind),
            Token::Mark(b'(' | b'[' | b'{') => {
                depth += 1;
                true
            }
            Token::Mark(close @ (b')' | b']' | b'}')) => {
                depth = depth.saturating_sub(1);
                getting = getting.filter(|began| *began <= depth);
                printing = printing.filter(|_| close != b'}');
                true
            }
            Token::Mark(b';') => {
                (printing, getting) = (None, None);
                true
            }
            Token::Mark(b'\n') if !continues(before) => {
                (printing, getting) = (None, None);
                true
            }
            _ => true,
        };
        if !harmless {
            return false;
        }
        before = *token;
    }
    true
}

/// Reports whether a line feed after the token does not end the statement.
fn continues(token: Token<'_>) -> bool {
    match token {
        Token::Name(name) => matches!(name, b"print" | b"printf" | b"getline" | b"do" | b"else" | b"in"),
        Token::Mark(byte) => !matches!(byte, b'\n' | b';' | b')' | b']' | b'}'),
        Token::Double(byte) => !matches!(byte, b'+' | b'-'),
        Token::Text(_) | Token::Regex | Token::Number => false,
    }
}

/// Reports whether `>` is followed by exactly one of the program's own streams. A second string
/// would be concatenated.
fn goes_to_stream(behind: &[Token<'_>]) -> bool {
    let named = matches!(behind.first(), Some(Token::Text(text)) if STREAMS.contains(text));
    named && matches!(behind.get(1), None | Some(Token::Mark(b';' | b'}' | b'\n')))
}
