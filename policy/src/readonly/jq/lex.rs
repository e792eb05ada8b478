//! Tokens of a jq program. What is interpolated into a string is read as code, the
//! string itself is not. It knows nothing of what names do.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// A name of a function or a keyword; with `::`, its parts come one by one.
    Name(&'a [u8]),
    /// `$name`.
    Variable(&'a [u8]),
    /// A string or a part of one, `.name`, a number, `@format`.
    Value,
    /// Anything else, by its byte.
    Mark(u8),
}

/// All tokens of the text; `None` where versions of jq may read it differently.
pub(super) fn tokens(text: &[u8]) -> Option<Vec<Token<'_>>> {
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
    /// Depths of parentheses at which an interpolation opened.
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

    /// Up to the line's end. A backslash or a carriage return in it: versions differ on
    /// where it ends.
    fn comment(&mut self) -> Option<()> {
        while let Some(byte) = self.peek().filter(|byte| *byte != b'\n') {
            if matches!(byte, b'\\' | b'\r') {
                return None;
            }
            self.at += 1;
        }
        Some(())
    }

    /// Up to the closing quote or an interpolation.
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
