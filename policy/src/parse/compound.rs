//! Compound statements: groups, subshells, conditions, loops, functions, `[[ ]]`, and their
//! redirects.

use tree_sitter::Node;

use super::arithmetic::test_operator;
use super::build::Builder;
use super::grammar::{children_of, is_word, kind_of};
use super::heredoc::{HeredocParts, dash_before_heredoc};
use super::tree::{Join, Nested, Redir, Simple, Statement, ValueProperties, Word};
use crate::decision::Nesting;

/// Keywords and operators of compound statements.
const FRAME: &[&str] = &[
    "(", ")", "{", "}", "if", "then", "fi", "elif", "else", "while", "until", "for", "select", "in", "do",
    "done", "case", "esac", ";", "&", "\n", "|",
];
/// Operators after which bash reads the next pattern of a `case`; the grammar accepts them
/// anywhere.
const ENDS_OF_ITEMS: &[&str] = &[";;", ";&", ";;&"];

impl Builder<'_> {
    pub(super) fn compound(&mut self, node: Node<'_>) -> Statement {
        let kind = match kind_of(node) {
            "subshell" => Nesting::Subshell,
            "compound_statement" => Nesting::Group,
            _ => Nesting::Compound,
        };
        let mut nested = Nested {
            kind,
            body: Vec::new(),
            words: Vec::new(),
            redirects: Vec::new(),
            binds: None,
            span: self.source.span_of(node),
        };
        // Bash may read `((` as arithmetic where the grammar reads two subshells, for example after `!`.
        if nested.kind == Nesting::Subshell && self.source.text_of(node).starts_with(b"((") {
            self.incomplete(node);
        }
        compound_parts(self, node, &mut nested);
        Statement::Nested(nested)
    }

    pub(super) fn function(&mut self, node: Node<'_>) -> Statement {
        let children = children_of(node);
        self.check_gaps(node.start_byte(), node.end_byte(), &children);
        let mut name = Vec::new();
        let mut body = Vec::new();
        let mut redirects = Vec::new();
        let mut words = Vec::new();
        for child in children {
            match kind_of(child) {
                "function" | "(" | ")" => {}
                "word" if name.is_empty() => name = self.source.text_of(child).to_vec(),
                "file_redirect" | "herestring_redirect" => {
                    self.redirect(child, &mut redirects, &mut words);
                }
                _ => body.extend(self.statement(child)),
            }
        }
        if !words.is_empty() || name.is_empty() {
            self.incomplete(node);
        }
        if let Some(Statement::Nested(last)) = body.last_mut() {
            last.redirects.append(&mut redirects);
        } else if !redirects.is_empty() {
            self.incomplete(node);
        }
        Statement::Function { name, body, span: self.source.span_of(node) }
    }

    pub(super) fn redirected(&mut self, node: Node<'_>) -> Statement {
        let children = children_of(node);
        let mut dashes = Vec::new();
        let mut body = None;
        let mut parts = HeredocParts::default();
        let mut before = node.start_byte();
        for child in children.iter().copied() {
            if let Some(at) = dash_before_heredoc(self, before, child) {
                parts.words.push(Word { bare: true, ..Word::known(b"-", self.source.span(at, at + 1)) });
                dashes.push(at);
            }
            before = child.end_byte();
            match kind_of(child) {
                "file_redirect" | "herestring_redirect" => {
                    self.redirect(child, &mut parts.redirects, &mut parts.words);
                }
                "heredoc_redirect" => self.heredoc(child, &mut parts),
                _ if body.is_none() => body = self.statement(child),
                _ => self.incomplete(child),
            }
        }
        self.check_gaps_around(node.start_byte(), node.end_byte(), &children, &dashes);
        let mut body = body.unwrap_or_else(|| {
            Statement::Simple(Simple { span: self.source.span_of(node), ..Simple::default() })
        });
        let gets_words = !parts.words.is_empty();
        if !attach(&mut body, parts.redirects, parts.words) {
            self.incomplete(node);
        }
        // After a redirect, the grammar reads an assignment as the program. The policy asks about this too.
        if let Some(simple) = last_command(&mut body).filter(|_| gets_words) {
            self.check_completed(simple);
        }
        if !parts.piped.is_empty() {
            parts.piped.insert(0, body);
            body = super::tree::pipeline(parts.piped);
        }
        if parts.then.is_empty() {
            return body;
        }
        // The operator, `&&` or `||`, does not matter: the looser one is assumed.
        let rest = parts.then.into_iter().map(|s| (Join::Any, s));
        Statement::List(std::iter::once((Join::Any, body)).chain(rest).collect())
    }

    /// Handles `[ ... ]`, which is a command with words, and `[[ ... ]]`, a keyword that runs only
    /// the substitutions in its words.
    pub(super) fn test_command(&mut self, node: Node<'_>) -> Statement {
        let mut leaves = Vec::new();
        collect_leaves(node, &mut leaves);
        self.check_gaps(node.start_byte(), node.end_byte(), &leaves);
        let double = leaves.first().is_some_and(|leaf| kind_of(*leaf) == "[[");
        if double {
            return double_brackets(self, node, &leaves);
        }
        // A line feed ends the command before its `]`.
        let broken = leaves.windows(2).any(|pair| match pair {
            [before, after] => self.source.slice(before.end_byte(), after.start_byte()).contains(&b'\n'),
            _ => false,
        });
        if broken || leaves.first().is_none_or(|leaf| kind_of(*leaf) != "[") {
            self.incomplete(node);
        }
        let mut words = Vec::new();
        self.words_of(&leaves, &mut words);
        self.check_evaluated_words(&words);
        Statement::Simple(Simple { words, span: self.source.span_of(node), ..Simple::default() })
    }
}

fn compound_parts(builder: &mut Builder<'_>, node: Node<'_>, nested: &mut Nested) {
    let children = children_of(node);
    builder.check_gaps(node.start_byte(), node.end_byte(), &children);
    if children.iter().any(|child| kind_of(*child) == "((") {
        arithmetic_frame(builder, node, &children, nested);
        return;
    }
    let mut words: Vec<Node<'_>> = Vec::new();
    for child in children {
        match kind_of(child) {
            _ if child.is_missing() => builder.incomplete(child),
            "variable_name" if kind_of(node) == "for_statement" => {
                nested.binds = Some(builder.source.text_of(child).to_vec());
            }
            "do_group" | "elif_clause" | "else_clause" | "case_item" => {
                compound_parts(builder, child, nested);
            }
            kind if ENDS_OF_ITEMS.contains(&kind) && kind_of(node) != "case_item" => {
                builder.incomplete(child);
            }
            kind if FRAME.contains(&kind) || ENDS_OF_ITEMS.contains(&kind) => {}
            _ if is_word(child) => words.push(child),
            _ => nested.body.extend(builder.statement(child)),
        }
    }
    builder.words_of(&words, &mut nested.words);
    if let Some(name) = nested.binds.clone().filter(|_| kind_of(node) == "for_statement") {
        let alone = matches!(words.as_slice(), [word] if kind_of(*word) == "command_substitution");
        let made = nested.words.iter().flat_map(|word| &word.substitutions);
        let counted = alone && made.clone().count() == 1 && made.clone().all(|one| one.is_sequence());
        let properties = if counted { ValueProperties::NUMBER } else { ValueProperties::of(&nested.words) };
        builder.note_value(name, properties, nested.span);
    }
}

/// Handles `(( ... ))` and `for (( ... ))`.
fn arithmetic_frame(builder: &mut Builder<'_>, node: Node<'_>, children: &[Node<'_>], nested: &mut Nested) {
    let open = children.iter().find(|child| kind_of(**child) == "((");
    let close = children.iter().find(|child| kind_of(**child) == "))");
    let (Some(open), Some(close)) = (open, close) else {
        builder.incomplete(node);
        return;
    };
    let word = builder.arithmetic_region(open.end_byte(), close.start_byte(), node);
    nested.words.push(word);
    for child in children {
        match kind_of(*child) {
            "do_group" | "compound_statement" => compound_parts(builder, *child, nested),
            _ => {}
        }
    }
}

fn collect_leaves<'t>(node: Node<'t>, out: &mut Vec<Node<'t>>) {
    for child in children_of(node) {
        if is_word(child) || child.child_count() == 0 {
            out.push(child);
        } else {
            collect_leaves(child, out);
        }
    }
}

fn double_brackets(builder: &mut Builder<'_>, node: Node<'_>, leaves: &[Node<'_>]) -> Statement {
    let mut words = Vec::new();
    for (index, leaf) in leaves.iter().enumerate() {
        if leaf.is_missing() || leaf.is_error() {
            builder.incomplete(*leaf);
        }
        match kind_of(*leaf) {
            "[[" | "]]" | "(" | ")" | "&&" | "||" | "!" | "<" | ">" | "=~" | "==" | "=" | "!=" => {}
            "test_operator" => {
                let before = index.checked_sub(1).and_then(|i| leaves.get(i));
                test_operator(builder, *leaf, before.copied(), leaves.get(index + 1).copied());
            }
            "regex" | "extglob_pattern" => {
                builder.check_process_substitution(*leaf);
                words.push(builder.loose_region(*leaf));
            }
            _ if is_word(*leaf) => builder.words_of(&[*leaf], &mut words),
            _ => builder.incomplete(*leaf),
        }
    }
    Statement::Nested(Nested {
        kind: Nesting::Compound,
        body: Vec::new(),
        words,
        redirects: Vec::new(),
        binds: None,
        span: builder.source.span_of(node),
    })
}

/// Returns the simple command at the end of the statement.
fn last_command(statement: &mut Statement) -> Option<&mut Simple> {
    match statement {
        Statement::Simple(simple) => Some(simple),
        Statement::List(items) => items.last_mut().and_then(|(_, last)| last_command(last)),
        Statement::Negated(inner) => last_command(inner),
        Statement::Pipeline(parts) => parts.last_mut().and_then(last_command),
        Statement::Nested(_) | Statement::Function { .. } => None,
    }
}

/// Attaches redirects, and words that the grammar read as their targets, to the last command of the statement, which
/// they follow.
fn attach(statement: &mut Statement, mut redirects: Vec<Redir>, mut words: Vec<Word>) -> bool {
    match statement {
        Statement::Simple(simple) => {
            simple.redirects.append(&mut redirects);
            simple.words.append(&mut words);
            simple.words.sort_by_key(|word| word.span);
            simple.take_descriptors();
            true
        }
        Statement::List(items) => match items.last_mut() {
            Some((_, last)) => attach(last, redirects, words),
            None => false,
        },
        Statement::Negated(inner) => attach(inner, redirects, words),
        Statement::Pipeline(parts) => match parts.last_mut() {
            Some(last) => attach(last, redirects, words),
            None => false,
        },
        Statement::Nested(nested) => {
            nested.redirects.append(&mut redirects);
            words.is_empty()
        }
        Statement::Function { .. } => false,
    }
}
