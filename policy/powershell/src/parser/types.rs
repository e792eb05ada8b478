//! Names of types, and attributes.

use super::Parser;
use super::grammar::{Expressions, Statements, Types};
use super::parts::Attribute;
use crate::lexer::Mode;
use crate::lexer::reading::{Operators, Words};
use crate::source::Span;
use crate::token::{Kind, Token};
use crate::tree::{Parse, TypeName, TypeUse};

impl Types for Parser<'_, '_> {
    fn attributes(&mut self, in_expression: bool) -> Parse<Vec<Attribute>> {
        let mut found = Vec::new();
        while let Some(attribute) = self.attribute()? {
            if !in_expression || attribute.has_arguments {
                self.skip_lines()?;
            }
            found.push(attribute);
        }
        Ok(found)
    }

    fn attribute(&mut self) -> Parse<Option<Attribute>> {
        let opening = match &self.ahead {
            Some(token) if token.kind == Kind::LBracket => Some(self.next()?),
            Some(_) => None,
            None => self.lexer.left_bracket()?,
        };
        let Some(opening) = opening else {
            return Ok(None);
        };
        self.skip_lines()?;
        let Some((name, place)) = self.type_name(true)? else {
            return self.fault("missing_type", &opening);
        };
        let next = self.next()?;
        let (end, has_arguments) = match next.kind {
            Kind::RBracket => (next, false),
            Kind::LParen => {
                self.deeper(|parser| {
                    parser.skip_lines()?;
                    parser.in_mode(Mode::Expression, attribute_arguments)
                })?;
                self.skip_lines()?;
                self.expect(Kind::RParen, "missing_parenthesis")?;
                self.skip_lines()?;
                (self.expect(Kind::RBracket, "missing_bracket")?, true)
            }
            _ => return self.fault("missing_bracket", &next),
        };
        let role = if has_arguments { TypeUse::Attribute } else { TypeUse::Type };
        self.out.types.push(TypeName { name: name.clone(), role, span: place });
        Ok(Some(Attribute { name, span: self.span(opening.start, end.end), has_arguments }))
    }

    fn type_name(&mut self, with_assembly: bool) -> Parse<Option<(String, Span)>> {
        self.in_mode(Mode::TypeName, |parser| match parser.take_if(Kind::Identifier)? {
            Some(token) => {
                let found = (parser.source(&token), parser.place(&token));
                rest_of_type(parser, &token, false, with_assembly)?;
                Ok(Some(found))
            }
            None => Ok(None),
        })
    }

    fn type_list(&mut self, first: Token) -> Parse<()> {
        self.deeper(|parser| {
            let mut token = first;
            loop {
                listed_type(parser, token)?;
                parser.skip_lines()?;
                let next = parser.next()?;
                match next.kind {
                    Kind::RBracket => return Ok(()),
                    Kind::Comma => {}
                    _ => return parser.fault("missing_bracket", &next),
                }
                parser.skip_lines()?;
                token = parser.next()?;
            }
        })
    }
}

fn attribute_arguments(parser: &mut Parser<'_, '_>) -> Parse<()> {
    parser.with_commas(true, |parser| {
        loop {
            parser.skip_lines()?;
            let named = parser.simple_name()?.is_some();
            let has_value = !named || parser.take_if(Kind::Equals)?.is_some();
            if has_value {
                if named {
                    parser.skip_lines()?;
                }
                let found = parser.expression(false)?.is_some();
                if !found && (named || parser.peek()? == Kind::Comma) {
                    return parser.missing("missing_expression");
                }
            }
            parser.skip_lines()?;
            if parser.take_if(Kind::Comma)?.is_none() {
                return Ok(());
            }
        }
    })
}

/// Parses what follows a type's name: its arguments, dimensions and assembly.
fn rest_of_type(parser: &mut Parser<'_, '_>, name: &Token, in_list: bool, with_assembly: bool) -> Parse<()> {
    let kind = parser.peek()?;
    if kind == Kind::LBracket {
        parser.next()?;
        parser.skip_lines()?;
        let token = parser.next()?;
        return match token.kind {
            Kind::RBracket | Kind::Comma => dimensions(parser, token),
            Kind::LBracket | Kind::Identifier => {
                parser.type_list(token)?;
                after_type_list(parser, in_list)
            }
            _ => parser.fault("missing_type", &token),
        };
    }
    if kind == Kind::Comma && with_assembly && !in_list {
        parser.next()?;
        if !parser.lexer.skip_assembly() {
            return parser.fault("missing_assembly", name);
        }
    }
    Ok(())
}

fn after_type_list(parser: &mut Parser<'_, '_>, in_list: bool) -> Parse<()> {
    match parser.peek()? {
        Kind::LBracket => {
            parser.next()?;
            let token = parser.next()?;
            dimensions(parser, token)
        }
        Kind::Comma if !in_list => {
            parser.next()?;
            if parser.lexer.skip_assembly() { Ok(()) } else { parser.missing("missing_assembly") }
        }
        _ => Ok(()),
    }
}

fn listed_type(parser: &mut Parser<'_, '_>, token: Token) -> Parse<()> {
    let in_brackets = token.kind == Kind::LBracket;
    let name = if in_brackets { parser.next()? } else { token };
    if name.kind != Kind::Identifier {
        return parser.fault("missing_type", &name);
    }
    let span = parser.place(&name);
    parser.out.types.push(TypeName { name: parser.source(&name), role: TypeUse::Type, span });
    rest_of_type(parser, &name, !in_brackets, true)?;
    if in_brackets {
        parser.expect(Kind::RBracket, "missing_bracket")?;
    }
    Ok(())
}

/// Parses the rest of `[]`, `[,]` and the like, and the assembly after them.
fn dimensions(parser: &mut Parser<'_, '_>, first: Token) -> Parse<()> {
    let mut token = first;
    loop {
        while token.kind == Kind::Comma {
            token = parser.next()?;
        }
        if token.kind != Kind::RBracket {
            return parser.fault("missing_bracket", &token);
        }
        match parser.peek()? {
            Kind::LBracket => {
                parser.next()?;
                token = parser.next()?;
            }
            Kind::Comma => {
                parser.next()?;
                return if parser.lexer.skip_assembly() {
                    Ok(())
                } else {
                    parser.missing("missing_assembly")
                };
            }
            _ => return Ok(()),
        }
    }
}
