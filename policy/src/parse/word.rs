//! Words, read again from their bytes as bash reads them. The grammar only locates substitutions. A
//! substitution in the bytes without a node, or a byte that cannot occur in a word, is a problem.

mod finish;
mod lex;

use std::collections::HashMap;
use std::rc::Rc;

use tree_sitter::Node;

use super::build::Builder;
use super::grammar::kind_of;
use super::piece::Mode;
use super::tree::{Hazard, Simple, Statement, SubKind, Substitution, Word};

impl Builder<'_> {
    pub(super) fn is_word(&self, node: Node<'_>) -> bool {
        matches!(
            kind_of(node),
            "word"
                | "string"
                | "raw_string"
                | "ansi_c_string"
                | "translated_string"
                | "concatenation"
                | "simple_expansion"
                | "expansion"
                | "command_substitution"
                | "process_substitution"
                | "arithmetic_expansion"
                | "brace_expression"
                | "number"
                | "variable_name"
                | "special_variable_name"
                | "extglob_pattern"
                | "regex"
                | "command_name"
                | "test_operator"
        )
    }

    /// Reads the words of these nodes; adjacent nodes form one word.
    pub(super) fn words_of(&mut self, nodes: &[Node<'_>], out: &mut Vec<Word>) {
        let mut group: Vec<Node<'_>> = Vec::new();
        for node in nodes {
            let touches = group.last().is_some_and(|last| last.end_byte() == node.start_byte());
            if !touches {
                self.flush(&mut group, out);
            }
            group.push(*node);
        }
        self.flush(&mut group, out);
    }

    fn flush(&mut self, group: &mut Vec<Node<'_>>, out: &mut Vec<Word>) {
        if let (Some(first), Some(last)) = (group.first(), group.last()) {
            let (start, end) = (first.start_byte(), last.end_byte());
            self.region(start, end, group, Mode::Argument, out);
        }
        group.clear();
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
            self.collect_expansions(*node, start, &mut expansions);
        }
        let mut lexer = lex::Lexer::new(start, end, mode, &expansions);
        lexer.run(self);
        let lexed = lexer.into_parts();
        self.finish_word(&lexed, start, end, mode, out);
    }

    pub(super) fn collect_expansions<'t>(
        &self,
        node: Node<'t>,
        from: usize,
        out: &mut HashMap<usize, Node<'t>>,
    ) {
        let opens = matches!(
            kind_of(node),
            "command_substitution" | "process_substitution" | "expansion" | "arithmetic_expansion"
        );
        let start = opens.then(|| self.opening(node)).filter(|start| *start >= from);
        if let Some(start) = start {
            out.insert(start, node);
            return;
        }
        for child in self.children(node) {
            self.collect_expansions(child, from, out);
        }
    }

    /// Returns the start of an expansion: in a string the grammar includes the spaces between two
    /// expansions in the second.
    pub(super) fn opening(&self, node: Node<'_>) -> usize {
        let text = self.slice(node);
        node.start_byte() + text.len() - text.trim_ascii_start().len()
    }

    pub(super) fn loose_region(&mut self, node: Node<'_>) -> Word {
        self.loose_region_in(node.start_byte(), node.end_byte(), node)
    }

    pub(super) fn loose_region_in(&mut self, start: usize, end: usize, node: Node<'_>) -> Word {
        let mut words = Vec::new();
        let children = self.children(node);
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
        let text = self.slice(node).trim_ascii_start();
        let kind = match text.first() {
            Some(b'<') => SubKind::ProcessIn,
            Some(b'>') => SubKind::ProcessOut,
            _ => SubKind::Command,
        };
        if text.starts_with(b"`") && text.contains(&b'\\') {
            self.incomplete(node);
        }
        let children = self.children(node);
        self.check_gaps(node.start_byte(), node.end_byte(), &children);
        let mut simple = Simple { span: self.span_of(node), ..Simple::default() };
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
        Hazard { code, span: self.span(start, end) }
    }
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
