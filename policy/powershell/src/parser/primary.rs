//! Values: variables, literals, and everything in brackets.

use super::Parser;
use super::grammar::{Commands, Members, Pipelines, Primaries, Statements};
use super::parts::Expr;
use crate::lexer::Mode;
use crate::source::Span;
use crate::token::{Kind, Token};
use crate::tree::{Argument, Entries, Parse, Quote, Value};

impl Primaries for Parser<'_, '_> {
    fn primary(&mut self, with_members: bool) -> Parse<Option<Expr>> {
        let token = self.next()?;
        let place = self.place(&token);
        let found = match token.kind {
            Kind::Variable | Kind::Splat => return self.variable(token, with_members).map(Some),
            Kind::Number => {
                let is_whole = is_whole(self.lexer.slice(token.start, token.end));
                Expr::new(Value::Number { is_whole }, place)
            }
            Kind::StringExpandable => string(self, &token, Quote::Double)?,
            Kind::HereExpandable => string(self, &token, Quote::DoubleHere)?,
            Kind::StringLiteral => Expr::new(Value::String(token.value, Quote::Single), place),
            Kind::HereLiteral => Expr::new(Value::String(token.value, Quote::SingleHere), place),
            Kind::LParen | Kind::AtParen | Kind::DollarParen | Kind::AtCurly | Kind::LCurly => {
                self.deeper(|parser| bracketed(parser, &token))?
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

    fn script_block(&mut self, opening: &Token) -> Parse<Expr> {
        let end = self.with_commas(false, |parser| {
            parser.in_mode(Mode::Command, |parser| {
                parser.skip_lines()?;
                parser.block_contents(Some(opening))
            })
        })?;
        Ok(Expr::new(Value::ScriptBlock, Span { start: self.place(opening).start, end: end.end }))
    }
}

fn string(parser: &mut Parser<'_, '_>, token: &Token, quote: Quote) -> Parse<Expr> {
    let place = parser.place(token);
    if token.parts.is_empty() {
        return Ok(Expr::new(Value::String(token.value.clone(), quote), place));
    }
    let lead = parser.expand(token)?;
    Ok(Expr::new(Value::Expandable(lead), place))
}

fn bracketed(parser: &mut Parser<'_, '_>, opening: &Token) -> Parse<Expr> {
    let (value, end) = match opening.kind {
        Kind::LParen => (Value::Parentheses, parentheses(parser)?),
        Kind::AtParen => (Value::ArrayExpression, parser.bracketed_statements()?),
        Kind::DollarParen => (Value::SubExpression, parser.bracketed_statements()?),
        Kind::AtCurly => {
            let (entries, end) = hashtable(parser)?;
            (Value::Hashtable(entries), end)
        }
        _ => return parser.script_block(opening),
    };
    Ok(Expr::new(value, parser.span(opening.start, end.end)))
}

fn parentheses(parser: &mut Parser<'_, '_>) -> Parse<Token> {
    parser.with_commas(false, |parser| {
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

fn hashtable(parser: &mut Parser<'_, '_>) -> Parse<(Option<Entries>, Token)> {
    let mut entries: Option<Entries> = Some(Vec::new());
    parser.skip_lines()?;
    while let Some(entry) = hash_entry(parser)? {
        match (&mut entries, entry.known) {
            (Some(entries), Some(known)) => entries.push(known),
            _ => entries = None,
        }
        if !matches!(parser.peek()?, Kind::NewLine | Kind::Semi) {
            break;
        }
        parser.skip_lines_and_semicolons()?;
    }
    Ok((entries, parser.expect(Kind::RCurly, "missing_brace")?))
}

/// An entry of a table, if its key and value are known.
struct Entry {
    known: Option<(String, Argument)>,
}

fn hash_entry(parser: &mut Parser<'_, '_>) -> Parse<Option<Entry>> {
    let (found, key) = parser.in_mode(Mode::Expression, |parser| {
        let (found, key) = parser.label_or_key()?;
        if found {
            parser.expect(Kind::Equals, "missing_equals")?;
        }
        Ok((found, key))
    })?;
    if !found {
        return Ok(None);
    }
    let value = parser.in_mode(Mode::Command, |parser| {
        parser.skip_lines()?;
        match parser.statement()? {
            Some(place) => Ok(parser.value_at(place)),
            None => parser.missing("missing_value"),
        }
    })?;
    let known = key.zip(value).map(|(key, value)| (key, Argument { value: value.value, span: value.span }));
    Ok(Some(Entry { known }))
}

/// Reports whether a number is an integer without a suffix for its type.
fn is_whole(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    lower.contains("0x") || !lower.contains(['.', 'e', 'd', 'l', 'u', 's', 'y', 'n'])
}
