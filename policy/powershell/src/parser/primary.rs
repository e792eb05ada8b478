//! Values: variables, literals, and everything in brackets.

use super::Parser;
use super::expression::Expr;
use crate::Parse;
use crate::lexer::Mode;
use crate::source::Span;
use crate::token::{Kind, Token};
use crate::tree::{Quote, Value};

impl Parser<'_, '_> {
    /// Parses a value and, if they are wanted, the accesses to its members. Returns `None` if there is no value.
    pub(super) fn primary(&mut self, with_members: bool) -> Parse<Option<Expr>> {
        let token = self.next()?;
        let place = self.place(&token);
        let found = match token.kind {
            Kind::Variable | Kind::Splat => return self.variable(token, with_members).map(Some),
            Kind::Number => Expr::new(Value::Number, place),
            Kind::StringExpandable => self.string(&token, Quote::Double)?,
            Kind::HereExpandable => self.string(&token, Quote::DoubleHere)?,
            Kind::StringLiteral => Expr::new(Value::String(token.value, Quote::Single), place),
            Kind::HereLiteral => Expr::new(Value::String(token.value, Quote::SingleHere), place),
            Kind::LParen | Kind::AtParen | Kind::DollarParen | Kind::AtCurly | Kind::LCurly => {
                self.deeper(|parser| parser.bracketed(&token))?
            }
            _ => {
                self.put_back(token);
                return Ok(None);
            }
        };
        if with_members { self.members_if_any(found).map(Some) } else { Ok(Some(found)) }
    }

    fn variable(&mut self, token: Token, with_members: bool) -> Parse<Expr> {
        const USING: &str = "using:";
        let place = self.place(&token);
        self.out.variables.push(token.value.clone());
        let scope = token.value.get(..USING.len());
        let is_using = scope.is_some_and(|scope| scope.eq_ignore_ascii_case(USING));
        let value = match token.kind {
            _ if is_using => Value::Using,
            Kind::Splat => Value::Splat(token.value),
            _ => Value::Variable(token.value),
        };
        let found = Expr::new(value, place);
        if !with_members {
            return Ok(found);
        }
        let found = self.members_if_any(found)?;
        Ok(if is_using { Expr::new(Value::Using, found.span) } else { found })
    }

    fn string(&mut self, token: &Token, quote: Quote) -> Parse<Expr> {
        let place = self.place(token);
        if token.parts.is_empty() {
            return Ok(Expr::new(Value::String(token.value.clone(), quote), place));
        }
        let lead = self.expand(token)?;
        Ok(Expr::new(Value::Expandable(lead), place))
    }

    fn bracketed(&mut self, opening: &Token) -> Parse<Expr> {
        let (value, end) = match opening.kind {
            Kind::LParen => (Value::Parentheses, self.parentheses()?),
            Kind::AtParen => (Value::ArrayExpression, self.bracketed_statements()?),
            Kind::DollarParen => (Value::SubExpression, self.bracketed_statements()?),
            Kind::AtCurly => (Value::Hashtable, self.hashtable()?),
            _ => return self.script_block(opening),
        };
        Ok(Expr::new(value, self.span(opening.start, end.end)))
    }

    fn parentheses(&mut self) -> Parse<Token> {
        self.with_commas(false, |parser| {
            parser.in_mode(Mode::Command, |parser| {
                parser.skip_lines()?;
                if parser.pipeline_chain()?.is_none() {
                    return parser.missing("missing_expression");
                }
                parser.skip_lines()?;
                parser.expect(Kind::RParen, "missing_parenthesis")
            })
        })
    }

    fn hashtable(&mut self) -> Parse<Token> {
        self.skip_lines()?;
        while self.hash_entry()? {
            if !matches!(self.peek()?, Kind::NewLine | Kind::Semi) {
                break;
            }
            self.skip_lines_and_semicolons()?;
        }
        self.expect(Kind::RCurly, "missing_brace")
    }

    fn hash_entry(&mut self) -> Parse<bool> {
        let found = self.in_mode(Mode::Expression, |parser| {
            let found = parser.label_or_key()?;
            if found {
                parser.expect(Kind::Equals, "missing_equals")?;
            }
            Ok(found)
        })?;
        if found {
            self.in_mode(Mode::Command, |parser| {
                parser.skip_lines()?;
                match parser.statement()? {
                    Some(_) => Ok(()),
                    None => parser.missing("missing_value"),
                }
            })?;
        }
        Ok(found)
    }

    /// Parses a script block as a value, after its opening brace.
    pub(super) fn script_block(&mut self, opening: &Token) -> Parse<Expr> {
        let end = self.with_commas(false, |parser| {
            parser.in_mode(Mode::Command, |parser| {
                parser.skip_lines()?;
                parser.block_contents(Some(opening))
            })
        })?;
        Ok(Expr::new(Value::ScriptBlock, Span { start: self.place(opening).start, end: end.end }))
    }
}
