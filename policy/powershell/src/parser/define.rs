//! Functions, classes, enumerations and `using`.

use super::Parser;
use super::grammar::{Commands, Definitions, Expressions, Members, Statements, Types};
use super::parts::Place;
use crate::lexer::Mode;
use crate::token::{Keyword, Kind, Token};
use crate::tree::{Argument, ConstructKind, Parse, TypeName, TypeUse, Value};

impl Definitions for Parser<'_, '_> {
    fn function(&mut self, keyword: &Token) -> Parse<()> {
        self.skip_lines()?;
        let name = self.next()?;
        if !can_name_function(name.kind) {
            return self.fault("missing_name", &name);
        }
        let value = if name.kind == Kind::Generic { name.value.clone() } else { self.source(&name) };
        let span = self.span(keyword.start, name.end);
        self.construct(ConstructKind::Function, Some(value), span);
        parameters_in_parentheses(self)?;
        let opening = self.expect(Kind::LCurly, "missing_block")?;
        self.deeper(|parser| parser.block_contents(Some(&opening))).map(|_| ())
    }

    fn parameters(&mut self) -> Parse<()> {
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

    fn class(&mut self, keyword: &Token) -> Parse<()> {
        self.skip_lines()?;
        let Some(name) = self.simple_name()? else {
            return self.fault("missing_name", keyword);
        };
        let class = self.source(&name);
        let span = self.span(keyword.start, name.end);
        self.construct(ConstructKind::Class, Some(class.clone()), span);
        self.skip_lines()?;
        self.in_mode(Mode::Signature, |parser| {
            base_types(parser)?;
            parser.expect(Kind::LCurly, "missing_brace")?;
            parser.deeper(|parser| {
                while class_member(parser, &class)? {}
                Ok(())
            })?;
            parser.expect(Kind::RCurly, "missing_brace").map(|_| ())
        })
    }

    fn enumeration(&mut self, keyword: &Token) -> Parse<()> {
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
            end_of_member(self)?;
        }
        self.expect(Kind::RCurly, "missing_brace").map(|_| ())
    }

    fn using(&mut self, keyword: &Token) -> Parse<()> {
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
        using_item(self)?;
        if directive.kind != Kind::Keyword(Keyword::Assembly) && self.take_if(Kind::Equals)?.is_some() {
            using_item(self)?;
        }
        match self.peek()? {
            Kind::NewLine | Kind::Semi => self.next().map(|_| ()),
            Kind::EndOfInput => Ok(()),
            _ => self.missing("missing_end_of_statement"),
        }
    }
}

/// Parses parameters in parentheses, if there are any. Returns whether there are.
fn parameters_in_parentheses(parser: &mut Parser<'_, '_>) -> Parse<bool> {
    parser.skip_lines()?;
    if parser.take_if(Kind::LParen)?.is_none() {
        return Ok(false);
    }
    parser.parameters()?;
    parser.skip_lines()?;
    parser.expect(Kind::RParen, "missing_parenthesis")?;
    parser.skip_lines()?;
    Ok(true)
}

fn base_types(parser: &mut Parser<'_, '_>) -> Parse<()> {
    if parser.take_if(Kind::Colon)?.is_none() {
        return Ok(());
    }
    parser.skip_lines()?;
    loop {
        let Some((name, span)) = parser.type_name(false)? else {
            return parser.missing("missing_type");
        };
        parser.out.types.push(TypeName { name, role: TypeUse::Type, span });
        parser.skip_lines()?;
        if parser.take_if(Kind::Comma)?.is_none() {
            return Ok(());
        }
        parser.skip_lines()?;
    }
}

/// Parses a property or method. Returns false if there is none.
fn class_member(parser: &mut Parser<'_, '_>, class: &str) -> Parse<bool> {
    let mut started = false;
    let (mut is_static, mut is_hidden, mut types) = (false, false, 0);
    loop {
        parser.skip_lines()?;
        if let Some(attribute) = parser.attribute()? {
            types += usize::from(!attribute.has_arguments);
            if types > 1 {
                return parser.missing("too_many_types");
            }
        } else {
            let seen = match parser.peek()? {
                Kind::Keyword(Keyword::Hidden) => std::mem::replace(&mut is_hidden, true),
                Kind::Keyword(Keyword::Static) => std::mem::replace(&mut is_static, true),
                _ => break,
            };
            if seen {
                return parser.missing("repeated_qualifier");
            }
            parser.next()?;
        }
        started = true;
    }
    match parser.peek()? {
        Kind::Variable => property(parser)?,
        Kind::Identifier | Kind::Keyword(_) => method(parser, class, is_static)?,
        _ if started => return parser.missing("incomplete_member"),
        _ => return Ok(false),
    }
    Ok(true)
}

fn property(parser: &mut Parser<'_, '_>) -> Parse<()> {
    parser.next()?;
    if parser.take_if(Kind::Equals)?.is_some() {
        parser.skip_lines()?;
        parser.expression(false)?;
    }
    end_of_member(parser)
}

fn end_of_member(parser: &mut Parser<'_, '_>) -> Parse<()> {
    if !matches!(parser.peek()?, Kind::NewLine | Kind::Semi | Kind::RCurly) {
        return parser.missing("missing_end_of_member");
    }
    parser.skip_lines_and_semicolons()
}

fn method(parser: &mut Parser<'_, '_>, class: &str, is_static: bool) -> Parse<()> {
    let name = parser.next()?;
    if parser.peek()? != Kind::LParen {
        return parser.fault("missing_parenthesis", &name);
    }
    parameters_in_parentheses(parser)?;
    let is_constructor = parser.source(&name).eq_ignore_ascii_case(class) && !is_static;
    if is_constructor && parser.take_if(Kind::Colon)?.is_some() {
        parser.skip_lines()?;
        parser.expect(Kind::Keyword(Keyword::Base), "missing_base")?;
        parser.skip_lines()?;
        parser.expect(Kind::LParen, "missing_parenthesis")?;
        parser.argument_list()?;
        parser.skip_lines()?;
    }
    let opening = parser.expect(Kind::LCurly, "missing_block")?;
    parser.in_mode(Mode::Command, |parser| parser.block_contents(Some(&opening))).map(|_| ())
}

fn using_item(parser: &mut Parser<'_, '_>) -> Parse<()> {
    let token = parser.next()?;
    let found = parser.argument(Place::Argument, token)?;
    match found {
        Some(Argument { value: Value::String(..) | Value::Hashtable(_), .. }) => Ok(()),
        _ => parser.missing("missing_name"),
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
