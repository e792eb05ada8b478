//! Pipelines, chains of pipelines, assignments and redirections.

use super::Parser;
use super::command::Place;
use super::expression::Expr;
use crate::Parse;
use crate::lexer::Mode;
use crate::source::Span;
use crate::token::{Kind, Stream, Token};
use crate::tree::{ConstructKind, Redirection, RedirectionTarget};

impl Parser<'_, '_> {
    /// Parses an assignment, or pipelines joined by `&&` and `||`. Returns `None` if there is nothing.
    pub(super) fn pipeline_chain(&mut self) -> Parse<Option<Span>> {
        let (mut expression, operator) = self.in_mode(Mode::Expression, |parser| {
            let expression = parser.expression(false)?;
            let assigns = expression.is_some() && parser.peek()?.is_assignment();
            let operator = if assigns { Some(parser.next()?.kind) } else { None };
            Ok((expression, operator))
        })?;
        if let (Some(target), Some(operator)) = (&expression, operator) {
            let span = target.span;
            self.assigned(target, operator == Kind::Equals)?;
            self.skip_lines()?;
            return match self.deeper(Self::statement)? {
                Some(value) => Ok(Some(Span { start: span.start, end: value.end })),
                None => self.missing("missing_value"),
            };
        }
        let mut whole: Option<Span> = None;
        loop {
            let Some(span) = self.pipeline(expression.take())? else {
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

    /// Parses one pipeline, whose first expression may have been read.
    fn pipeline(&mut self, first: Option<Expr>) -> Parse<Option<Span>> {
        let mut expression = first;
        let mut whole: Option<Span> = None;
        loop {
            if expression.is_none() {
                expression = self.in_mode(Mode::Expression, |parser| parser.expression(false))?;
            }
            let part = match expression.take() {
                Some(_) if whole.is_some() => return self.missing("expression_in_pipeline"),
                Some(expression) => Some(self.redirected(expression.span)?),
                None => self.command(whole.is_some())?,
            };
            match part {
                Some(span) => whole.get_or_insert(span).end = span.end,
                None if whole.is_some() || self.peek()? == Kind::Pipe => return self.missing("empty_part"),
                None => {}
            }
            if self.peek()? == Kind::NewLine {
                self.continue_after_line()?;
            }
            match self.peek()? {
                Kind::Pipe => {
                    self.next()?;
                    self.skip_lines()?;
                    if self.peek()? == Kind::EndOfInput {
                        return self.missing("empty_part");
                    }
                }
                Kind::Semi
                | Kind::NewLine
                | Kind::RParen
                | Kind::RCurly
                | Kind::EndOfInput
                | Kind::AndAnd
                | Kind::OrOr
                | Kind::Ampersand => return Ok(whole),
                _ => return self.missing("unexpected_token"),
            }
        }
    }

    /// Skips line ends before a `|`. In a string, PowerShell looks for it in the wrong place.
    fn continue_after_line(&mut self) -> Parse<()> {
        if self.lexer.is_nested() && self.lexer.has_line_with_pipe() {
            return self.missing("pipe_after_line_in_string");
        }
        if self.ahead.as_ref().is_some_and(|token| self.lexer.pipe_follows(token.end)) {
            self.skip_lines()?;
        }
        Ok(())
    }

    /// Parses the redirections of an expression.
    fn redirected(&mut self, expression: Span) -> Parse<Span> {
        let mut span = expression;
        let mut found = Vec::new();
        while self.peek()?.is_redirection() {
            let token = self.next()?;
            span.end = self.redirection(&token, &mut found)?.end;
        }
        self.out.redirections.append(&mut found);
        Ok(span)
    }

    /// Parses one redirection. Returns its place.
    pub(super) fn redirection(&mut self, token: &Token, found: &mut Vec<Redirection>) -> Parse<Span> {
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
