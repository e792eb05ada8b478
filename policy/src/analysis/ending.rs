//! Finds the commands that may determine the exit code of the text, by its structure. It does not
//! know programs; `meaning` interprets the codes.

use crate::decision::{Nesting, Span};
use crate::parse::{Join, RedirOp, Script, Statement};

use super::found::Found;

/// Returns the spans of the commands that may determine a nonzero exit code of the text, the last one first. Returns
/// `None` if the structure does not show this: a negation, a loop, an `if`.
pub(super) fn of(script: &Script) -> Option<Vec<Span>> {
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
pub(super) fn indices(spans: &[Span], commands: &[Found]) -> Option<Vec<usize>> {
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
