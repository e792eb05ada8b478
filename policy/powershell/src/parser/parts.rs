//! The values that the modules of the parser exchange.

use crate::source::Span;
use crate::tree::{Fault, Parse, Value};

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

/// The place of an argument, which determines how a word is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// The name of a command. A `$` in a word is not expanded.
    Name,
    /// The name after `&` or `.`.
    NameAfterCall,
    FileName,
    Argument,
    SwitchCondition,
}

/// A type in brackets, or an attribute.
#[derive(Debug, Clone)]
pub(super) struct Attribute {
    pub(super) name: String,
    pub(super) span: Span,
    /// Whether it is an attribute and not a type.
    pub(super) has_arguments: bool,
}

/// Fails if the value is `@name`, which only a command can have as an argument.
pub(super) fn no_splat(value: &Value, span: Span) -> Parse<()> {
    match value {
        Value::Splat(_) => Err(Fault { code: "splat_outside_command", at: span.start }),
        _ => Ok(()),
    }
}
