//! Accesses to members and elements.

use super::Parser;
use super::grammar::{Expressions, Members, Primaries, Statements, Types};
use super::parts::{Expr, no_splat};
use crate::lexer::Mode;
use crate::lexer::reading::Operators;
use crate::source::Span;
use crate::token::{Kind, Token};
use crate::tree::{Argument, Member, Parse, Target, Value};

impl Members for Parser<'_, '_> {
    fn members_if_any(&mut self, value: Expr) -> Parse<Expr> {
        match self.member_operator()? {
            Some(operator) => self.members(operator, value, None),
            None => Ok(value),
        }
    }

    fn member_operator(&mut self) -> Parse<Option<Token>> {
        if self.ahead.is_some() { Ok(None) } else { self.lexer.member_operator(true) }
    }

    fn members(&mut self, first: Token, value: Expr, of_type: Option<&str>) -> Parse<Expr> {
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
                Kind::LBracket | Kind::QuestionLBracket => element(self, &whole)?,
                _ => member(self, &whole, target, &token)?,
            };
            target = Target::Other;
            operator = self.member_operator()?;
        }
        Ok(whole)
    }

    fn argument_list(&mut self) -> Parse<(Vec<Argument>, Span)> {
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

fn element(parser: &mut Parser<'_, '_>, of: &Expr) -> Parse<Expr> {
    parser.skip_lines()?;
    if parser.deeper(|parser| parser.expression(false))?.is_none() {
        return parser.missing("missing_index");
    }
    parser.skip_lines()?;
    let end = parser.expect(Kind::RBracket, "missing_bracket")?;
    let end = parser.place(&end);
    Ok(of.until(Value::Index, end))
}

fn member(parser: &mut Parser<'_, '_>, of: &Expr, target: Target, operator: &Token) -> Parse<Expr> {
    let Some((name, end)) = member_name(parser)? else {
        return parser.missing("missing_member");
    };
    let is_static = operator.kind == Kind::ColonColon;
    let own = parser.out.members.len();
    parser.out.members.push(Member { target, name, arguments: None, is_static, span: of.span });
    let opening = if parser.ahead.is_none() {
        type_arguments(parser)?;
        parser.lexer.invocation_bracket()
    } else {
        None
    };
    let Some(opening) = opening else {
        let whole = of.until(Value::Member, end);
        finish_member(parser, own, None, whole.span);
        return Ok(whole);
    };
    let (arguments, end) = parser.deeper(|parser| invocation_arguments(parser, &opening))?;
    let whole = of.until(Value::Invocation, end);
    finish_member(parser, own, Some(arguments), whole.span);
    Ok(whole)
}

fn finish_member(parser: &mut Parser<'_, '_>, own: usize, arguments: Option<Vec<Argument>>, span: Span) {
    if let Some(member) = parser.out.members.get_mut(own) {
        member.arguments = arguments;
        member.span = span;
    }
}

/// Parses the name of a member. Returns it if it is constant, and its place.
fn member_name(parser: &mut Parser<'_, '_>) -> Parse<Option<(Option<String>, Span)>> {
    if let Some(name) = parser.simple_name()? {
        return Ok(Some((Some(parser.source(&name)), parser.place(&name))));
    }
    let kind = parser.peek()?;
    let found = if kind.is_unary() || kind == Kind::LBracket {
        parser.deeper(|parser| parser.unary(false))?
    } else {
        parser.primary(false)?
    };
    Ok(found.map(|found| (found.value.as_string().map(str::to_owned), found.span)))
}

/// Skips the types of a generic method, if they and a bracket follow.
fn type_arguments(parser: &mut Parser<'_, '_>) -> Parse<()> {
    let mark = parser.mark();
    let (depth, mode) = (parser.depth, parser.lexer.mode);
    let is_generic = mode == Mode::Expression && matches!(parser.peek(), Ok(Kind::LBracket)) && {
        let found = parser.in_mode(Mode::TypeName, |parser| {
            parser.next()?;
            parser.skip_lines()?;
            let first = parser.next()?;
            parser.type_list(first)
        });
        found.is_ok() && parser.ahead.is_none() && parser.lexer.is_before('(')
    };
    if !is_generic {
        (parser.depth, parser.lexer.mode) = (depth, mode);
        parser.reset(mark);
    }
    Ok(())
}

/// Parses the arguments of a call, after the opening bracket. Returns them and the closing bracket.
fn invocation_arguments(parser: &mut Parser<'_, '_>, opening: &Token) -> Parse<(Vec<Argument>, Span)> {
    if opening.kind == Kind::LCurly {
        parser.skip_lines()?;
        let block = parser.script_block(opening)?;
        let end = block.span;
        return Ok((vec![Argument { value: block.value, span: block.span }], end));
    }
    parser.argument_list()
}
