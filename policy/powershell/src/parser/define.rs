//! Functions, classes, enumerations and `using`.

use super::Parser;
use super::command::Place;
use crate::Parse;
use crate::lexer::Mode;
use crate::token::{Keyword, Kind, Token};
use crate::tree::{Argument, ConstructKind, Value};

impl Parser<'_, '_> {
    pub(super) fn function(&mut self, keyword: &Token) -> Parse<()> {
        self.skip_lines()?;
        let name = self.next()?;
        if !can_name_function(name.kind) {
            return self.fault("missing_name", &name);
        }
        let value = if name.kind == Kind::Generic { name.value.clone() } else { self.source(&name) };
        let span = self.span(keyword.start, name.end);
        self.construct(ConstructKind::Function, Some(value), span);
        self.parameters_in_parentheses()?;
        let opening = self.expect(Kind::LCurly, "missing_block")?;
        self.deeper(|parser| parser.block_contents(Some(&opening))).map(|_| ())
    }

    /// Parses parameters in parentheses, if there are any. Returns whether there are.
    fn parameters_in_parentheses(&mut self) -> Parse<bool> {
        self.skip_lines()?;
        if self.take_if(Kind::LParen)?.is_none() {
            return Ok(false);
        }
        self.parameters()?;
        self.skip_lines()?;
        self.expect(Kind::RParen, "missing_parenthesis")?;
        self.skip_lines()?;
        Ok(true)
    }

    /// Parses the declarations of parameters, up to the closing parenthesis.
    pub(super) fn parameters(&mut self) -> Parse<()> {
        let mut after_comma = false;
        loop {
            if !self.deeper(Self::parameter)? {
                return if after_comma { self.missing("missing_parameter") } else { Ok(()) };
            }
            self.skip_lines()?;
            if self.take_if(Kind::Comma)?.is_none() {
                return Ok(());
            }
            after_comma = true;
        }
    }

    fn parameter(&mut self) -> Parse<bool> {
        self.with_commas(true, |parser| {
            parser.in_mode(Mode::Expression, |parser| {
                parser.skip_lines()?;
                let attributes = parser.attributes(false)?;
                parser.skip_lines()?;
                let token = parser.next()?;
                if !matches!(token.kind, Kind::Variable | Kind::Splat) {
                    if !attributes.is_empty() {
                        return parser.fault("missing_variable", &token);
                    }
                    parser.put_back(token);
                    return Ok(false);
                }
                let place = parser.place(&token);
                parser.construct(ConstructKind::Parameter, Some(token.value), place);
                parser.skip_lines()?;
                if parser.take_if(Kind::Equals)?.is_some() {
                    parser.skip_lines()?;
                    if parser.expression(false)?.is_none() {
                        return parser.missing("missing_expression");
                    }
                }
                Ok(true)
            })
        })
    }

    pub(super) fn class(&mut self, keyword: &Token) -> Parse<()> {
        self.skip_lines()?;
        let Some(name) = self.simple_name()? else {
            return self.fault("missing_name", keyword);
        };
        let class = self.source(&name);
        let span = self.span(keyword.start, name.end);
        self.construct(ConstructKind::Class, Some(class.clone()), span);
        self.skip_lines()?;
        self.in_mode(Mode::Signature, |parser| {
            parser.base_types()?;
            parser.expect(Kind::LCurly, "missing_brace")?;
            parser.deeper(|parser| {
                while parser.class_member(&class)? {}
                Ok(())
            })?;
            parser.expect(Kind::RCurly, "missing_brace").map(|_| ())
        })
    }

    fn base_types(&mut self) -> Parse<()> {
        if self.take_if(Kind::Colon)?.is_none() {
            return Ok(());
        }
        self.skip_lines()?;
        loop {
            if self.type_name(false)?.is_none() {
                return self.missing("missing_type");
            }
            self.skip_lines()?;
            if self.take_if(Kind::Comma)?.is_none() {
                return Ok(());
            }
            self.skip_lines()?;
        }
    }

    /// Parses a property or method. Returns false if there is none.
    fn class_member(&mut self, class: &str) -> Parse<bool> {
        let mut started = false;
        let (mut is_static, mut is_hidden, mut types) = (false, false, 0);
        loop {
            self.skip_lines()?;
            if let Some(attribute) = self.attribute()? {
                types += usize::from(!attribute.has_arguments);
                if types > 1 {
                    return self.missing("too_many_types");
                }
            } else {
                let seen = match self.peek()? {
                    Kind::Keyword(Keyword::Hidden) => std::mem::replace(&mut is_hidden, true),
                    Kind::Keyword(Keyword::Static) => std::mem::replace(&mut is_static, true),
                    _ => break,
                };
                if seen {
                    return self.missing("repeated_qualifier");
                }
                self.next()?;
            }
            started = true;
        }
        match self.peek()? {
            Kind::Variable => self.property()?,
            Kind::Identifier | Kind::Keyword(_) => self.method(class, is_static)?,
            _ if started => return self.missing("incomplete_member"),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn property(&mut self) -> Parse<()> {
        self.next()?;
        if self.take_if(Kind::Equals)?.is_some() {
            self.skip_lines()?;
            self.expression(false)?;
        }
        self.end_of_member()
    }

    fn end_of_member(&mut self) -> Parse<()> {
        if !matches!(self.peek()?, Kind::NewLine | Kind::Semi | Kind::RCurly) {
            return self.missing("missing_end_of_member");
        }
        self.skip_lines_and_semicolons()
    }

    fn method(&mut self, class: &str, is_static: bool) -> Parse<()> {
        let name = self.next()?;
        if self.peek()? != Kind::LParen {
            return self.fault("missing_parenthesis", &name);
        }
        self.parameters_in_parentheses()?;
        let is_constructor = self.source(&name).eq_ignore_ascii_case(class) && !is_static;
        if is_constructor && self.take_if(Kind::Colon)?.is_some() {
            self.skip_lines()?;
            self.expect(Kind::Keyword(Keyword::Base), "missing_base")?;
            self.skip_lines()?;
            self.expect(Kind::LParen, "missing_parenthesis")?;
            self.argument_list()?;
            self.skip_lines()?;
        }
        let opening = self.expect(Kind::LCurly, "missing_block")?;
        self.in_mode(Mode::Command, |parser| parser.block_contents(Some(&opening))).map(|_| ())
    }

    pub(super) fn enumeration(&mut self, keyword: &Token) -> Parse<()> {
        self.skip_lines()?;
        let Some(name) = self.simple_name()? else {
            return self.fault("missing_name", keyword);
        };
        let value = self.source(&name);
        let span = self.span(keyword.start, name.end);
        self.construct(ConstructKind::Enum, Some(value), span);
        self.skip_lines()?;
        self.in_mode(Mode::Signature, |parser| {
            if parser.take_if(Kind::Colon)?.is_some() {
                parser.skip_lines()?;
                if parser.type_name(false)?.is_none() {
                    return parser.missing("missing_type");
                }
                parser.skip_lines()?;
            }
            parser.expect(Kind::LCurly, "missing_brace").map(|_| ())
        })?;
        loop {
            self.skip_lines()?;
            if self.simple_name()?.is_none() {
                break;
            }
            self.in_mode(Mode::Expression, |parser| {
                let has_value = parser.take_if(Kind::Equals)?.is_some();
                if has_value && parser.expression(false)?.is_none() {
                    return parser.missing("missing_expression");
                }
                Ok(())
            })?;
            self.end_of_member()?;
        }
        self.expect(Kind::RCurly, "missing_brace").map(|_| ())
    }

    pub(super) fn using(&mut self, keyword: &Token) -> Parse<()> {
        let directive = self.next()?;
        let Kind::Keyword(
            Keyword::Assembly | Keyword::Command | Keyword::Module | Keyword::Namespace | Keyword::Type,
        ) = directive.kind
        else {
            return self.fault("missing_directive", &directive);
        };
        let span = self.span(keyword.start, directive.end);
        let name = self.source(&directive).to_ascii_lowercase();
        self.construct(ConstructKind::Using, Some(name), span);
        self.using_item()?;
        if directive.kind != Kind::Keyword(Keyword::Assembly) && self.take_if(Kind::Equals)?.is_some() {
            self.using_item()?;
        }
        match self.peek()? {
            Kind::NewLine | Kind::Semi => self.next().map(|_| ()),
            Kind::EndOfInput => Ok(()),
            _ => self.missing("missing_end_of_statement"),
        }
    }

    fn using_item(&mut self) -> Parse<()> {
        let token = self.next()?;
        let found = self.argument(Place::Argument, token)?;
        match found {
            Some(Argument { value: Value::String(..) | Value::Hashtable, .. }) => Ok(()),
            _ => self.missing("missing_name"),
        }
    }
}

/// Reports whether a token can be the name of a function.
fn can_name_function(kind: Kind) -> bool {
    !kind.is_redirection()
        && !matches!(
            kind,
            Kind::Pipe
                | Kind::LParen
                | Kind::LCurly
                | Kind::AtParen
                | Kind::AtCurly
                | Kind::RCurly
                | Kind::RParen
                | Kind::EndOfInput
                | Kind::Semi
                | Kind::AndAnd
                | Kind::OrOr
                | Kind::Ampersand
                | Kind::Variable
                | Kind::Splat
                | Kind::HereExpandable
                | Kind::HereLiteral
                | Kind::StringLiteral
                | Kind::StringExpandable
        )
}
