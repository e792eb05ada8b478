//! The grammar: it parses a text into a tree, and names the kinds of nodes. Also the line ends that it takes for blanks.

use std::cell::RefCell;
use std::sync::LazyLock;

use tree_sitter::{Language, Node, Parser, Tree, TreeCursor};

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

/// Kinds of nodes in which bash reads no line end as a blank.
const ON_ONE_LINE: &[&str] = &[
    "command",
    "declaration_command",
    "file_redirect",
    "herestring_redirect",
    "negated_command",
    "redirected_statement",
    "unset_command",
    "variable_assignments",
];

/// A line end outside quotes and heredocs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LineEnd {
    pub(super) at: usize,
    /// The offset of the comment before it.
    pub(super) comment: Option<usize>,
}

impl LineEnd {
    /// Returns the line end with its offsets reduced by `cut` bytes.
    pub(super) fn moved(self, cut: usize) -> Self {
        Self { at: self.at - cut, comment: self.comment.map(|start| start - cut) }
    }

    /// Returns the offset of the byte that a `;` can replace to the same effect: the line end, or the blank before its
    /// comment. In a comment, a `;` does not end a command.
    pub(super) fn separator(self, text: &[u8]) -> Option<usize> {
        let Some(start) = self.comment else {
            return Some(self.at);
        };
        start.checked_sub(1).filter(|at| matches!(text.get(*at), Some(b' ' | b'\t')))
    }
}

/// Returns the offsets of the line ends that the tree has as blanks, in ascending order.
///
/// Line ends that the grammar takes for blanks. After a pipeline of three commands it reads
/// the words of the next line as arguments of the last command. In bash a line end always
/// ends a simple command, so such a text is parsed again with a `;` there.
pub(super) fn misread(root: Node<'_>, text: &[u8]) -> Vec<usize> {
    let mut found = Vec::new();
    let mut cursor = root.walk();
    loop {
        if ON_ONE_LINE.contains(&kind_of(cursor.node())) {
            found.extend(line_ends_between_children(cursor.node(), text));
        }
        if !cursor.goto_first_child() && !goto_next(&mut cursor) {
            found.sort_unstable();
            found.dedup();
            return found;
        }
    }
}

/// Moves to the next node that is not below this one.
fn goto_next(cursor: &mut TreeCursor<'_>) -> bool {
    while !cursor.goto_next_sibling() {
        if !cursor.goto_parent() {
            return false;
        }
    }
    true
}

/// Returns the first line end in each gap between two children.
fn line_ends_between_children(node: Node<'_>, text: &[u8]) -> Vec<usize> {
    let mut cursor = node.walk();
    let children: Vec<Node<'_>> = node.children(&mut cursor).collect();
    let gaps = children.iter().zip(children.iter().skip(1));
    gaps.filter_map(|(before, after)| {
        let gap = text.get(before.end_byte()..after.start_byte())?;
        gap.iter().position(|byte| *byte == b'\n').map(|at| before.end_byte() + at)
    })
    .collect()
}
