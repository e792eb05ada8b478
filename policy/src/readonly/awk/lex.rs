//! The tokens of an awk program. awk implementations differ on some of them. If a difference could
//! hide code, there are no tokens. The lexer does not interpret names.

/// The reason why there are no tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// Not an awk program: every implementation refuses it before it runs anything.
    Broken,
    /// Implementations may read it differently.
    Unsure,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token<'a> {
    Name(&'a [u8]),
    /// The text between the quotes.
    Text(&'a [u8]),
    Regex,
    Number,
    /// `\n`, `;` or an operator, by its first byte.
    Mark(u8),
    /// `||`, `&&`, `>>`, `++` or `--`, by the byte that is doubled.
    Double(u8),
}

/// Keywords after which `/` starts a regular expression.
const BEFORE_REGEX: &[&[u8]] =
    &[b"print", b"printf", b"return", b"exit", b"in", b"else", b"do", b"if", b"while"];

/// Names after which `/` can start a regular expression or divide. Some are keywords in one
/// implementation and variables in another.
const BEFORE_EITHER: &[&[u8]] =
    &[b"length", b"next", b"nextfile", b"break", b"continue", b"case", b"default", b"getline"];

/// The meaning of `/` after a token.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Slash {
    Regex,
    Division,
    Either,
}

pub(super) struct Lexer<'a> {
    text: &'a [u8],
    at: usize,
    /// Whether `/` in brackets is an ordinary character of a regular expression.
    brackets: bool,
    slash: Slash,
    /// The open brackets: the closing byte, and the meaning of `/` after it.
    open: Vec<(u8, Slash)>,
    /// The meaning of `/` after the next brackets.
    behind: Slash,
}

/// Returns all tokens of the text.
pub(super) fn tokens(text: &[u8], brackets: bool) -> Result<Vec<Token<'_>>, Stop> {
    let mut lexer =
        Lexer { text, at: 0, brackets, slash: Slash::Regex, open: Vec::new(), behind: Slash::Division };
    let mut tokens = Vec::new();
    while let Some(token) = lexer.token()? {
        tokens.push(token);
    }
    if lexer.open.is_empty() { Ok(tokens) } else { Err(Stop::Broken) }
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

    fn token(&mut self) -> Result<Option<Token<'a>>, Stop> {
        self.blanks()?;
        let start = self.at;
        let Some(byte) = self.next() else {
            return Ok(None);
        };
        let behind = std::mem::replace(&mut self.behind, Slash::Division);
        let (token, slash) = match byte {
            b'"' => (self.string()?, Slash::Division),
            b'/' => return self.slash().map(Some),
            b'0'..=b'9' | b'.' => (Token::Number, Slash::Division),
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => self.name(start),
            b'(' | b'[' | b'{' => {
                self.open.push(match byte {
                    b'(' => (b')', behind),
                    b'[' => (b']', Slash::Division),
                    _ => (b'}', Slash::Regex),
                });
                (Token::Mark(byte), Slash::Regex)
            }
            b')' | b']' | b'}' => (Token::Mark(byte), self.close(byte)?),
            b'\n' | b';' | b'$' | b',' | b'?' | b':' | b'~' | b'!' | b'<' | b'=' | b'*' | b'%' | b'^' => {
                (Token::Mark(byte), Slash::Regex)
            }
            b'+' | b'-' | b'|' | b'&' | b'>' if self.peek() == Some(byte) => {
                self.at += 1;
                let steps = matches!(byte, b'+' | b'-');
                (Token::Double(byte), if steps { Slash::Either } else { Slash::Regex })
            }
            b'+' | b'-' | b'|' | b'&' | b'>' => (Token::Mark(byte), Slash::Regex),
            _ => return Err(Stop::Unsure),
        };
        self.slash = slash;
        Ok(Some(token))
    }

    /// Skips spaces, comments and escaped line feeds.
    fn blanks(&mut self) -> Result<(), Stop> {
        loop {
            match self.peek() {
                Some(b' ' | b'\t') => self.at += 1,
                Some(b'\\') if self.text.get(self.at + 1) == Some(&b'\n') => self.at += 2,
                Some(b'\\') => return Err(Stop::Unsure),
                Some(b'#') => {
                    while self.peek().is_some_and(|byte| byte != b'\n') {
                        self.at += 1;
                    }
                }
                _ => return Ok(()),
            }
        }
    }

    /// Closes a bracket. After `if (x)` a slash starts a regular expression, after `(x)` it
    /// divides.
    fn close(&mut self, byte: u8) -> Result<Slash, Stop> {
        let opened = self.open.pop().filter(|(close, _)| *close == byte);
        opened.map(|(_, slash)| slash).ok_or(Stop::Broken)
    }

    fn string(&mut self) -> Result<Token<'a>, Stop> {
        let start = self.at;
        loop {
            match self.next() {
                None | Some(b'\n') => return Err(Stop::Broken),
                Some(b'"') => break,
                Some(b'\\') => self.at += 1,
                Some(_) => {}
            }
        }
        Ok(Token::Text(self.text.get(start..self.at - 1).unwrap_or_default()))
    }

    fn name(&mut self, start: usize) -> (Token<'a>, Slash) {
        while self.peek().is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            self.at += 1;
        }
        let name = self.text.get(start..self.at).unwrap_or_default();
        self.behind = match name {
            b"if" | b"while" | b"for" => Slash::Regex,
            b"switch" => Slash::Either,
            _ => Slash::Division,
        };
        let slash = match name {
            name if BEFORE_REGEX.contains(&name) => Slash::Regex,
            name if BEFORE_EITHER.contains(&name) => Slash::Either,
            _ => Slash::Division,
        };
        (Token::Name(name), slash)
    }

    fn slash(&mut self) -> Result<Token<'a>, Stop> {
        match self.slash {
            Slash::Either => Err(Stop::Unsure),
            Slash::Division => {
                self.slash = Slash::Regex;
                Ok(Token::Mark(b'/'))
            }
            Slash::Regex => {
                self.regex()?;
                self.slash = Slash::Division;
                Ok(Token::Regex)
            }
        }
    }

    fn regex(&mut self) -> Result<(), Stop> {
        loop {
            match self.next() {
                None | Some(b'\n') => return Err(Stop::Broken),
                Some(b'/') => return Ok(()),
                Some(b'\\') => self.at += 1,
                Some(b'[') if self.brackets => self.bracket()?,
                Some(_) => {}
            }
        }
    }

    /// Reads a bracket expression. If it contains a `/`, all implementations must find the same end. It must then have
    /// no `]` in the first position, no backslash, and no `[` except in a class.
    fn bracket(&mut self) -> Result<(), Stop> {
        if self.peek() == Some(b'^') {
            self.at += 1;
        }
        let mut odd = self.peek() == Some(b']');
        self.at += usize::from(odd);
        let mut slash = false;
        loop {
            match self.next() {
                None | Some(b'\n') => return Err(Stop::Unsure),
                Some(b']') => break,
                Some(b'/') => slash = true,
                Some(b'\\') => {
                    odd = true;
                    self.at += 1;
                }
                Some(b'[') if self.peek() == Some(b':') => {
                    let rest = self.text.get(self.at + 1..).unwrap_or_default();
                    let letters = rest.iter().take_while(|byte| byte.is_ascii_lowercase()).count();
                    if rest.get(letters..letters + 2) != Some(b":]") {
                        return Err(Stop::Unsure);
                    }
                    self.at += letters + 3;
                }
                Some(b'[') => odd = true,
                Some(_) => {}
            }
        }
        if slash && odd { Err(Stop::Unsure) } else { Ok(()) }
    }
}
