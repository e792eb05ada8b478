//! Words, read again from their bytes as bash reads them. The grammar only locates substitutions. A
//! substitution in the bytes without a node, or a byte that cannot occur in a word, is a problem.

mod finish;
mod lex;

use std::collections::HashMap;
use std::rc::Rc;

use tree_sitter::Node;

use super::build::Builder;
use super::grammar::{children_of, kind_of};
use super::piece::Mode;
use super::tree::{Hazard, Simple, Statement, SubKind, Substitution, Word};
use finish::finish_word;

impl Builder<'_> {
    /// Reads the words of these nodes; adjacent nodes form one word.
    pub(super) fn words_of(&mut self, nodes: &[Node<'_>], out: &mut Vec<Word>) {
        let mut group: Vec<Node<'_>> = Vec::new();
        for node in nodes {
            let touches = group.last().is_some_and(|last| last.end_byte() == node.start_byte());
            if !touches {
                flush(self, &mut group, out);
            }
            group.push(*node);
        }
        flush(self, &mut group, out);
    }

    /// Lexes the bytes from `start` to `end`; `nodes` are the grammar's nodes in this region.
    pub(super) fn region(
        &mut self,
        start: usize,
        end: usize,
        nodes: &[Node<'_>],
        mode: Mode,
        out: &mut Vec<Word>,
    ) {
        let mut expansions = HashMap::new();
        for node in nodes {
            self.source.collect_expansions(*node, start, &mut expansions);
        }
        let mut lexer = lex::WordLexer::new(start, end, mode, &expansions);
        lexer.run(self);
        let lexed = lexer.into_parts();
        finish_word(self, &lexed, start, end, mode, out);
    }

    pub(super) fn loose_region(&mut self, node: Node<'_>) -> Word {
        self.loose_region_in(node.start_byte(), node.end_byte(), node)
    }

    pub(super) fn loose_region_in(&mut self, start: usize, end: usize, node: Node<'_>) -> Word {
        let mut words = Vec::new();
        let children = children_of(node);
        let inner = if children.is_empty() { vec![node] } else { children };
        self.region(start, end, &inner, Mode::Loose, &mut words);
        words.pop().unwrap_or_default()
    }

    pub(super) fn quoted_region(&mut self, start: usize, end: usize, node: Node<'_>) -> Word {
        let mut words = Vec::new();
        self.region(start, end, &[node], Mode::Quoted, &mut words);
        words.pop().unwrap_or_default()
    }

    /// Reads the statements of a substitution node.
    pub(super) fn substitution(&mut self, node: Node<'_>) -> Rc<Substitution> {
        let text = self.source.text_of(node).trim_ascii_start();
        let kind = match text.first() {
            Some(b'<') => SubKind::ProcessIn,
            Some(b'>') => SubKind::ProcessOut,
            _ => SubKind::Command,
        };
        if text.starts_with(b"`") && text.contains(&b'\\') {
            self.incomplete(node);
        }
        let children = children_of(node);
        self.check_gaps(node.start_byte(), node.end_byte(), &children);
        let mut simple = Simple { span: self.source.span_of(node), ..Simple::default() };
        let mut inner = Vec::new();
        for child in children {
            match kind_of(child) {
                "$(" | "`" | ")" | "<(" | ">(" if !child.is_missing() => {}
                // `$(<file)`
                "file_redirect" => {
                    self.redirect(child, &mut simple.redirects, &mut simple.words);
                }
                _ => inner.push(child),
            }
        }
        let mut body = self.statements(&inner);
        if !simple.redirects.is_empty() {
            body.push(Statement::Simple(simple));
        }
        let text = heredoc_text(&body).filter(|_| kind == SubKind::Command);
        Rc::new(Substitution { kind, body, text })
    }

    pub(super) fn hazard(&self, code: &'static str, start: usize, end: usize) -> Hazard {
        Hazard { code, span: self.source.span(start, end) }
    }
}

fn flush(builder: &mut Builder<'_>, group: &mut Vec<Node<'_>>, out: &mut Vec<Word>) {
    if let (Some(first), Some(last)) = (group.first(), group.last()) {
        let (start, end) = (first.start_byte(), last.end_byte());
        builder.region(start, end, group, Mode::Argument, out);
    }
    group.clear();
}

/// Returns the output of a single `cat <<'EOF'`, without the line feeds that a substitution
/// removes.
fn heredoc_text(body: &[Statement]) -> Option<Vec<u8>> {
    let [Statement::Simple(simple)] = body else {
        return None;
    };
    let ([cat], [redirect]) = (simple.words.as_slice(), simple.redirects.as_slice()) else {
        return None;
    };
    let body = redirect.target.as_ref().filter(|body| body.literal && redirect.descriptor.is_none())?;
    let plain = cat.text.as_deref() == Some(b"cat") && simple.assignments.is_empty();
    let text = body.text.as_deref().filter(|_| plain)?;
    let length = text.iter().rposition(|byte| *byte != b'\n').map_or(0, |last| last + 1);
    text.get(..length).map(<[u8]>::to_vec)
}
