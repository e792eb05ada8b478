//! Commands, with their names, parameters and arguments.

use super::Parser;
use super::grammar::{Commands, Pipelines, Primaries};
use super::parts::{Place, no_splat};
use crate::lexer::Mode;
use crate::lexer::reading::Words;
use crate::source::Span;
use crate::token::{Kind, Part, Token};
use crate::tree::{Argument, Call, Command, Element, Parse, Quote, Redirection, Value};

/// The parameter after which the rest of the line is passed on as it is.
const VERBATIM: &str = "--%";

/// The parts of a command that are read so far.
struct Parts {
    elements: Vec<Element>,
    redirections: Vec<Redirection>,
    place: Place,
    saw_dashes: bool,
    verbatim: bool,
    end: usize,
}

impl Commands for Parser<'_, '_> {
    fn command(&mut self, piped: bool) -> Parse<Option<Span>> {
        self.in_mode(Mode::Command, |parser| {
            let first = parser.next()?;
            let (call, token) = match first.kind {
                Kind::Dot => (Call::Dot, parser.next()?),
                Kind::Ampersand => (Call::Ampersand, parser.next()?),
                _ => (Call::Plain, first.clone()),
            };
            let own = parser.out.commands.len();
            let start = parser.lexer.map.offset(first.start);
            // The command precedes those in its arguments. Its parts follow when they are known.
            parser.out.commands.push(Command {
                span: Span { start, end: start },
                call,
                elements: Vec::new(),
                redirections: Vec::new(),
                within: parser.within,
                piped,
                verbatim: false,
            });
            let outer = parser.within.replace(own);
            let place = if call == Call::Plain { Place::Name } else { Place::NameAfterCall };
            let mut parts = Parts {
                elements: Vec::new(),
                redirections: Vec::new(),
                place,
                saw_dashes: false,
                verbatim: false,
                end: parser.lexer.map.offset(first.end),
            };
            let result = command_parts(parser, token, &mut parts);
            parser.within = outer;
            let span = Span { start, end: parts.end };
            let empty = parts.elements.is_empty();
            if empty {
                parser.out.commands.truncate(own);
            } else if let Some(command) = parser.out.commands.get_mut(own) {
                command.span = span;
                command.elements = parts.elements;
                command.redirections = parts.redirections;
                command.verbatim = parts.verbatim;
            }
            result?;
            if empty && call != Call::Plain {
                return parser.fault("missing_command", &first);
            }
            Ok((!empty).then_some(span))
        })
    }

    fn single_argument(&mut self, place: Place) -> Parse<Option<Argument>> {
        if matches!(self.peek()?, Kind::Comma | Kind::EndOfInput) {
            return Ok(None);
        }
        self.in_mode(Mode::Command, |parser| {
            let token = parser.next()?;
            let found = parser.argument(place, token)?;
            found.iter().try_for_each(|found| no_splat(&found.value, found.span))?;
            Ok(found)
        })
    }

    fn argument(&mut self, place: Place, first: Token) -> Parse<Option<Argument>> {
        let mut values: Vec<Argument> = Vec::new();
        let mut token = first;
        loop {
            let stops = token.kind == Kind::Generic && token.value == VERBATIM;
            let Some(value) = one_argument(self, place, token)? else {
                return if values.is_empty() { Ok(None) } else { self.missing("missing_expression") };
            };
            let more = place == Place::Argument && !stops && self.peek()? == Kind::Comma;
            if !more && values.is_empty() {
                return Ok(Some(value));
            }
            no_splat(&value.value, value.span)?;
            values.push(value);
            if !more {
                break;
            }
            self.next()?;
            self.skip_lines()?;
            token = self.next()?;
        }
        let span = |argument: Option<&Argument>| argument.map(|argument| argument.span).unwrap_or_default();
        let span = Span { start: span(values.first()).start, end: span(values.last()).end };
        Ok(Some(Argument { value: Value::Array(values), span }))
    }

    fn expand(&mut self, token: &Token) -> Parse<String> {
        for part in &token.parts {
            match part {
                Part::Variable { name, .. } => self.out.variables.push(name.clone()),
                Part::Expression { text, .. } => self.nested(text)?,
            }
        }
        let lead = token.parts.first().map_or(0, |part| match part {
            Part::Variable { lead, .. } | Part::Expression { lead, .. } => *lead,
        });
        Ok(token.value.get(..lead).unwrap_or_default().to_owned())
    }
}

fn command_parts(parser: &mut Parser<'_, '_>, first: Token, parts: &mut Parts) -> Parse<()> {
    let mut token = first;
    loop {
        let place = parser.place(&token);
        match token.kind {
            kind if kind.ends_command() => {
                parser.put_back(token);
                return Ok(());
            }
            Kind::Comma => return parser.fault("missing_argument", &token),
            Kind::MinusMinus => {
                parts.end = place.end;
                let element = if parts.saw_dashes {
                    as_word(parser, &token)
                } else {
                    Element::Parameter { name: "-".to_owned(), value: None, span: place }
                };
                parts.elements.push(element);
                parts.saw_dashes = true;
            }
            Kind::Parameter if !is_name(parts) && !parts.saw_dashes => {
                let element = parameter_element(parser, &token)?;
                if let Element::Parameter { span, .. } = &element {
                    parts.end = span.end;
                }
                parts.elements.push(element);
            }
            Kind::Parameter => {
                parts.end = place.end;
                let element = as_word(parser, &token);
                parts.elements.push(element);
            }
            kind if kind.is_redirection() && !is_name(parts) => {
                let mut found = std::mem::take(&mut parts.redirections);
                let span = parser.redirection(&token, &mut found)?;
                parts.redirections = found;
                parts.end = span.end;
            }
            kind if kind.is_redirection() => {
                parts.end = place.end;
                let element = as_word(parser, &token);
                parts.elements.push(element);
            }
            _ => {
                if argument_element(parser, token, parts)? {
                    return Ok(());
                }
            }
        }
        parts.place = Place::Argument;
        token = parser.next()?;
    }
}

fn is_name(parts: &Parts) -> bool {
    matches!(parts.place, Place::Name | Place::NameAfterCall)
}

/// Returns a token as a word with its own text.
fn as_word(parser: &Parser<'_, '_>, token: &Token) -> Element {
    let value = Value::String(parser.source(token), Quote::None);
    Element::Argument(Argument { value, span: parser.place(token) })
}

fn parameter_element(parser: &mut Parser<'_, '_>, token: &Token) -> Parse<Element> {
    let mut span = parser.place(token);
    let mut value = None;
    if token.flag && parser.peek()? != Kind::Comma {
        let next = parser.next()?;
        let Some(argument) = parser.argument(Place::Argument, next)? else {
            return parser.fault("missing_value_of_parameter", token);
        };
        no_splat(&argument.value, argument.span)?;
        span.end = argument.span.end;
        value = Some(argument);
    }
    Ok(Element::Parameter { name: token.value.clone(), value, span })
}

/// Parses an argument, or the name. Returns true if it ends the command.
fn argument_element(parser: &mut Parser<'_, '_>, token: Token, parts: &mut Parts) -> Parse<bool> {
    let is_string = matches!(
        token.kind,
        Kind::Generic
            | Kind::StringLiteral
            | Kind::StringExpandable
            | Kind::HereLiteral
            | Kind::HereExpandable
    );
    let stops = is_string && token.value == VERBATIM;
    let Some(argument) = parser.argument(parts.place, token)? else {
        return parser.missing("missing_argument");
    };
    parts.end = argument.span.end;
    parts.elements.push(Element::Argument(argument));
    if !stops || parser.ahead.as_ref().is_some_and(|token| token.kind != Kind::Parameter) {
        return Ok(false);
    }
    parser.read_again();
    let rest = parser.lexer.verbatim();
    let span = parser.place(&rest);
    parts.end = span.end;
    parts.elements.push(Element::Argument(Argument { value: Value::String(rest.value, Quote::None), span }));
    parts.verbatim = true;
    Ok(true)
}

fn one_argument(parser: &mut Parser<'_, '_>, place: Place, token: Token) -> Parse<Option<Argument>> {
    match token.kind {
        kind if kind.ends_command()
            || kind.is_redirection()
            || matches!(kind, Kind::MinusMinus | Kind::Comma) =>
        {
            parser.put_back(token);
            Ok(None)
        }
        Kind::Splat
        | Kind::Variable
        | Kind::Number
        | Kind::HereExpandable
        | Kind::StringExpandable
        | Kind::HereLiteral
        | Kind::StringLiteral
        | Kind::LParen
        | Kind::DollarParen
        | Kind::AtParen
        | Kind::AtCurly
        | Kind::LCurly => {
            parser.put_back(token);
            let found = parser.primary(true)?;
            Ok(found.map(|found| Argument { value: found.value, span: found.span }))
        }
        Kind::Generic => {
            let span = parser.place(&token);
            if token.parts.is_empty() || place == Place::Name {
                return Ok(Some(Argument { value: Value::String(token.value, Quote::None), span }));
            }
            let lead = parser.expand(&token)?;
            Ok(Some(Argument { value: Value::Expandable(lead), span }))
        }
        _ => {
            let value = Value::String(parser.source(&token), Quote::None);
            Ok(Some(Argument { value, span: parser.place(&token) }))
        }
    }
}
