//! The builder. It walks the grammar's tree, knows every node kind, and checks that only white space
//! lies between nodes. An unknown kind is a problem, but its children are still searched, so that deny
//! rules apply to them.

use std::collections::HashMap;

use tree_sitter::Node;

use super::grammar::{children_of, is_word, kind_of};
use super::source::{MappedText, Surroundings};
use super::tree::{IndirectRead, Join, Problem, Script, Statement, ValueProperties};
use crate::decision::Span;
use crate::limits;

/// Problems that can mislead only a reader who splits the text at lines or quotes. If the whole tree is certain, they
/// are dropped.
const ONLY_IN_DOUBT: &[&str] = &["comment_quote_desync", "quoted_newline"];
/// The variable that contains the word separators.
const SEPARATORS: &[u8] = b"IFS";

/// Kinds of nodes that end with a bracket and are a part of a word.
const EXPANSIONS: &[&str] =
    &["command_substitution", "process_substitution", "arithmetic_expansion", "array"];

pub(super) struct Builder<'a> {
    pub(super) source: &'a MappedText,
    pub(super) surroundings: Surroundings<'a>,
    problems: Vec<Problem>,
    notes: Vec<Problem>,
    nulls: Vec<Span>,
    depth: usize,
    /// The variables that the text assigns, and the properties of all their values.
    pub(super) assigned: HashMap<Vec<u8>, ValueProperties>,
    /// Whether the text may set variables that it does not name.
    pub(super) sets_anything: bool,
    /// The variables that arithmetic reads, and their positions.
    pub(super) arithmetic_reads: Vec<(Vec<u8>, Span)>,
    /// The variables whose values are used as names of other variables.
    pub(super) indirect_reads: Vec<IndirectRead>,
}

impl<'a> Builder<'a> {
    pub(super) fn new(source: &'a MappedText, surroundings: Surroundings<'a>) -> Self {
        Self {
            source,
            surroundings,
            problems: Vec::new(),
            notes: Vec::new(),
            nulls: Vec::new(),
            depth: 0,
            assigned: HashMap::new(),
            sets_anything: false,
            arithmetic_reads: Vec::new(),
            indirect_reads: Vec::new(),
        }
    }

    pub(super) fn script(mut self, root: Node<'_>) -> Script {
        let children = children_of(root);
        self.check_gaps(0, self.source.text().len(), &children);
        let statements = self.statements(&children);
        let splits_as_usual = self.surroundings.splits_as_usual && !sets_separators(&self);
        self.check_reads();
        if root.has_error() && self.problems.is_empty() {
            self.incomplete(root);
        }
        if !root.has_error() && self.problems.iter().all(|problem| ONLY_IN_DOUBT.contains(&problem.code)) {
            self.problems.clear();
        }
        let complete = self.problems.is_empty();
        if self.sets_anything {
            self.assigned.clear();
        }
        Script {
            statements,
            complete,
            assigned: self.assigned,
            splits_as_usual,
            notes: self.notes,
            nulls: self.nulls,
            problems: self.problems,
        }
    }

    pub(super) fn problem(&mut self, code: &'static str, span: Span) {
        if self.problems.len() < limits::MAX_REASONS {
            self.problems.push(Problem { code, span });
        }
    }

    pub(super) fn problem_at_original(&mut self, code: &'static str, at: usize) {
        self.problem(code, self.source.original(at));
    }

    pub(super) fn incomplete(&mut self, node: Node<'_>) {
        self.problem("parse_incomplete", self.source.span_of(node));
        if super::braces::opens_word(self.source.text_of(node)) {
            self.problem("brace_expansion", self.source.span_of(node));
        }
    }

    /// Records text that is understood although it resembles something dangerous.
    pub(super) fn note(&mut self, code: &'static str, span: Span) {
        if self.notes.len() < limits::MAX_REASONS {
            self.notes.push(Problem { code, span });
        }
    }

    /// Records a redirect target that is read as `/dev/null`.
    pub(super) fn null(&mut self, span: Span) {
        self.nulls.push(span);
    }

    pub(super) fn problem_count(&self) -> usize {
        self.problems.len()
    }

    /// Removes the problems after the first `from` that `harmless` accepts.
    pub(super) fn take_back(&mut self, from: usize, harmless: impl Fn(&Problem) -> bool) {
        let mut index = 0;
        self.problems.retain(|problem| {
            index += 1;
            index <= from || !harmless(problem)
        });
    }

    /// Checks that only white space lies between `start`, the children and `end`.
    pub(super) fn check_gaps(&mut self, start: usize, end: usize, children: &[Node<'_>]) {
        self.check_gaps_around(start, end, children, &[]);
    }

    /// Like [`Self::check_gaps`], with bytes at the offsets `seen` that were read as words.
    pub(super) fn check_gaps_around(
        &mut self,
        start: usize,
        end: usize,
        children: &[Node<'_>],
        seen: &[usize],
    ) {
        let mut at = start;
        for child in children {
            check_gap(self, at, child.start_byte(), seen);
            check_operator(self, *child);
            at = at.max(child.end_byte());
        }
        check_gap(self, at, end, seen);
    }

    /// Reads statements and the separators between them.
    pub(super) fn statements(&mut self, children: &[Node<'_>]) -> Vec<Statement> {
        let mut out = Vec::new();
        for child in children {
            match kind_of(*child) {
                ";" | "&" | "\n" if !child.is_missing() => {}
                _ => out.extend(self.statement(*child)),
            }
        }
        out
    }

    /// Reads one statement; `None` for a comment or a node that is not a statement.
    pub(super) fn statement(&mut self, node: Node<'_>) -> Option<Statement> {
        if self.depth >= limits::MAX_TREE_DEPTH {
            self.problem("too_deep", self.source.span_of(node));
            return None;
        }
        self.depth += 1;
        let statement = statement_inner(self, node);
        self.depth -= 1;
        statement
    }

    /// Handles a node of an unknown kind: reports a problem and searches its children.
    pub(super) fn unlisted(&mut self, node: Node<'_>) -> Statement {
        self.incomplete(node);
        let mut found = Vec::new();
        for child in children_of(node).into_iter().filter(Node::is_named) {
            if !is_word(child) || kind_of(child).ends_with("_substitution") {
                found.extend(self.statement(child));
            }
        }
        Statement::List(found.into_iter().map(|s| (Join::Any, s)).collect())
    }
}

/// Reports whether the text may set the variable of word separators: a number may then become
/// several words, or none. The name need not occur literally.
fn sets_separators(builder: &Builder<'_>) -> bool {
    let named = builder.source.text().windows(SEPARATORS.len()).any(|name| name == SEPARATORS);
    named || builder.sets_anything || builder.assigned.contains_key(SEPARATORS)
}

/// Checks that an operator node matches its text: the recovery from an error may take `$` for `<<`.
fn check_operator(builder: &mut Builder<'_>, node: Node<'_>) {
    let is_operator = !node.is_named() && !node.is_missing() && !node.is_error();
    let text = builder.source.text_of(node).trim_ascii();
    // In `cat -<<X` the grammar includes the dash, which is a separate word, in the operator.
    let text = text.strip_prefix(b"-").filter(|rest| rest.starts_with(b"<<")).unwrap_or(text);
    if is_operator && text != kind_of(node).as_bytes().trim_ascii() {
        builder.incomplete(node);
    }
}

fn check_gap(builder: &mut Builder<'_>, start: usize, end: usize, seen: &[usize]) {
    let gap = builder.source.slice(start, end);
    let blank = |byte: u8| matches!(byte, b' ' | b'\t' | b'\n');
    let mut bytes = gap.iter().enumerate();
    let Some((at, _)) = bytes.find(|(at, byte)| !blank(**byte) && !seen.contains(&(start + at))) else {
        return;
    };
    let code = match gap.get(at) {
        Some(b'\r') => "carriage_return",
        Some(byte) if byte.is_ascii_control() => "control_characters",
        Some(byte) if *byte >= 0x80 => "unicode_whitespace",
        _ => "parse_incomplete",
    };
    builder.problem(code, builder.source.span(start + at, end));
}

fn statement_inner(builder: &mut Builder<'_>, node: Node<'_>) -> Option<Statement> {
    if node.is_missing() {
        builder.incomplete(node);
        return None;
    }
    let statement = match kind_of(node) {
        "command" | "variable_assignment" | "variable_assignments" => builder.simple(node),
        "declaration_command" | "unset_command" => builder.declaration(node),
        "test_command" => builder.test_command(node),
        "redirected_statement" => builder.redirected(node),
        "list" => read_list(builder, node),
        "pipeline" => read_pipeline(builder, node),
        "negated_command" => read_negated(builder, node),
        "subshell"
        | "compound_statement"
        | "if_statement"
        | "while_statement"
        | "for_statement"
        | "c_style_for_statement"
        | "case_statement" => builder.compound(node),
        "function_definition" => builder.function(node),
        "comment" => {
            check_comment(builder, node);
            return None;
        }
        _ => builder.unlisted(node),
    };
    Some(statement)
}

fn check_comment(builder: &mut Builder<'_>, node: Node<'_>) {
    let text = builder.source.text_of(node);
    let before = builder.source.slice(node.start_byte().saturating_sub(1), node.start_byte());
    let glued = before
        .first()
        .is_some_and(|byte| !matches!(byte, b' ' | b'\t' | b'\n' | b';' | b'|' | b'&' | b'(' | b')'));
    // Finding the previous sibling takes longer the more of them there are.
    let in_word = glued || (before == b")" && touches_expansion(node));
    if !text.starts_with(b"#") || text.contains(&b'\n') || in_word {
        builder.incomplete(node);
    }
    if text.iter().any(|byte| matches!(byte, b'\'' | b'"' | b'`')) {
        builder.problem("comment_quote_desync", builder.source.span_of(node));
    }
    if text.contains(&b'\r') {
        builder.problem("carriage_return", builder.source.span_of(node));
    }
    if misleads(text) {
        builder.problem("unicode_whitespace", builder.source.span_of(node));
    }
}

fn read_list(builder: &mut Builder<'_>, node: Node<'_>) -> Statement {
    let mut items = Vec::new();
    list_items(builder, node, Join::Any, &mut items);
    Statement::List(items)
}

/// Flattens a list; in the grammar lists nest to the left.
fn list_items(builder: &mut Builder<'_>, node: Node<'_>, first: Join, items: &mut Vec<(Join, Statement)>) {
    let children = children_of(node);
    builder.check_gaps(node.start_byte(), node.end_byte(), &children);
    let mut join = first;
    for child in children {
        match kind_of(child) {
            "&&" => join = Join::And,
            "||" | ";" | "&" | "\n" => join = Join::Any,
            "list" if builder.depth < limits::MAX_TREE_DEPTH => {
                builder.depth += 1;
                list_items(builder, child, join, items);
                builder.depth -= 1;
            }
            _ => items.extend(builder.statement(child).map(|s| (join, s))),
        }
    }
}

fn read_pipeline(builder: &mut Builder<'_>, node: Node<'_>) -> Statement {
    let children = children_of(node);
    builder.check_gaps(node.start_byte(), node.end_byte(), &children);
    let mut parts = Vec::new();
    for child in children {
        match kind_of(child) {
            "|" | "|&" => {}
            _ => parts.extend(builder.statement(child)),
        }
    }
    super::tree::pipeline(parts)
}

fn read_negated(builder: &mut Builder<'_>, node: Node<'_>) -> Statement {
    let children = children_of(node);
    builder.check_gaps(node.start_byte(), node.end_byte(), &children);
    let inner: Vec<_> = children.into_iter().filter(|c| kind_of(*c) != "!").collect();
    let statements = builder.statements(&inner);
    let list = statements.into_iter().map(|s| (Join::Any, s)).collect();
    Statement::Negated(Box::new(Statement::List(list)))
}

/// Whether an expansion ends where the node begins: bash reads both as one word.
fn touches_expansion(node: Node<'_>) -> bool {
    let mut before = node.prev_sibling().filter(|before| before.end_byte() == node.start_byte());
    while let Some(here) = before {
        if EXPANSIONS.contains(&kind_of(here)) {
            return true;
        }
        before = here.child_count().checked_sub(1).and_then(|last| here.child(last));
    }
    false
}

/// Reports whether a character in the text looks like a space, or is invisible.
pub(super) fn misleads(text: &[u8]) -> bool {
    !text.is_ascii() && String::from_utf8_lossy(text).chars().any(is_misleading)
}

fn is_misleading(c: char) -> bool {
    matches!(c,
        '\u{85}' | '\u{a0}' | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{1680}' | '\u{17b4}'
        | '\u{17b5}' | '\u{180b}'..='\u{180e}' | '\u{2000}'..='\u{200f}' | '\u{2028}'..='\u{202f}'
        | '\u{205f}'..='\u{206f}' | '\u{2800}' | '\u{3000}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}
