//! The parser. It stops at the first part that PowerShell would refuse; the commands before it remain in the result.

mod command;
mod define;
mod expression;
mod flow;
mod grammar;
mod member;
mod parts;
mod pipeline;
mod primary;
mod statement;
mod types;

use self::grammar::{Primaries, Statements};
use self::parts::Expr;
use crate::lexer::{Lexer, Mode};
use crate::source::{Map, Span, Text};
use crate::token::{Kind, Token};
use crate::tree::{Construct, ConstructKind, Fault, Parse, Script};

/// The deepest nesting of a text that is understood.
const MAX_DEPTH: usize = 64;
/// The number of times that each character may be read, on average. Strings inside expressions inside strings are read
/// once per level.
const READS_PER_BYTE: usize = 160;
/// The number of characters that may be read in a short text.
const LEAST_READS: usize = 4096;

/// Parses a text.
#[must_use]
pub fn parse(text: &str) -> Script {
    let mut script = Script::default();
    if let Some(at) = text.find('\0') {
        script.fault = Some(Fault { code: "nul", at });
        return script;
    }
    let fuel = text.len() * READS_PER_BYTE + LEAST_READS;
    let mut parser = Parser::new(Lexer::new(text, Map::From(0), fuel), &mut script);
    let fault = parser.script().err();
    if parser.lexer.requires {
        let span = Span { start: 0, end: text.len() };
        script.constructs.push(Construct {
            kind: ConstructKind::Requires,
            name: None,
            is_outermost: true,
            span,
        });
    }
    script.fault = fault;
    script
}

/// The state of the parser in one text.
struct Parser<'s, 'o> {
    lexer: Lexer<'s>,
    /// The next token, once it is read.
    ahead: Option<Token>,
    /// Whether a comma separates arguments and does not make an array.
    commas_separate: bool,
    depth: usize,
    /// The command whose arguments are being read.
    within: Option<usize>,
    /// The last pipeline, if it is one expression.
    sole: Option<Expr>,
    out: &'o mut Script,
}

/// A point to which the parser can go back.
#[derive(Clone, Copy)]
struct Mark {
    at: usize,
    lengths: [usize; 8],
}

impl<'s, 'o> Parser<'s, 'o> {
    fn new(lexer: Lexer<'s>, out: &'o mut Script) -> Self {
        Self { lexer, ahead: None, commas_separate: false, depth: 0, within: None, sole: None, out }
    }

    fn fault<T>(&self, code: &'static str, token: &Token) -> Parse<T> {
        Err(Fault { code, at: self.lexer.map.offset(token.start) })
    }

    /// Fails at the current position.
    fn missing<T>(&self, code: &'static str) -> Parse<T> {
        let at = self.ahead.as_ref().map_or_else(|| self.lexer.position(), |token| token.start);
        Err(Fault { code, at: self.lexer.map.offset(at) })
    }

    fn span(&self, start: usize, end: usize) -> Span {
        self.lexer.map.span(start, end)
    }

    fn place(&self, token: &Token) -> Span {
        self.span(token.start, token.end)
    }

    fn source(&self, token: &Token) -> String {
        self.lexer.slice(token.start, token.end).to_owned()
    }

    fn next(&mut self) -> Parse<Token> {
        match self.ahead.take() {
            Some(token) => Ok(token),
            None => self.lexer.next(),
        }
    }

    fn peek(&mut self) -> Parse<Kind> {
        if let Some(token) = &self.ahead {
            return Ok(token.kind);
        }
        let token = self.lexer.next()?;
        let kind = token.kind;
        self.ahead = Some(token);
        Ok(kind)
    }

    /// Takes the next token if it has this kind.
    fn take_if(&mut self, kind: Kind) -> Parse<Option<Token>> {
        if self.peek()? == kind { self.next().map(Some) } else { Ok(None) }
    }

    /// Takes the next token, which must have this kind.
    fn expect(&mut self, kind: Kind, code: &'static str) -> Parse<Token> {
        let token = self.next()?;
        if token.kind == kind { Ok(token) } else { self.fault(code, &token) }
    }

    fn put_back(&mut self, token: Token) {
        self.ahead = Some(token);
    }

    /// Reads the next token again when it is asked for.
    fn read_again(&mut self) {
        if let Some(token) = self.ahead.take() {
            self.lexer.go_back(token.start);
        }
    }

    fn mark(&self) -> Mark {
        let at = self.ahead.as_ref().map_or_else(|| self.lexer.position(), |token| token.start);
        self.mark_at(at)
    }

    fn mark_at(&self, at: usize) -> Mark {
        let out = &self.out;
        let lengths = [
            out.commands.len(),
            out.members.len(),
            out.types.len(),
            out.assignments.len(),
            out.redirections.len(),
            out.variables.len(),
            out.constructs.len(),
            out.pipelines.len(),
        ];
        Mark { at, lengths }
    }

    /// Goes back to a point and forgets what was found since.
    fn reset(&mut self, mark: Mark) {
        let [commands, members, types, assignments, redirections, variables, constructs, pipelines] =
            mark.lengths;
        self.ahead = None;
        self.lexer.go_back(mark.at);
        self.out.commands.truncate(commands);
        self.out.members.truncate(members);
        self.out.types.truncate(types);
        self.out.assignments.truncate(assignments);
        self.out.redirections.truncate(redirections);
        self.out.variables.truncate(variables);
        self.out.constructs.truncate(constructs);
        self.out.pipelines.truncate(pipelines);
    }

    fn set_mode(&mut self, mode: Mode) {
        let differs = |token: &Token| !token.kind.is_the_same_in_all_modes();
        if mode != self.lexer.mode && self.ahead.as_ref().is_some_and(differs) {
            self.read_again();
        }
        self.lexer.mode = mode;
    }

    /// Parses a part in this mode.
    fn in_mode<T>(&mut self, mode: Mode, part: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        let outer = self.lexer.mode;
        self.set_mode(mode);
        let result = part(self)?;
        self.set_mode(outer);
        Ok(result)
    }

    /// Parses a part in which a comma separates arguments, or makes an array.
    fn with_commas<T>(&mut self, separate: bool, part: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        let outer = std::mem::replace(&mut self.commas_separate, separate);
        let result = part(self)?;
        self.commas_separate = outer;
        Ok(result)
    }

    /// Parses a part one level deeper.
    fn deeper<T>(&mut self, part: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        if self.depth >= MAX_DEPTH {
            return self.missing("too_deep");
        }
        self.depth += 1;
        let result = part(self)?;
        self.depth -= 1;
        Ok(result)
    }

    fn skip_lines(&mut self) -> Parse<()> {
        self.skip_line_ends(false)
    }

    fn skip_lines_and_semicolons(&mut self) -> Parse<()> {
        self.skip_line_ends(true)
    }

    fn skip_line_ends(&mut self, semicolons: bool) -> Parse<()> {
        let skips = |token: &Token| token.kind == Kind::NewLine || (semicolons && token.kind == Kind::Semi);
        if !self.ahead.as_ref().is_none_or(skips) {
            return Ok(());
        }
        self.ahead = None;
        self.lexer.skip_lines(semicolons)
    }

    /// Records the place of the value of these assignments, which ends at the current position.
    fn value_ends(&mut self, first: usize, behind: usize, start: usize) {
        let end = self.lexer.map.offset(self.mark().at);
        let of_these = self.out.assignments.get_mut(first..behind).unwrap_or_default();
        of_these
            .iter_mut()
            .for_each(|assignment| assignment.value_span = Some(Span { start, end: end.max(start) }));
    }

    fn construct(&mut self, kind: ConstructKind, name: Option<String>, span: Span) {
        let is_outermost = self.depth == 0;
        self.out.constructs.push(Construct { kind, name, is_outermost, span });
    }

    /// Returns the last expression if it is the whole statement in this place.
    fn value_at(&mut self, statement: Span) -> Option<Expr> {
        self.sole.take().filter(|found| found.span == statement)
    }

    /// Parses the expressions inside a string.
    fn nested(&mut self, text: &Text) -> Parse<()> {
        self.deeper(|outer| {
            let lexer = Lexer::within(text, outer.lexer.fuel());
            let mut inner = Parser::new(lexer, outer.out);
            inner.depth = outer.depth;
            inner.within = outer.within;
            let result = inner.primary(true);
            let (fuel, requires) = (inner.lexer.fuel(), inner.lexer.requires);
            outer.lexer.set_fuel(fuel);
            outer.lexer.requires |= requires;
            result.map(|_| ())
        })
    }
}
