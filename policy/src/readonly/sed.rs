//! sed scripts, command by command. Refused are commands that write, read a file or run a program,
//! and those that are not understood.

use super::proof::{PathWord, Proof, Refusal};
use crate::decision::Span;
use crate::getopt::Sorted;
use crate::parse::Word;

pub(super) fn check(sorted: &Sorted, operands: &[&Word], span: Span) -> Proof {
    let mut scripts: Vec<&Word> = sorted.values("expression").collect();
    let mut files = operands.iter();
    if scripts.is_empty() {
        scripts.extend(files.next());
    }
    let mut text = Vec::new();
    for script in &scripts {
        let Some(part) = &script.text else {
            return Err(Refusal::new("sed_script", "the sed script is not known", script.span));
        };
        text.extend_from_slice(part);
        text.push(b'\n');
    }
    let at = scripts.first().map_or(span, |word| word.span);
    if scripts.is_empty() || !is_harmless(&text) {
        let message = "the sed script writes or reads a file, runs a command, or is not understood";
        return Err(Refusal::new("sed_script", message, at));
    }
    Ok(files.map(|word| PathWord::read(word)).collect())
}

/// Reports whether the script only filters.
pub(crate) fn is_harmless(text: &[u8]) -> bool {
    let read = |brackets| {
        let mut script = Script { rest: text, brackets, harmful: false };
        let understood = script.run().is_some();
        (understood, script.harmful)
    };
    // sed implementations differ on a delimiter inside brackets. The script must be harmless in GNU
    // sed's reading, and not harmful in the other one.
    let ((understood, _), (_, harmful)) = (read(true), read(false));
    understood && !harmful
}

/// A reader of a script. Its methods return `None` to refuse the script.
struct Script<'a> {
    rest: &'a [u8],
    /// Whether a delimiter inside brackets is an ordinary character.
    brackets: bool,
    /// Whether the script was refused for its effect, not for its form.
    harmful: bool,
}

impl Script<'_> {
    fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    fn next(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    fn skip(&mut self, wanted: impl Fn(u8) -> bool) {
        while self.peek().is_some_and(&wanted) {
            self.next();
        }
    }

    fn run(&mut self) -> Option<()> {
        loop {
            self.skip(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b';'));
            if self.rest.is_empty() {
                return Some(());
            }
            self.addresses()?;
            self.command()?;
        }
    }

    fn addresses(&mut self) -> Option<()> {
        if self.address()? {
            self.skip(|byte| byte == b' ');
            if self.peek() == Some(b',') {
                self.next();
                self.skip(|byte| byte == b' ');
                if matches!(self.peek(), Some(b'+' | b'~')) {
                    self.next();
                }
                self.address()?.then_some(())?;
            }
        }
        self.skip(|byte| matches!(byte, b' ' | b'\t' | b'!'));
        Some(())
    }

    /// Reads one address. Returns false if there is none.
    fn address(&mut self) -> Option<bool> {
        match self.peek()? {
            b'0'..=b'9' => {
                self.skip(|byte| byte.is_ascii_digit() || byte == b'~');
                Some(true)
            }
            b'$' => {
                self.next();
                Some(true)
            }
            b'/' => {
                self.next();
                self.delimited(b'/')?;
                self.skip(|byte| matches!(byte, b'I' | b'M'));
                Some(true)
            }
            b'\\' => {
                self.next();
                let delimiter = self.next()?;
                self.delimited(delimiter)?;
                self.skip(|byte| matches!(byte, b'I' | b'M'));
                Some(true)
            }
            _ => Some(false),
        }
    }

    /// Skips up to the delimiter of an address or a pattern.
    fn delimited(&mut self, delimiter: u8) -> Option<()> {
        if matches!(delimiter, b'\n' | b'\\') {
            return None;
        }
        loop {
            let byte = self.next()?;
            match byte {
                b'\\' => {
                    self.next()?;
                }
                b'\n' => return None,
                _ if byte == delimiter => return Some(()),
                b'[' if self.brackets => self.bracket(delimiter)?,
                _ => {}
            }
        }
    }

    /// Skips a bracket expression. An escaped delimiter in it is refused.
    fn bracket(&mut self, delimiter: u8) -> Option<()> {
        if self.peek() == Some(b'^') {
            self.next();
        }
        if self.peek() == Some(b']') {
            self.next();
        }
        loop {
            match self.next()? {
                b']' => return Some(()),
                b'\n' => return None,
                b'\\' if self.peek() == Some(delimiter) => return None,
                b'[' if matches!(self.peek(), Some(b':' | b'.' | b'=')) => {
                    let kind = self.next()?;
                    while self.next()? != kind || self.peek() != Some(b']') {}
                    self.next();
                }
                _ => {}
            }
        }
    }

    /// Skips a part of `y`, or the replacement of `s`, in which brackets have no special meaning.
    fn plain_delimited(&mut self, delimiter: u8) -> Option<()> {
        loop {
            let byte = self.next()?;
            if byte == b'\\' {
                self.next()?;
            } else if byte == delimiter {
                return Some(());
            }
        }
    }

    fn command(&mut self) -> Option<()> {
        match self.next()? {
            b'{' | b'}' => Some(()),
            b'#' => {
                self.skip(|byte| byte != b'\n');
                Some(())
            }
            b':' | b'b' | b't' | b'T' => {
                // Implementations differ on the end of a label, so it must be unambiguous.
                self.skip(|byte| byte == b' ');
                self.skip(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
                self.label_ends().then_some(())?;
                self.end()
            }
            b'a' | b'i' | b'c' => {
                self.text();
                Some(())
            }
            b's' => self.substitute(),
            b'y' => {
                let delimiter = self.next()?;
                self.plain_delimited(delimiter)?;
                self.plain_delimited(delimiter)?;
                self.end()
            }
            b'q' | b'Q' | b'l' | b'L' => {
                self.skip(|byte| byte == b' ' || byte.is_ascii_digit());
                self.end()
            }
            b'p' | b'P' | b'd' | b'D' | b'n' | b'N' | b'g' | b'G' | b'h' | b'H' | b'x' | b'=' | b'z'
            | b'F' => self.end(),
            b'r' | b'R' | b'w' | b'W' | b'e' => {
                self.harmful = true;
                None
            }
            _ => None,
        }
    }

    fn substitute(&mut self) -> Option<()> {
        let delimiter = self.next()?;
        self.delimited(delimiter)?;
        self.plain_delimited(delimiter)?;
        self.skip(|byte| matches!(byte, b'g' | b'p' | b'i' | b'I' | b'm' | b'M') || byte.is_ascii_digit());
        self.harmful |= matches!(self.peek(), Some(b'w' | b'e'));
        self.end()
    }

    /// Skips the text of `a`, `i` or `c`, up to an unescaped line feed.
    fn text(&mut self) {
        while let Some(byte) = self.next() {
            match byte {
                b'\\' => {
                    self.next();
                }
                b'\n' => return,
                _ => {}
            }
        }
    }

    /// Reports whether all implementations end the label here. For some, `}` and `#` are part of
    /// it.
    fn label_ends(&self) -> bool {
        let behind = self.rest.iter().find(|byte| **byte != b'}');
        behind.is_none_or(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b';'))
    }

    fn end(&mut self) -> Option<()> {
        self.skip(|byte| matches!(byte, b' ' | b'\t'));
        match self.peek() {
            None | Some(b'\n' | b';' | b'}' | b'#') => Some(()),
            Some(_) => None,
        }
    }
}
