//! Which commands' exit codes the whole text's may be, as far as its shape tells. It
//! knows no program; what a code means is said in `meaning`.

use crate::decision::{Nesting, Span};
use crate::parse::{Join, RedirOp, Script, Statement};

use super::Found;

/// The spans of the commands whose exit code may be the whole text's when that is not 0,
/// the last one first. None where the shape does not tell: a negation, a loop, an `if`.
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
    // What stands before `&&` ends the list where it fails. Behind a heredoc the tree does not say
    // which operator it was.
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

/// Builtins behind which another command than the last may end the text.
const MOVES_THE_END: [&[u8]; 8] =
    [b"set", b"trap", b"shopt", b"exit", b"return", b"exec", b"eval", b"source"];

/// The commands that stand at these spans, as indices.
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
