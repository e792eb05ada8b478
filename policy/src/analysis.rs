//! Finds every command that a text starts, at any depth, with its context. This module does not
//! judge commands.

mod directory;
mod found;
mod process;
mod walk;

pub(crate) use directory::{Directory, join};
pub(crate) use found::{Analysis, Fed, Found, InPowerShell, MethodCall};

use crate::decision::{Nesting, Span};
use crate::parse::{Assign, Join, RedirOp, Script, SpanMap, Statement, Surroundings};

impl Analysis {
    /// Finds the commands of a bash text.
    pub(crate) fn of(
        text: &[u8],
        start: &Directory,
        surroundings: Surroundings<'_>,
        environment: Vec<Assign>,
    ) -> Self {
        let script = crate::parse::parse(text, SpanMap::Whole, surroundings);
        let ending = ending_spans(&script);
        let mut analysis = walk::walk(script, start.clone(), surroundings, environment);
        analysis.endings =
            ending.and_then(|spans| ending_indices(&spans, &analysis.commands)).unwrap_or_default();
        analysis
    }
}

impl Analysis {
    /// Finds the commands of a PowerShell text.
    pub(crate) fn of_powershell(
        text: &[u8],
        start: &Directory,
        surroundings: Surroundings<'_>,
        environment: Vec<Assign>,
    ) -> Self {
        walk::walk_powershell(text, start.clone(), surroundings, environment)
    }
}

/// Returns the spans of the commands that may determine a nonzero exit code of the text, the last one first. Returns
/// `None` if the structure does not show this: a negation, a loop, an `if`.
///
/// Finds the commands that may determine the exit code of the text, by its structure. It does not
/// know programs; `meaning` interprets the codes.
fn ending_spans(script: &Script) -> Option<Vec<Span>> {
    let mut spans = Vec::new();
    let known = match script.statements.last() {
        Some(last) if script.complete => ends_with(last, &mut spans),
        _ => false,
    };
    known.then_some(spans)
}

fn ends_with(statement: &Statement, spans: &mut Vec<Span>) -> bool {
    match statement {
        Statement::Simple(simple) => {
            spans.push(simple.span);
            !simple.words.is_empty()
        }
        Statement::Pipeline(parts) => parts.last().is_some_and(|last| ends_with(last, spans)),
        Statement::List(items) => ends_list(items, spans),
        Statement::Nested(nested) if matches!(nested.kind, Nesting::Subshell | Nesting::Group) => {
            nested.body.last().is_some_and(|last| ends_with(last, spans))
        }
        Statement::Negated(_) | Statement::Nested(_) | Statement::Function { .. } => false,
    }
}

fn ends_list(items: &[(Join, Statement)], spans: &mut Vec<Span>) -> bool {
    let Some(((join, last), before)) = items.split_last() else {
        return false;
    };
    // A failing command before `&&` ends the list. After a heredoc the tree does not contain the
    // operator.
    let may_end_before = *join == Join::And || matches!(before.last(), Some((_, item)) if has_heredoc(item));
    ends_with(last, spans) && (!may_end_before || ends_list(before, spans))
}

fn has_heredoc(statement: &Statement) -> bool {
    match statement {
        Statement::Simple(simple) => simple.redirects.iter().any(|redirect| redirect.op == RedirOp::Heredoc),
        Statement::Pipeline(parts) => parts.iter().any(has_heredoc),
        Statement::List(items) => items.iter().any(|(_, item)| has_heredoc(item)),
        Statement::Negated(inner) => has_heredoc(inner),
        Statement::Nested(nested) => nested.redirects.iter().any(|redirect| redirect.op == RedirOp::Heredoc),
        Statement::Function { .. } => false,
    }
}

/// Builtins after which a command other than the last one may end the text.
const MOVES_THE_END: [&[u8]; 8] =
    [b"set", b"trap", b"shopt", b"exit", b"return", b"exec", b"eval", b"source"];

/// Returns the indices of the commands at these spans.
fn ending_indices(spans: &[Span], commands: &[Found]) -> Option<Vec<usize>> {
    let moves = |found: &Found| {
        found.launcher.is_none()
            && found.program().is_some_and(|name| MOVES_THE_END.contains(&name) || name == b".")
    };
    if commands.iter().any(moves) {
        return None;
    }
    let at = |span: &Span| {
        let own = |found: &Found| found.span == *span && found.launcher.is_none() && !found.words.is_empty();
        commands.iter().position(own)
    };
    spans.iter().map(at).collect()
}
