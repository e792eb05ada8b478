//! Scripts, blocks and statements.

use super::Parser;
use super::grammar::{Definitions, Expressions, Flow, Pipelines, Statements, Types};
use crate::lexer::Mode;
use crate::source::Span;
use crate::token::{Keyword, Kind, Token};
use crate::tree::ConstructKind;
use crate::tree::Parse;

impl Statements for Parser<'_, '_> {
    fn script(&mut self) -> Parse<()> {
        self.block_contents(None).map(|_| ())
    }

    fn block_contents(&mut self, opening: Option<&Token>) -> Parse<Span> {
        self.skip_lines()?;
        if opening.is_none() {
            while self.peek()? == Kind::Keyword(Keyword::Using) {
                let using = self.next()?;
                self.using(&using)?;
                self.skip_lines_and_semicolons()?;
            }
            self.read_again();
        }
        let mark = self.mark();
        if !parameter_block(self)? {
            self.reset(mark);
        }
        self.skip_lines_and_semicolons()?;
        if is_block_name(self.peek()?) {
            named_blocks(self)?;
        } else {
            statements(self)?;
        }
        let end = if opening.is_some() { Kind::RCurly } else { Kind::EndOfInput };
        let end = self.expect(end, "unexpected_token")?;
        Ok(self.place(&end))
    }

    fn required_block(&mut self) -> Parse<()> {
        if statement_block(self)? { Ok(()) } else { self.missing("missing_block") }
    }

    fn statement(&mut self) -> Parse<Option<Span>> {
        let start = self.mark();
        let mut token = self.next()?;
        if token.kind == Kind::Generic && self.lexer.slice(token.start, token.start + 1) == "[" {
            self.reset(self.mark_at(token.start));
            let attributes = self.attributes(false)?;
            let typed = attributes.iter().any(|attribute| !attribute.has_arguments);
            token = self.next()?;
            if !matches!(token.kind, Kind::Keyword(Keyword::Class | Keyword::Enum)) {
                if matches!(token.kind, Kind::Keyword(_)) && !typed {
                    return self.fault("attribute_before_statement", &token);
                }
                self.reset(start);
                return self.pipeline_chain();
            }
            if typed {
                return self.fault("type_before_statement", &token);
            }
        }
        let place = self.place(&token);
        match token.kind {
            Kind::Keyword(keyword) => match keyword_statement(self, keyword, &token)? {
                true => Ok(Some(place)),
                false => pipeline_at(self, token),
            },
            Kind::Label => {
                let mark = self.mark_at(token.start);
                self.skip_lines()?;
                let next = self.next()?;
                let loops = match next.kind {
                    Kind::Keyword(keyword) => is_loop(keyword) && keyword_statement(self, keyword, &next)?,
                    _ => false,
                };
                if loops {
                    return Ok(Some(place));
                }
                self.reset(mark);
                self.pipeline_chain()
            }
            Kind::EndOfInput => {
                self.put_back(token);
                Ok(None)
            }
            _ => pipeline_at(self, token),
        }
    }

    fn label_or_key(&mut self) -> Parse<(bool, Option<String>)> {
        if let Some(name) = self.simple_name()? {
            return Ok((true, Some(self.source(&name))));
        }
        if matches!(self.peek()?, Kind::NewLine | Kind::Semi) {
            return Ok((false, None));
        }
        let found = self.with_commas(true, |parser| parser.unary(false))?;
        let text = found.as_ref().and_then(|key| key.value.as_string()).map(str::to_owned);
        Ok((found.is_some(), text))
    }

    fn simple_name(&mut self) -> Parse<Option<Token>> {
        self.lexer.simple_name = true;
        let kind = self.peek();
        self.lexer.simple_name = false;
        if kind? == Kind::Identifier { self.next().map(Some) } else { Ok(None) }
    }

    fn bracketed_statements(&mut self) -> Parse<Token> {
        self.with_commas(false, |parser| {
            parser.in_mode(Mode::Command, |parser| {
                parser.skip_lines()?;
                statements(parser)?;
                parser.skip_lines()?;
                parser.expect(Kind::RParen, "missing_parenthesis")
            })
        })
    }
}

/// Parses `param(...)` with attributes before it. Returns false if there is none.
fn parameter_block(parser: &mut Parser<'_, '_>) -> Parse<bool> {
    parser.skip_lines()?;
    let attributes = parser.attributes(false)?;
    parser.skip_lines()?;
    if parser.take_if(Kind::Keyword(Keyword::Param))?.is_none() {
        return Ok(false);
    }
    parser.skip_lines()?;
    if parser.take_if(Kind::LParen)?.is_none() {
        return Ok(false);
    }
    if attributes.iter().any(|attribute| !attribute.has_arguments) {
        return parser.missing("type_before_param");
    }
    parser.parameters()?;
    parser.skip_lines()?;
    parser.expect(Kind::RParen, "missing_parenthesis")?;
    Ok(true)
}

/// Parses `begin`, `process`, `end` and the like, each with its block.
fn named_blocks(parser: &mut Parser<'_, '_>) -> Parse<()> {
    let mut seen = Vec::new();
    while is_block_name(parser.peek()?) {
        let name = parser.next()?;
        if seen.contains(&name.kind) {
            return parser.fault("repeated_block", &name);
        }
        seen.push(name.kind);
        if !statement_block(parser)? {
            return parser.fault("missing_block", &name);
        }
        parser.skip_lines_and_semicolons()?;
    }
    Ok(())
}

/// Parses statements in braces. Returns false if there are none.
fn statement_block(parser: &mut Parser<'_, '_>) -> Parse<bool> {
    parser.skip_lines()?;
    if parser.take_if(Kind::LCurly)?.is_none() {
        return Ok(false);
    }
    parser.deeper(statements)?;
    parser.expect(Kind::RCurly, "missing_brace")?;
    Ok(true)
}

/// Parses any number of statements.
fn statements(parser: &mut Parser<'_, '_>) -> Parse<()> {
    parser.skip_lines_and_semicolons()?;
    while parser.statement()?.is_some() {
        parser.skip_lines_and_semicolons()?;
        if matches!(parser.peek()?, Kind::RParen | Kind::RCurly) {
            break;
        }
    }
    Ok(())
}

fn pipeline_at(parser: &mut Parser<'_, '_>, token: Token) -> Parse<Option<Span>> {
    parser.put_back(token);
    parser.pipeline_chain()
}

/// Parses the statement that starts with a keyword. Returns false if the word is the name of a command.
fn keyword_statement(parser: &mut Parser<'_, '_>, keyword: Keyword, token: &Token) -> Parse<bool> {
    match keyword {
        Keyword::If => parser.if_statement()?,
        Keyword::Switch => parser.switch(token)?,
        Keyword::ForEach => parser.for_each()?,
        Keyword::For => parser.for_loop()?,
        Keyword::While => parser.while_loop()?,
        Keyword::Do => parser.do_loop()?,
        Keyword::Function | Keyword::Filter => parser.function(token)?,
        Keyword::Return | Keyword::Throw => {
            parser.pipeline_chain()?;
        }
        Keyword::Exit => {
            let place = parser.place(token);
            parser.construct(ConstructKind::Exit, None, place);
            parser.pipeline_chain()?;
        }
        Keyword::Break | Keyword::Continue => parser.label_or_key().map(|_| ())?,
        Keyword::Trap => parser.trap(token)?,
        Keyword::Try => parser.try_statement()?,
        Keyword::Data => parser.data(token)?,
        Keyword::Class => parser.class(token)?,
        Keyword::Enum => parser.enumeration(token)?,
        Keyword::Configuration
        | Keyword::Define
        | Keyword::From
        | Keyword::Parallel
        | Keyword::Sequence
        | Keyword::Using
        | Keyword::Var
        | Keyword::Workflow => return parser.fault("statement_not_supported", token),
        _ => return Ok(false),
    }
    Ok(true)
}

fn is_block_name(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Keyword(
            Keyword::Begin | Keyword::Clean | Keyword::DynamicParam | Keyword::End | Keyword::Process
        )
    )
}

fn is_loop(keyword: Keyword) -> bool {
    matches!(keyword, Keyword::Switch | Keyword::ForEach | Keyword::For | Keyword::While | Keyword::Do)
}
