//! Names of types, and attributes.

use super::Parser;
use crate::Parse;
use crate::lexer::Mode;
use crate::source::Span;
use crate::token::{Kind, Token};
use crate::tree::{TypeName, TypeUse};

/// A type in brackets, or an attribute.
#[derive(Debug, Clone)]
pub(super) struct Attribute {
    pub(super) name: String,
    pub(super) span: Span,
    /// Whether it is an attribute and not a type.
    pub(super) has_arguments: bool,
}

impl Parser<'_, '_> {
    /// Parses any number of types and attributes.
    pub(super) fn attributes(&mut self, in_expression: bool) -> Parse<Vec<Attribute>> {
        let mut found = Vec::new();
        while let Some(attribute) = self.attribute()? {
            if !in_expression || attribute.has_arguments {
                self.skip_lines()?;
            }
            found.push(attribute);
        }
        Ok(found)
    }

    /// Parses a type in brackets, or an attribute.
    pub(super) fn attribute(&mut self) -> Parse<Option<Attribute>> {
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
                    parser.in_mode(Mode::Expression, Self::attribute_arguments)
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

    fn attribute_arguments(&mut self) -> Parse<()> {
        self.with_commas(true, |parser| {
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

    /// Parses the name of a type. Returns it without its arguments.
    pub(super) fn type_name(&mut self, with_assembly: bool) -> Parse<Option<(String, Span)>> {
        self.in_mode(Mode::TypeName, |parser| match parser.take_if(Kind::Identifier)? {
            Some(token) => {
                let found = (parser.source(&token), parser.place(&token));
                parser.rest_of_type(&token, false, with_assembly)?;
                Ok(Some(found))
            }
            None => Ok(None),
        })
    }

    /// Parses what follows a type's name: its arguments, dimensions and assembly.
    fn rest_of_type(&mut self, name: &Token, in_list: bool, with_assembly: bool) -> Parse<()> {
        let kind = self.peek()?;
        if kind == Kind::LBracket {
            self.next()?;
            self.skip_lines()?;
            let token = self.next()?;
            return match token.kind {
                Kind::RBracket | Kind::Comma => self.dimensions(token),
                Kind::LBracket | Kind::Identifier => {
                    self.type_list(token)?;
                    self.after_type_list(in_list)
                }
                _ => self.fault("missing_type", &token),
            };
        }
        if kind == Kind::Comma && with_assembly && !in_list {
            self.next()?;
            if !self.lexer.skip_assembly() {
                return self.fault("missing_assembly", name);
            }
        }
        Ok(())
    }

    fn after_type_list(&mut self, in_list: bool) -> Parse<()> {
        match self.peek()? {
            Kind::LBracket => {
                self.next()?;
                let token = self.next()?;
                self.dimensions(token)
            }
            Kind::Comma if !in_list => {
                self.next()?;
                if self.lexer.skip_assembly() { Ok(()) } else { self.missing("missing_assembly") }
            }
            _ => Ok(()),
        }
    }

    /// Parses the types of a generic type or method, and the bracket that closes them.
    pub(super) fn type_list(&mut self, first: Token) -> Parse<()> {
        self.deeper(|parser| {
            let mut token = first;
            loop {
                parser.listed_type(token)?;
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

    fn listed_type(&mut self, token: Token) -> Parse<()> {
        let in_brackets = token.kind == Kind::LBracket;
        let name = if in_brackets { self.next()? } else { token };
        if name.kind != Kind::Identifier {
            return self.fault("missing_type", &name);
        }
        let span = self.place(&name);
        self.out.types.push(TypeName { name: self.source(&name), role: TypeUse::Type, span });
        self.rest_of_type(&name, !in_brackets, true)?;
        if in_brackets {
            self.expect(Kind::RBracket, "missing_bracket")?;
        }
        Ok(())
    }

    /// Parses the rest of `[]`, `[,]` and the like, and the assembly after them.
    fn dimensions(&mut self, first: Token) -> Parse<()> {
        let mut token = first;
        loop {
            while token.kind == Kind::Comma {
                token = self.next()?;
            }
            if token.kind != Kind::RBracket {
                return self.fault("missing_bracket", &token);
            }
            match self.peek()? {
                Kind::LBracket => {
                    self.next()?;
                    token = self.next()?;
                }
                Kind::Comma => {
                    self.next()?;
                    return if self.lexer.skip_assembly() {
                        Ok(())
                    } else {
                        self.missing("missing_assembly")
                    };
                }
                _ => return Ok(()),
            }
        }
    }
}
