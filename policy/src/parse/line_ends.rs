//! Line ends that the grammar takes for blanks. After a pipeline of three commands it reads
//! the words of the next line as arguments of the last command. In bash a line end always
//! ends a simple command, so such a text is parsed again with a `;` there.

use tree_sitter::{Node, TreeCursor};

use super::grammar::kind_of;

/// Kinds of nodes in which bash takes no line end for a blank.
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
    /// Returns the line end with the offsets that it has `cut` bytes further to the front.
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

/// Returns the offsets of the line ends that the tree takes for blanks, in ascending order.
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
