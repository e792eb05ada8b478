//! sed scripts: read command by command; any that writes, reads a file or runs
//! something is refused, and so is what is not understood.

use super::{PathWord, Proof, Refusal};
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
        let message = "the sed script writes, reads a file, runs something or is not understood";
        return Err(Refusal::new("sed_script", message, at));
    }
    Ok(files.map(|word| PathWord::read(word)).collect())
}

/// Whether the script only filters.
pub(crate) fn is_harmless(text: &[u8]) -> bool {
    let read = |brackets| {
        let mut script = Script { rest: text, brackets, harmful: false };
        let understood = script.run().is_some();
        (understood, script.harmful)
    };
    // Seds differ on a delimiter inside brackets: the script must be harmless as GNU
    // reads it, and must not be harmful as others would.
    let ((understood, _), (_, harmful)) = (read(true), read(false));
    understood && !harmful
}

/// A reader over the script; `None` anywhere is a refusal.
struct Script<'a> {
    rest: &'a [u8],
    /// Whether a delimiter inside brackets is an ordinary character.
    brackets: bool,
    /// Whether it was refused for what it does, not for what it looks like.
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

    /// One address; false where there is none.
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

    /// Up to the delimiter of an address or a pattern.
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

    /// A bracket expression. A backslash before the delimiter in it is refused.
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

    /// The replacement of `s`, and `y`: brackets mean nothing there.
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
                // Seds differ on what ends a label: behind it only a clear end may stand.
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

    /// The text of `a`, `i`, `c`: up to a line end without a backslash before it.
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

    /// Whether all seds end the label here: to some, `}` and `#` are part of it.
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
