//! jq and yq programs as tokens. Interpolated parts of a string are code, the string itself is not. The check searches
//! for names that reveal the environment, other files or the program itself. No jq parser is needed: only the names
//! that a program uses matter, and jq can neither write nor run programs. Parsers of other implementations differ from
//! jq's on comments and keywords.

use super::proof::{PathWord, Proof, Refusal};
use crate::decision::Span;
use crate::parse::Word;

/// Refused names of jq; the comment above each group states their effect.
const JQ: &[&[u8]] = &[
    // The name of the input.
    b"input_filename",
    // The environment.
    b"env",
    b"ENV",
    // Output to other streams than standard output.
    b"debug",
    b"stderr",
    // Other files and their contents.
    b"import",
    b"include",
    b"modulemeta",
    b"get_search_list",
    // Introspection, and names that do not exist but are tried.
    b"builtins",
    b"system",
    b"input_line_number",
    b"__prog_args",
];

/// Functions that read more input from the operands.
const MORE_INPUT: &[&[u8]] = &[b"input", b"inputs"];

/// Refused names of yq, each with any suffix: `load_str`, `envsubst`.
const YQ: &[&[u8]] = &[b"load", b"env", b"strenv", b"strload", b"eval", b"system"];

pub(super) fn check_jq(operands: &[&Word], span: Span) -> Proof {
    let Some(program) = operands.first() else {
        return Ok(Vec::new());
    };
    let outside = operands.iter().skip(1).any(|file| super::looks_like_path(file));
    let refused = |name: &[u8]| JQ.contains(&name) || (outside && MORE_INPUT.contains(&name));
    check(program, refused, "jq_system_function", span)
}

/// Checks yq, which takes an optional subcommand, an optional expression and files. One of the
/// programs named yq uses jq with another input parser.
pub(super) fn check_yq(operands: &[&Word], span: Span) -> Proof {
    let mut paths = Vec::new();
    let is_command =
        |word: &&&Word| matches!(word.text.as_deref(), Some(b"eval" | b"e" | b"eval-all" | b"ea"));
    let skip = usize::from(operands.first().filter(is_command).is_some());
    let refused = |name: &[u8]| JQ.contains(&name) || YQ.iter().any(|start| name.starts_with(start));
    for (index, word) in operands.iter().skip(skip).enumerate() {
        // A file in the position of the expression is also checked as an expression.
        if index == 0 || word.text.is_some() {
            let is_file = index > 0 && !word.lead.contains(&b'(');
            paths.extend(if is_file { Vec::new() } else { check(word, refused, "yq_function", span)? });
        }
        if index > 0 || (super::looks_like_path(word) && !word.lead.starts_with(b".")) {
            paths.push(PathWord::read(word));
        }
    }
    Ok(paths)
}

fn check(word: &Word, refused: impl Fn(&[u8]) -> bool, code: &'static str, span: Span) -> Proof {
    let refuse = |message: String| {
        let at = if word.span == Span::default() { span } else { word.span };
        Err(Refusal::new(code, message, at))
    };
    let Some(text) = &word.text else {
        return refuse("the program text is not known".into());
    };
    let Some(tokens) = tokens(text) else {
        return refuse("the program text is not understood".into());
    };
    let mut open = Vec::new();
    let mut before = Token::Mark(b'(');
    for (index, token) in tokens.iter().enumerate() {
        let in_object = open.last() == Some(&b'{');
        let name = match token {
            Token::Name(name) if !(in_object && is_key(before, tokens.get(index + 1))) => *name,
            Token::Variable(name) => *name,
            _ => b"",
        };
        if refused(name) {
            return refuse(format!("the program text uses `{}`", String::from_utf8_lossy(name)));
        }
        match token {
            Token::Mark(mark @ (b'(' | b'[' | b'{')) => open.push(*mark),
            Token::Mark(b')' | b']' | b'}') => drop(open.pop()),
            _ => {}
        }
        before = *token;
    }
    Ok(Vec::new())
}

/// Reports whether a name in an object is a key: `{env: 1}`, `{a, env}`.
fn is_key(before: Token<'_>, after: Option<&Token<'_>>) -> bool {
    matches!(before, Token::Mark(b'{' | b',')) && matches!(after, Some(Token::Mark(b':' | b',' | b'}')))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token<'a> {
    /// The name of a function, or a keyword. With `::`, each part is a separate token.
    Name(&'a [u8]),
    /// `$name`.
    Variable(&'a [u8]),
    /// A string or a part of one, `.name`, a number, `@format`.
    Value,
    /// Any other byte.
    Mark(u8),
}

/// Returns all tokens of the text, or `None` if versions of jq may read it differently.
fn tokens(text: &[u8]) -> Option<Vec<Token<'_>>> {
    let mut lexer = Lexer { text, at: 0, depth: 0, interpolations: Vec::new() };
    let mut tokens = Vec::new();
    while let Some(byte) = lexer.next() {
        if let Some(token) = lexer.token(byte)? {
            tokens.push(token);
        }
    }
    Some(tokens)
}

struct Lexer<'a> {
    text: &'a [u8],
    at: usize,
    depth: usize,
    /// The parenthesis depths at which interpolations started.
    interpolations: Vec<usize>,
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

impl<'a> Lexer<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    fn token(&mut self, byte: u8) -> Option<Option<Token<'a>>> {
        Some(Some(match byte {
            b' ' | b'\t' | b'\n' => return Some(None),
            b'#' => {
                self.comment()?;
                return Some(None);
            }
            b'"' => {
                self.string()?;
                Token::Value
            }
            b'$' if self.peek().is_some_and(is_name) => Token::Variable(self.name(self.at)),
            b'.' | b'@' if self.peek().is_some_and(|byte| is_name(byte) && !byte.is_ascii_digit()) => {
                self.name(self.at);
                Token::Value
            }
            b'0'..=b'9' => Token::Value,
            byte if is_name(byte) => Token::Name(self.name(self.at - 1)),
            b'(' => {
                self.depth += 1;
                Token::Mark(byte)
            }
            b')' => {
                self.depth = self.depth.checked_sub(1)?;
                if self.interpolations.last() == Some(&self.depth) {
                    self.interpolations.pop();
                    self.string()?;
                }
                Token::Mark(byte)
            }
            _ => Token::Mark(byte),
        }))
    }

    fn name(&mut self, start: usize) -> &'a [u8] {
        while self.peek().is_some_and(is_name) {
            self.at += 1;
        }
        self.text.get(start..self.at).unwrap_or_default()
    }

    /// Skips a comment up to the end of the line. Versions differ on its end if it contains a
    /// backslash or a carriage return.
    fn comment(&mut self) -> Option<()> {
        while let Some(byte) = self.peek().filter(|byte| *byte != b'\n') {
            if matches!(byte, b'\\' | b'\r') {
                return None;
            }
            self.at += 1;
        }
        Some(())
    }

    /// Skips up to the closing quote or an interpolation.
    fn string(&mut self) -> Option<()> {
        loop {
            match self.next()? {
                b'"' => return Some(()),
                b'\\' if self.next()? == b'(' => {
                    self.interpolations.push(self.depth);
                    self.depth += 1;
                    return Some(());
                }
                _ => {}
            }
        }
    }
}
