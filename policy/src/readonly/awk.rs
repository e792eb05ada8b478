//! awk programs: read token by token. Whatever could run a program, write or read a
//! file by name, or load code is refused, and so is what could be read two ways.

use super::{PathWord, Proof, Refusal};
use crate::decision::Span;
use crate::parse::Word;

/// Names that run, write, read elsewhere or load.
const REFUSED: &[&[u8]] =
    &[b"system", b"getline", b"ARGV", b"ARGC", b"SYMTAB", b"FUNCTAB", b"extension", b"include", b"load"];

/// Keywords behind which `/` opens a regular expression.
const BEFORE_REGEX: &[&[u8]] =
    &[b"print", b"printf", b"return", b"exit", b"in", b"else", b"do", b"case", b"if", b"while"];

pub(super) fn check(operands: &[&Word], span: Span) -> Proof {
    let Some((program, files)) = operands.split_first() else {
        return Err(Refusal::new("awk_program", "awk lacks its program", span));
    };
    let harmless = program.text.as_deref().is_some_and(is_harmless);
    if !harmless {
        let message = "the awk program writes, reads by name, runs something or is not understood";
        return Err(Refusal::new("awk_program", message, program.span));
    }
    let is_file = |word: &&&Word| crate::parse::assignment_name(&word.lead).is_none();
    Ok(files.iter().filter(is_file).map(|word| PathWord::read(word)).collect())
}

/// Whether the program only filters.
pub(crate) fn is_harmless(text: &[u8]) -> bool {
    let mut program =
        Program { rest: text, before: Before::Operator, printing: None, depth: 0, conditions: false };
    program.run().is_some()
}

/// What the token before was, for telling a regex from a division.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    Operator,
    Operand,
    Parenthesis,
    /// `++`, `--` and names behind which both may stand.
    Ambiguous,
}

struct Program<'a> {
    rest: &'a [u8],
    before: Before,
    /// Depth of brackets at which a `print` began.
    printing: Option<usize>,
    depth: usize,
    conditions: bool,
}

impl Program<'_> {
    fn next(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    /// `None` is a refusal.
    fn run(&mut self) -> Option<()> {
        while let Some(byte) = self.next() {
            match byte {
                b' ' | b'\t' => {}
                b'\\' => {
                    (self.next()? == b'\n').then_some(())?;
                }
                b'#' => {
                    while self.peek().is_some_and(|byte| byte != b'\n') {
                        self.next();
                    }
                }
                b'"' => self.string()?,
                b'/' => self.slash()?,
                b'a'..=b'z' | b'A'..=b'Z' | b'_' => self.name(byte)?,
                b'0'..=b'9' | b'.' | b'$' => {
                    self.before = if byte == b'$' { Before::Operator } else { Before::Operand };
                }
                _ => self.operator(byte)?,
            }
        }
        (self.depth == 0).then_some(())
    }

    fn operator(&mut self, byte: u8) -> Option<()> {
        let continues = self.before == Before::Operator;
        self.before = Before::Operator;
        match byte {
            b'(' | b'[' | b'{' => self.depth += 1,
            b')' | b']' => {
                self.depth = self.depth.checked_sub(1)?;
                self.before = if byte == b')' { Before::Parenthesis } else { Before::Operand };
            }
            b'}' => {
                self.depth = self.depth.checked_sub(1)?;
                self.printing = None;
            }
            // A line end behind a comma or `&&` does not end the statement.
            b'\n' if continues => self.before = Before::Operator,
            b';' | b'\n' => self.printing = None,
            b'|' => {
                // `||` is or; `|` and `|&` run a program.
                (self.next()? == b'|').then_some(())?;
            }
            b'>' => {
                if self.peek() == Some(b'>') || self.printing == Some(self.depth) {
                    return None;
                }
            }
            b'+' | b'-' if self.peek() == Some(byte) => {
                self.next();
                self.before = Before::Ambiguous;
            }
            b'+' | b'-' | b'*' | b'%' | b'^' | b'!' | b'<' | b'=' | b'&' | b'~' | b',' | b'?' | b':' => {}
            _ => return None,
        }
        Some(())
    }

    fn string(&mut self) -> Option<()> {
        loop {
            match self.next()? {
                b'"' => break,
                b'\\' => {
                    self.next()?;
                }
                b'\n' => return None,
                _ => {}
            }
        }
        self.before = Before::Operand;
        Some(())
    }

    fn slash(&mut self) -> Option<()> {
        match self.before {
            Before::Operator => self.regex(),
            Before::Operand => {
                self.before = Before::Operator;
                Some(())
            }
            // Behind `if (x)` it opens a regex, behind `(x)` it divides.
            Before::Parenthesis if !self.conditions => {
                self.before = Before::Operator;
                Some(())
            }
            Before::Parenthesis | Before::Ambiguous => None,
        }
    }

    fn regex(&mut self) -> Option<()> {
        loop {
            match self.next()? {
                b'/' => break,
                b'\\' => {
                    self.next()?;
                }
                b'[' => self.bracket()?,
                b'\n' => return None,
                _ => {}
            }
        }
        self.before = Before::Operand;
        Some(())
    }

    /// A bracket expression of a regex, where all awks agree on its end: no `/`, no
    /// `]` in the first place, no `[` but that of a class.
    fn bracket(&mut self) -> Option<()> {
        if self.peek() == Some(b'^') {
            self.next();
        }
        (self.peek()? != b']').then_some(())?;
        loop {
            match self.next()? {
                b']' => return Some(()),
                b'\\' => {
                    self.next()?;
                }
                b'[' => {
                    (self.next()? == b':').then_some(())?;
                    while self.peek()?.is_ascii_lowercase() {
                        self.next();
                    }
                    (self.next()? == b':' && self.next()? == b']').then_some(())?;
                }
                b'/' | b'\n' => return None,
                _ => {}
            }
        }
    }

    fn name(&mut self, first: u8) -> Option<()> {
        let mut name = vec![first];
        while let Some(byte) = self.peek().filter(|b| b.is_ascii_alphanumeric() || *b == b'_') {
            name.push(byte);
            self.next();
        }
        if REFUSED.contains(&name.as_slice()) {
            return None;
        }
        if matches!(name.as_slice(), b"if" | b"while" | b"for") {
            self.conditions = true;
        }
        if matches!(name.as_slice(), b"print" | b"printf") {
            self.printing = Some(self.depth);
        }
        self.before = match name.as_slice() {
            name if BEFORE_REGEX.contains(&name) => Before::Operator,
            // Awks differ: without brackets a regex or a division may follow.
            b"length" | b"next" | b"nextfile" | b"break" | b"continue" | b"default" => Before::Ambiguous,
            _ => Before::Operand,
        };
        Some(())
    }
}
