//! Pipelines, chains of pipelines, assignments and redirections.

use super::Parser;
use super::grammar::{Commands, Expressions, Pipelines, Statements};
use super::parts::{Expr, Place};
use crate::lexer::Mode;
use crate::source::Span;
use crate::token::{Kind, Stream, Token};
use crate::tree::{ConstructKind, Parse, Redirection, RedirectionTarget, Value};

impl Pipelines for Parser<'_, '_> {
    fn pipeline_chain(&mut self) -> Parse<Option<Span>> {
        let (mut expression, operator) = self.in_mode(Mode::Expression, |parser| {
            let expression = parser.expression(false)?;
            let assigns = expression.is_some() && parser.peek()?.is_assignment();
            let operator = if assigns { Some(parser.next()?.kind) } else { None };
            Ok((expression, operator))
        })?;
        if let (Some(target), Some(operator)) = (&expression, operator) {
            let is_one = operator == Kind::Equals && matches!(target.value, Value::Variable(_));
            return assignment(self, target, operator == Kind::Equals, is_one).map(Some);
        }
        let mut whole: Option<Span> = None;
        loop {
            let Some(span) = pipeline(self, expression.take())? else {
                return if whole.is_none() { Ok(None) } else { self.missing("missing_pipeline") };
            };
            let whole = whole.get_or_insert(span);
            whole.end = span.end;
            match self.peek()? {
                Kind::AndAnd | Kind::OrOr => {
                    self.next()?;
                    self.skip_lines()?;
                }
                Kind::Ampersand => {
                    self.next()?;
                    if matches!(self.peek()?, Kind::AndAnd | Kind::OrOr) {
                        return self.missing("background_in_chain");
                    }
                    self.construct(ConstructKind::Background, None, *whole);
                    return Ok(Some(*whole));
                }
                _ => return Ok(Some(*whole)),
            }
        }
    }

    fn redirection(&mut self, token: &Token, found: &mut Vec<Redirection>) -> Parse<Span> {
        let mut span = self.place(token);
        let (from, to) = match token.kind {
            Kind::Merge(from, 1) if from != Stream::Output => (from, RedirectionTarget::Output),
            Kind::ToFile(from) => {
                let Some(name) = self.single_argument(Place::FileName)? else {
                    return self.missing("missing_file_name");
                };
                span.end = name.span.end;
                (from, RedirectionTarget::File { name, appends: token.flag })
            }
            _ => return self.fault("redirection_not_supported", token),
        };
        if found.iter().any(|other| other.from == from) {
            return self.fault("stream_already_redirected", token);
        }
        found.push(Redirection { from, to, span });
        Ok(span)
    }
}

/// Parses the value of an assignment. Returns the place of the whole.
fn assignment(parser: &mut Parser<'_, '_>, target: &Expr, plain: bool, is_one: bool) -> Parse<Span> {
    let index = parser.out.assignments.len();
    parser.assigned(target, plain)?;
    let behind = parser.out.assignments.len();
    parser.skip_lines()?;
    let Some(span) = parser.deeper(Statements::statement)? else {
        return parser.missing("missing_value");
    };
    let value = parser.value_at(span).filter(|_| is_one);
    if let Some(found) = parser.out.assignments.get_mut(index) {
        found.value = value.map(|value| value.value);
    }
    parser.value_ends(index, behind, target.span.end);
    Ok(Span { start: target.span.start, end: span.end })
}

/// Parses one pipeline, whose first expression may have been read.
fn pipeline(parser: &mut Parser<'_, '_>, first: Option<Expr>) -> Parse<Option<Span>> {
    let mut expression = first;
    let mut whole: Option<Span> = None;
    let mut parts = 0;
    let mut sole = None;
    loop {
        if expression.is_none() {
            expression = parser.in_mode(Mode::Expression, |parser| parser.expression(false))?;
        }
        let part = match expression.take() {
            Some(_) if whole.is_some() => return parser.missing("expression_in_pipeline"),
            Some(expression) => {
                let span = redirected(parser, expression.span)?;
                sole = Some(expression);
                Some(span)
            }
            None => parser.command(whole.is_some())?,
        };
        parts += 1;
        match part {
            Some(span) => whole.get_or_insert(span).end = span.end,
            None if whole.is_some() || parser.peek()? == Kind::Pipe => return parser.missing("empty_part"),
            None => {}
        }
        if parser.peek()? == Kind::NewLine {
            continue_after_line(parser)?;
        }
        match parser.peek()? {
            Kind::Pipe => {
                parser.next()?;
                parser.skip_lines()?;
                if parser.peek()? == Kind::EndOfInput {
                    return parser.missing("empty_part");
                }
            }
            Kind::Semi
            | Kind::NewLine
            | Kind::RParen
            | Kind::RCurly
            | Kind::EndOfInput
            | Kind::AndAnd
            | Kind::OrOr
            | Kind::Ampersand => {
                parser.out.pipelines.extend(whole.filter(|_| parts > 1));
                parser.sole = sole;
                return Ok(whole);
            }
            _ => return parser.missing("unexpected_token"),
        }
    }
}

/// Skips line ends before a `|`. In a string, PowerShell looks for it in the wrong place.
fn continue_after_line(parser: &mut Parser<'_, '_>) -> Parse<()> {
    if parser.lexer.is_nested() && parser.lexer.has_line_with_pipe() {
        return parser.missing("pipe_after_line_in_string");
    }
    if parser.ahead.as_ref().is_some_and(|token| parser.lexer.pipe_follows(token.end)) {
        parser.skip_lines()?;
    }
    Ok(())
}

/// Parses the redirections of an expression.
fn redirected(parser: &mut Parser<'_, '_>, expression: Span) -> Parse<Span> {
    let mut span = expression;
    let mut found = Vec::new();
    while parser.peek()?.is_redirection() {
        let token = parser.next()?;
        span.end = parser.redirection(&token, &mut found)?.end;
    }
    parser.out.redirections.append(&mut found);
    Ok(span)
}
