//! The tokens of a jq program. Interpolated parts of a string are code, the string itself is not.
//! The lexer does not interpret names.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token<'a> {
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
