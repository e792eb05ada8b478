//! Expressions with operators.

use super::Parser;
use super::grammar::{Expressions, Members, Primaries, Types};
use super::parts::{Expr, no_splat};
use crate::lexer::Mode;
use crate::lexer::reading::Operators;
use crate::source::Span;
use crate::token::Kind;
use crate::tree::{Argument, Assignment, Fault, Parse, Value};

impl Expressions for Parser<'_, '_> {
    fn expression(&mut self, in_ternary: bool) -> Parse<Option<Expr>> {
        self.in_mode(Mode::Expression, |parser| {
            let Some(condition) = binary(parser, in_ternary)? else {
                return Ok(None);
            };
            if parser.take_if(Kind::QuestionMark)?.is_none() {
                return Ok(Some(condition));
            }
            parser.deeper(|parser| {
                parser.skip_lines()?;
                if parser.expression(true)?.is_none() {
                    return parser.missing("missing_expression");
                }
                parser.skip_lines()?;
                parser.expect(Kind::Colon, "missing_colon")?;
                parser.skip_lines()?;
                match parser.expression(false)? {
                    Some(last) => Ok(Some(condition.until(Value::Operation, last.span))),
                    None => parser.missing("missing_expression"),
                }
            })
        })
    }

    fn unary(&mut self, in_ternary: bool) -> Parse<Option<Expr>> {
        let ahead = self.ahead.as_ref().map(|token| token.kind);
        if ahead == Some(Kind::Minus) || (in_ternary && ahead == Some(Kind::Generic)) {
            self.read_again();
        }
        let outer = (self.lexer.signed, self.lexer.in_ternary);
        (self.lexer.signed, self.lexer.in_ternary) = (true, in_ternary);
        let kind = self.peek();
        (self.lexer.signed, self.lexer.in_ternary) = outer;
        let kind = kind?;
        let found = if kind.is_unary() {
            if self.commas_separate && kind == Kind::Comma {
                return Ok(None);
            }
            Some(prefixed(self, kind)?)
        } else if kind == Kind::LBracket {
            typed(self)?
        } else {
            self.primary(true)?
        };
        let Some(found) = found else {
            return Ok(None);
        };
        no_splat(&found.value, found.span)?;
        if !matches!(self.peek()?, Kind::PlusPlus | Kind::MinusMinus) {
            return Ok(Some(found));
        }
        let operator = self.next()?;
        self.assigned(&found, false)?;
        let end = self.place(&operator);
        Ok(Some(found.until(Value::Operation, end)))
    }

    fn assigned(&mut self, target: &Expr, plain: bool) -> Parse<()> {
        assigned_value(self, &target.value, target.span, plain)
    }
}

fn binary(parser: &mut Parser<'_, '_>, in_ternary: bool) -> Parse<Option<Expr>> {
    let Some(mut whole) = array(parser, in_ternary)? else {
        return Ok(None);
    };
    while parser.peek()?.is_binary() {
        parser.next()?;
        parser.skip_lines()?;
        let Some(right) = array(parser, true)? else {
            return parser.missing("missing_expression");
        };
        whole = whole.until(Value::Operation, right.span);
    }
    if parser.peek()? == Kind::Parameter {
        return parser.missing("unexpected_token");
    }
    Ok(Some(whole))
}

fn array(parser: &mut Parser<'_, '_>, in_ternary: bool) -> Parse<Option<Expr>> {
    let Some(first) = parser.unary(in_ternary)? else {
        return Ok(None);
    };
    if parser.commas_separate || parser.peek()? != Kind::Comma {
        return Ok(Some(first));
    }
    let start = first.span;
    let mut values = vec![Argument { value: first.value, span: first.span }];
    while parser.take_if(Kind::Comma)?.is_some() {
        parser.skip_lines()?;
        let Some(value) = parser.unary(true)? else {
            return parser.missing("missing_expression");
        };
        values.push(Argument { value: value.value, span: value.span });
    }
    let end = values.last().map_or(start, |last| last.span);
    Ok(Some(Expr::new(Value::Array(values), Span { start: start.start, end: end.end })))
}

fn prefixed(parser: &mut Parser<'_, '_>, kind: Kind) -> Parse<Expr> {
    let operator = parser.next()?;
    parser.skip_lines()?;
    let Some(operand) = parser.deeper(|parser| parser.unary(true))? else {
        return parser.fault("missing_operand", &operator);
    };
    if matches!(kind, Kind::PlusPlus | Kind::MinusMinus) {
        parser.assigned(&operand, false)?;
    }
    let span = Span { start: parser.place(&operator).start, end: operand.span.end };
    let value = if kind == Kind::Comma {
        Value::Array(vec![Argument { value: operand.value, span: operand.span }])
    } else {
        Value::Operation
    };
    Ok(Expr::new(value, span))
}

/// Parses a conversion, a type, or attributes before an expression.
fn typed(parser: &mut Parser<'_, '_>) -> Parse<Option<Expr>> {
    let attributes = parser.attributes(true)?;
    let (Some(first), Some(last)) = (attributes.first(), attributes.last()) else {
        return Ok(None);
    };
    let (start, count) = (first.span.start, attributes.len());
    let operand = if last.has_arguments {
        parser.skip_lines()?;
        match parser.deeper(|parser| parser.unary(true))? {
            Some(operand) => Some(operand),
            None => return parser.missing("attribute_before_nothing"),
        }
    } else {
        let operator = if parser.ahead.is_none() { parser.lexer.member_operator(false)? } else { None };
        if let Some(operator) = operator {
            let of_type = Expr::new(Value::Type, last.span);
            let member = parser.members(operator, of_type, Some(&last.name))?;
            let span = Span { start, end: member.span.end };
            let value = if count == 1 { member.value } else { Value::Operation };
            return Ok(Some(Expr::new(value, span)));
        }
        match parser.peek()? {
            Kind::NewLine | Kind::Comma => None,
            _ => parser.deeper(|parser| parser.unary(true))?,
        }
    };
    let end = operand.as_ref().map_or(last.span.end, |operand| operand.span.end);
    let value = match operand {
        Some(operand) => Value::Converted(Box::new(operand.value)),
        None if count == 1 => Value::Type,
        None => Value::Operation,
    };
    Ok(Some(Expr::new(value, Span { start, end })))
}

fn assigned_value(parser: &mut Parser<'_, '_>, value: &Value, span: Span, plain: bool) -> Parse<()> {
    let variable = match value {
        Value::Variable(name) => Some(name.clone()),
        Value::Converted(inner) => return assigned_value(parser, inner, span, plain),
        Value::Array(values) if plain => {
            return values
                .iter()
                .try_for_each(|value| assigned_value(parser, &value.value, value.span, plain));
        }
        Value::Member | Value::Invocation | Value::Index | Value::Parentheses => None,
        _ => return Err(Fault { code: "invalid_target", at: span.start }),
    };
    let is_outermost = parser.depth == 0;
    let (value, value_span) = (None, None);
    parser.out.assignments.push(Assignment { variable, value, value_span, is_outermost, span });
    Ok(())
}
