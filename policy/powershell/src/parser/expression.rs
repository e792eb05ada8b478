//! Expressions with operators.

use super::Parser;
use crate::Parse;
use crate::lexer::Mode;
use crate::source::Span;
use crate::token::Kind;
use crate::tree::{Argument, Assignment, Fault, Value};

/// An expression, as far as its value matters.
#[derive(Debug, Clone)]
pub(super) struct Expr {
    pub(super) value: Value,
    pub(super) span: Span,
}

impl Expr {
    pub(super) fn new(value: Value, span: Span) -> Self {
        Self { value, span }
    }

    /// Returns an expression from the start of this one to the end of another.
    pub(super) fn until(&self, value: Value, end: Span) -> Self {
        Self { value, span: Span { start: self.span.start, end: end.end } }
    }
}

/// Fails if the value is `@name`, which only a command can have as an argument.
pub(super) fn no_splat(value: &Value, span: Span) -> Parse<()> {
    match value {
        Value::Splat(_) => Err(Fault { code: "splat_outside_command", at: span.start }),
        _ => Ok(()),
    }
}

impl Parser<'_, '_> {
    /// Parses an expression. Returns `None` if there is none. `in_ternary` ends numbers at `?` and `:`.
    pub(super) fn expression(&mut self, in_ternary: bool) -> Parse<Option<Expr>> {
        self.in_mode(Mode::Expression, |parser| {
            let Some(condition) = parser.binary(in_ternary)? else {
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

    fn binary(&mut self, in_ternary: bool) -> Parse<Option<Expr>> {
        let Some(mut whole) = self.array(in_ternary)? else {
            return Ok(None);
        };
        while self.peek()?.is_binary() {
            self.next()?;
            self.skip_lines()?;
            let Some(right) = self.array(true)? else {
                return self.missing("missing_expression");
            };
            whole = whole.until(Value::Operation, right.span);
        }
        if self.peek()? == Kind::Parameter {
            return self.missing("unexpected_token");
        }
        Ok(Some(whole))
    }

    fn array(&mut self, in_ternary: bool) -> Parse<Option<Expr>> {
        let Some(first) = self.unary(in_ternary)? else {
            return Ok(None);
        };
        if self.commas_separate || self.peek()? != Kind::Comma {
            return Ok(Some(first));
        }
        let start = first.span;
        let mut values = vec![Argument { value: first.value, span: first.span }];
        while self.take_if(Kind::Comma)?.is_some() {
            self.skip_lines()?;
            let Some(value) = self.unary(true)? else {
                return self.missing("missing_expression");
            };
            values.push(Argument { value: value.value, span: value.span });
        }
        let end = values.last().map_or(start, |last| last.span);
        Ok(Some(Expr::new(Value::Array(values), Span { start: start.start, end: end.end })))
    }

    /// Parses an expression with operators of one operand.
    pub(super) fn unary(&mut self, in_ternary: bool) -> Parse<Option<Expr>> {
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
            Some(self.prefixed(kind)?)
        } else if kind == Kind::LBracket {
            self.typed()?
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

    fn prefixed(&mut self, kind: Kind) -> Parse<Expr> {
        let operator = self.next()?;
        self.skip_lines()?;
        let Some(operand) = self.deeper(|parser| parser.unary(true))? else {
            return self.fault("missing_operand", &operator);
        };
        if matches!(kind, Kind::PlusPlus | Kind::MinusMinus) {
            self.assigned(&operand, false)?;
        }
        let span = Span { start: self.place(&operator).start, end: operand.span.end };
        let value = if kind == Kind::Comma {
            Value::Array(vec![Argument { value: operand.value, span: operand.span }])
        } else {
            Value::Operation
        };
        Ok(Expr::new(value, span))
    }

    /// Parses a conversion, a type, or attributes before an expression.
    fn typed(&mut self) -> Parse<Option<Expr>> {
        let attributes = self.attributes(true)?;
        let (Some(first), Some(last)) = (attributes.first(), attributes.last()) else {
            return Ok(None);
        };
        let (start, count) = (first.span.start, attributes.len());
        let operand = if last.has_arguments {
            self.skip_lines()?;
            match self.deeper(|parser| parser.unary(true))? {
                Some(operand) => Some(operand),
                None => return self.missing("attribute_before_nothing"),
            }
        } else {
            let operator = if self.ahead.is_none() { self.lexer.member_operator(false)? } else { None };
            if let Some(operator) = operator {
                let of_type = Expr::new(Value::Type, last.span);
                let member = self.members(operator, of_type, Some(&last.name))?;
                let span = Span { start, end: member.span.end };
                let value = if count == 1 { member.value } else { Value::Operation };
                return Ok(Some(Expr::new(value, span)));
            }
            match self.peek()? {
                Kind::NewLine | Kind::Comma => None,
                _ => self.deeper(|parser| parser.unary(true))?,
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

    /// Records that the text assigns to this expression, with `=` if it is plain.
    pub(super) fn assigned(&mut self, target: &Expr, plain: bool) -> Parse<()> {
        self.assigned_value(&target.value, target.span, plain)
    }

    fn assigned_value(&mut self, value: &Value, span: Span, plain: bool) -> Parse<()> {
        let variable = match value {
            Value::Variable(name) => Some(name.clone()),
            Value::Converted(inner) => return self.assigned_value(inner, span, plain),
            Value::Array(values) if plain => {
                return values
                    .iter()
                    .try_for_each(|value| self.assigned_value(&value.value, value.span, plain));
            }
            Value::Member | Value::Invocation | Value::Index | Value::Parentheses => None,
            _ => return Err(Fault { code: "invalid_target", at: span.start }),
        };
        self.out.assignments.push(Assignment { variable, span });
        Ok(())
    }
}
