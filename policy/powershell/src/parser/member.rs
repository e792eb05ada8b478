//! Accesses to members and elements.

use super::Parser;
use super::expression::{Expr, no_splat};
use crate::Parse;
use crate::lexer::Mode;
use crate::source::Span;
use crate::token::{Kind, Token};
use crate::tree::{Argument, Member, Target, Value};

impl Parser<'_, '_> {
    /// Parses the accesses that follow a value directly.
    pub(super) fn members_if_any(&mut self, value: Expr) -> Parse<Expr> {
        match self.member_operator()? {
            Some(operator) => self.members(operator, value, None),
            None => Ok(value),
        }
    }

    fn member_operator(&mut self) -> Parse<Option<Token>> {
        if self.ahead.is_some() { Ok(None) } else { self.lexer.member_operator(true) }
    }

    /// Parses accesses, of which the first operator is known.
    pub(super) fn members(&mut self, first: Token, value: Expr, of_type: Option<&str>) -> Parse<Expr> {
        no_splat(&value.value, value.span)?;
        let mut target = match (&value.value, of_type) {
            (_, Some(name)) => Target::Type(name.to_owned()),
            (Value::Variable(name), None) => Target::Variable(name.clone()),
            (Value::String(..) | Value::Expandable(_), None) => Target::String,
            _ => Target::Other,
        };
        let mut whole = value;
        let mut operator = Some(first);
        while let Some(token) = operator {
            self.skip_lines()?;
            whole = match token.kind {
                Kind::LBracket | Kind::QuestionLBracket => self.element(&whole)?,
                _ => self.member(&whole, target, &token)?,
            };
            target = Target::Other;
            operator = self.member_operator()?;
        }
        Ok(whole)
    }

    fn element(&mut self, of: &Expr) -> Parse<Expr> {
        self.skip_lines()?;
        if self.deeper(|parser| parser.expression(false))?.is_none() {
            return self.missing("missing_index");
        }
        self.skip_lines()?;
        let end = self.expect(Kind::RBracket, "missing_bracket")?;
        let end = self.place(&end);
        Ok(of.until(Value::Index, end))
    }

    fn member(&mut self, of: &Expr, target: Target, operator: &Token) -> Parse<Expr> {
        let Some((name, end)) = self.member_name()? else {
            return self.missing("missing_member");
        };
        let is_static = operator.kind == Kind::ColonColon;
        let own = self.out.members.len();
        self.out.members.push(Member { target, name, arguments: None, is_static, span: of.span });
        let opening = if self.ahead.is_none() {
            self.type_arguments()?;
            self.lexer.invocation_bracket()
        } else {
            None
        };
        let Some(opening) = opening else {
            let whole = of.until(Value::Member, end);
            self.finish_member(own, None, whole.span);
            return Ok(whole);
        };
        let (arguments, end) = self.deeper(|parser| parser.invocation_arguments(&opening))?;
        let whole = of.until(Value::Invocation, end);
        self.finish_member(own, Some(arguments), whole.span);
        Ok(whole)
    }

    fn finish_member(&mut self, own: usize, arguments: Option<Vec<Argument>>, span: Span) {
        if let Some(member) = self.out.members.get_mut(own) {
            member.arguments = arguments;
            member.span = span;
        }
    }

    /// Parses the name of a member. Returns it if it is constant, and its place.
    fn member_name(&mut self) -> Parse<Option<(Option<String>, Span)>> {
        if let Some(name) = self.simple_name()? {
            return Ok(Some((Some(self.source(&name)), self.place(&name))));
        }
        let kind = self.peek()?;
        let found = if kind.is_unary() || kind == Kind::LBracket {
            self.deeper(|parser| parser.unary(false))?
        } else {
            self.primary(false)?
        };
        Ok(found.map(|found| (found.value.as_string().map(str::to_owned), found.span)))
    }

    /// Skips the types of a generic method, if they and a bracket follow.
    fn type_arguments(&mut self) -> Parse<()> {
        let mark = self.mark();
        let (depth, mode) = (self.depth, self.lexer.mode);
        let is_generic = mode == Mode::Expression && matches!(self.peek(), Ok(Kind::LBracket)) && {
            let found = self.in_mode(Mode::TypeName, |parser| {
                parser.next()?;
                parser.skip_lines()?;
                let first = parser.next()?;
                parser.type_list(first)
            });
            found.is_ok() && self.ahead.is_none() && self.lexer.is_before('(')
        };
        if !is_generic {
            (self.depth, self.lexer.mode) = (depth, mode);
            self.reset(mark);
        }
        Ok(())
    }

    /// Parses the arguments of a call, after the opening bracket. Returns them and the closing bracket.
    fn invocation_arguments(&mut self, opening: &Token) -> Parse<(Vec<Argument>, Span)> {
        if opening.kind == Kind::LCurly {
            self.skip_lines()?;
            let block = self.script_block(opening)?;
            let end = block.span;
            return Ok((vec![Argument { value: block.value, span: block.span }], end));
        }
        self.argument_list()
    }

    /// Parses arguments up to the closing bracket.
    pub(super) fn argument_list(&mut self) -> Parse<(Vec<Argument>, Span)> {
        let found = self.with_commas(true, |parser| {
            let mut found: Vec<Argument> = Vec::new();
            loop {
                parser.skip_lines()?;
                match parser.expression(false)? {
                    Some(argument) => found.push(Argument { value: argument.value, span: argument.span }),
                    None if found.is_empty() => return Ok(found),
                    None => return parser.missing("missing_expression"),
                }
                parser.skip_lines()?;
                if parser.take_if(Kind::Comma)?.is_none() {
                    return Ok(found);
                }
            }
        })?;
        self.skip_lines()?;
        let closing = self.expect(Kind::RParen, "missing_parenthesis")?;
        Ok((found, self.place(&closing)))
    }
}
