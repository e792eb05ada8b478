//! The grammar: it makes a tree of a text, and names the kinds of nodes.

use std::cell::RefCell;
use std::sync::LazyLock;

use tree_sitter::{Language, Node, Parser, Tree};

/// Returns the grammar's tree of the text with every non-ASCII byte masked. The grammar's scanner passes code points to
/// C functions that take bytes, and some code points make it crash. bash treats these bytes as ordinary characters.
/// Words are read from the original text.
pub(super) fn tree(text: &[u8]) -> Option<Tree> {
    const MASK: u8 = b'%';
    PARSER.with_borrow_mut(|parser| {
        let parser = parser.as_mut()?;
        if text.is_ascii() {
            return parser.parse(text, None);
        }
        let masked: Vec<u8> = text.iter().map(|byte| if byte.is_ascii() { *byte } else { MASK }).collect();
        parser.parse(&masked, None)
    })
}

thread_local! {
    /// Creating a parser costs as much as parsing a short command.
    static PARSER: RefCell<Option<Parser>> = RefCell::new(new_parser());
}

fn new_parser() -> Option<Parser> {
    let mut parser = Parser::new();
    parser.set_language(&LANGUAGE).ok()?;
    Some(parser)
}

static LANGUAGE: LazyLock<Language> = LazyLock::new(|| tree_sitter_bash::LANGUAGE.into());

/// The grammar's names of node kinds by number. A node computes the length of its name on each
/// call.
static KINDS: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let numbers = u16::try_from(LANGUAGE.node_kind_count()).unwrap_or(u16::MAX);
    (0..numbers).map(|number| LANGUAGE.node_kind_for_id(number).unwrap_or_default()).collect()
});

/// Returns the name of the node's kind. The number of an error node is outside the table.
pub(super) fn kind_of(node: Node<'_>) -> &'static str {
    KINDS.get(usize::from(node.kind_id())).copied().unwrap_or("ERROR")
}

/// Returns the children of a node.
pub(super) fn children_of<'t>(node: Node<'t>) -> Vec<Node<'t>> {
    match node.child_count() {
        0 => return Vec::new(),
        1 => return node.child(0).into_iter().collect(),
        _ => {}
    }
    let mut cursor = node.walk();
    node.children(&mut cursor).collect()
}

/// Reports whether the node is a word or a part of one.
pub(super) fn is_word(node: Node<'_>) -> bool {
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
