//! Scripts, blocks and statements.

use super::Parser;
use crate::Parse;
use crate::lexer::Mode;
use crate::source::Span;
use crate::token::{Keyword, Kind, Token};
use crate::tree::ConstructKind;

impl Parser<'_, '_> {
    /// Parses the whole text.
    pub(super) fn script(&mut self) -> Parse<()> {
        self.block_contents(None).map(|_| ())
    }

    /// Parses a script block up to its closing brace, or the text up to its end. Returns the place of that end.
    pub(super) fn block_contents(&mut self, opening: Option<&Token>) -> Parse<Span> {
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
        if !self.parameter_block()? {
            self.reset(mark);
        }
        self.skip_lines_and_semicolons()?;
        if is_block_name(self.peek()?) {
            self.named_blocks()?;
        } else {
            self.statements()?;
        }
        let end = if opening.is_some() { Kind::RCurly } else { Kind::EndOfInput };
        let end = self.expect(end, "unexpected_token")?;
        Ok(self.place(&end))
    }

    /// Parses `param(...)` with attributes before it. Returns false if there is none.
    fn parameter_block(&mut self) -> Parse<bool> {
        self.skip_lines()?;
        let attributes = self.attributes(false)?;
        self.skip_lines()?;
        if self.take_if(Kind::Keyword(Keyword::Param))?.is_none() {
            return Ok(false);
        }
        self.skip_lines()?;
        if self.take_if(Kind::LParen)?.is_none() {
            return Ok(false);
        }
        if attributes.iter().any(|attribute| !attribute.has_arguments) {
            return self.missing("type_before_param");
        }
        self.parameters()?;
        self.skip_lines()?;
        self.expect(Kind::RParen, "missing_parenthesis")?;
        Ok(true)
    }

    /// Parses `begin`, `process`, `end` and the like, each with its block.
    fn named_blocks(&mut self) -> Parse<()> {
        let mut seen = Vec::new();
        while is_block_name(self.peek()?) {
            let name = self.next()?;
            if seen.contains(&name.kind) {
                return self.fault("repeated_block", &name);
            }
            seen.push(name.kind);
            if !self.statement_block()? {
                return self.fault("missing_block", &name);
            }
            self.skip_lines_and_semicolons()?;
        }
        Ok(())
    }

    /// Parses statements in braces. Returns false if there are none.
    pub(super) fn statement_block(&mut self) -> Parse<bool> {
        self.skip_lines()?;
        if self.take_if(Kind::LCurly)?.is_none() {
            return Ok(false);
        }
        self.deeper(Self::statements)?;
        self.expect(Kind::RCurly, "missing_brace")?;
        Ok(true)
    }

    /// Parses statements in braces that must be there.
    pub(super) fn required_block(&mut self) -> Parse<()> {
        if self.statement_block()? { Ok(()) } else { self.missing("missing_block") }
    }

    /// Parses any number of statements.
    pub(super) fn statements(&mut self) -> Parse<()> {
        self.skip_lines_and_semicolons()?;
        while self.statement()?.is_some() {
            self.skip_lines_and_semicolons()?;
            if matches!(self.peek()?, Kind::RParen | Kind::RCurly) {
                break;
            }
        }
        Ok(())
    }

    /// Parses one statement. Returns its place, or `None` if there is none.
    pub(super) fn statement(&mut self) -> Parse<Option<Span>> {
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
            Kind::Keyword(keyword) => match self.keyword_statement(keyword, &token)? {
                true => Ok(Some(place)),
                false => self.pipeline_at(token),
            },
            Kind::Label => {
                let mark = self.mark_at(token.start);
                self.skip_lines()?;
                let next = self.next()?;
                let loops = match next.kind {
                    Kind::Keyword(keyword) => is_loop(keyword) && self.keyword_statement(keyword, &next)?,
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
            _ => self.pipeline_at(token),
        }
    }

    fn pipeline_at(&mut self, token: Token) -> Parse<Option<Span>> {
        self.put_back(token);
        self.pipeline_chain()
    }

    /// Parses the statement that starts with a keyword. Returns false if the word is the name of a command.
    fn keyword_statement(&mut self, keyword: Keyword, token: &Token) -> Parse<bool> {
        match keyword {
            Keyword::If => self.if_statement()?,
            Keyword::Switch => self.switch(token)?,
            Keyword::ForEach => self.for_each()?,
            Keyword::For => self.for_loop()?,
            Keyword::While => self.while_loop()?,
            Keyword::Do => self.do_loop()?,
            Keyword::Function | Keyword::Filter => self.function(token)?,
            Keyword::Return | Keyword::Throw => {
                self.pipeline_chain()?;
            }
            Keyword::Exit => {
                let place = self.place(token);
                self.construct(ConstructKind::Exit, None, place);
                self.pipeline_chain()?;
            }
            Keyword::Break | Keyword::Continue => self.label_or_key().map(|_| ())?,
            Keyword::Trap => self.trap(token)?,
            Keyword::Try => self.try_statement()?,
            Keyword::Data => self.data(token)?,
            Keyword::Class => self.class(token)?,
            Keyword::Enum => self.enumeration(token)?,
            Keyword::Configuration
            | Keyword::Define
            | Keyword::From
            | Keyword::Parallel
            | Keyword::Sequence
            | Keyword::Using
            | Keyword::Var
            | Keyword::Workflow => return self.fault("statement_not_supported", token),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Parses `name`, or another expression in the place of a name.
    pub(super) fn label_or_key(&mut self) -> Parse<bool> {
        if self.simple_name()?.is_some() {
            return Ok(true);
        }
        if matches!(self.peek()?, Kind::NewLine | Kind::Semi) {
            return Ok(false);
        }
        let found = self.with_commas(true, |parser| parser.unary(false))?;
        Ok(found.is_some())
    }

    /// Takes the next token if it is a name.
    pub(super) fn simple_name(&mut self) -> Parse<Option<Token>> {
        self.lexer.simple_name = true;
        let kind = self.peek();
        self.lexer.simple_name = false;
        if kind? == Kind::Identifier { self.next().map(Some) } else { Ok(None) }
    }

    /// Parses statements in brackets, after the opening one.
    pub(super) fn bracketed_statements(&mut self) -> Parse<Token> {
        self.with_commas(false, |parser| {
            parser.in_mode(Mode::Command, |parser| {
                parser.skip_lines()?;
                parser.statements()?;
                parser.skip_lines()?;
                parser.expect(Kind::RParen, "missing_parenthesis")
            })
        })
    }
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
