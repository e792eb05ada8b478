//! Parses bytes into a closed tree of commands. The grammar's tree is not trusted; bash is the reference. A known node
//! must account for every byte, and every word is read again from its bytes. Any contradiction is a [`Problem`]. The
//! parser does not judge the effects of a command.

mod arithmetic;
mod assignments;
mod braces;
mod build;
mod compound;
mod dialect;
mod expansion;
mod grammar;
mod heredoc;
mod messages;
mod names;
mod numbers;
mod piece;
mod prescan;
mod quoting;
mod simple;
mod source;
mod tree;
mod word;

pub(crate) use arithmetic::DECLARING;
pub(crate) use dialect::{is_only_bash, keeps_reading};
pub(crate) use names::{assignment_name, is_name_byte};
pub(crate) use quoting::ansi_c;
pub(crate) use simple::{RESERVED, behind_time};
pub(crate) use source::{SpanMap, Surroundings};
pub(crate) use tree::{
    Assign, Join, Nested, Problem, Redir, RedirOp, Script, Simple, Statement, SubKind, Substitution,
    ValueProperties, Word,
};

use std::collections::HashMap;

use tree_sitter::Tree;

use crate::limits;
use grammar::LineEnd;

/// Parses bash text. `map` defines the position of the text in the original command.
pub(crate) fn parse(text: &[u8], map: SpanMap, surroundings: Surroundings<'_>) -> Script {
    let scanned = prescan::scan(text);
    if let Some(code) = scanned.refusal {
        return Script::refused(code, map.whole(text.len()));
    }
    let mut source = source::MappedText::new(text, &scanned.continuations, map);
    let Some((tree, blanks)) = tree_by_lines(&mut source, &scanned) else {
        return Script::refused("parser_failed", source.span(0, source.text().len()));
    };
    let built = |surroundings| {
        let mut builder = build::Builder::new(&source, surroundings);
        for at in &blanks {
            builder.problem("parse_incomplete", source.span(*at, at + 1));
        }
        for (code, at) in &scanned.problems {
            builder.problem_at_original(code, *at);
        }
        builder.script(tree.root_node())
    };
    let script = built(surroundings);
    if script.splits_as_usual || !surroundings.splits_as_usual {
        return script;
    }
    // The separators may be set after the words that they split.
    built(Surroundings { splits_as_usual: false, ..surroundings })
}

/// Returns the tree in which line ends end commands, and the line ends that it still reads as blanks.
fn tree_by_lines(source: &mut source::MappedText, scanned: &prescan::Scan) -> Option<(Tree, Vec<usize>)> {
    let moved = scanned
        .line_ends
        .iter()
        .map(|end| end.moved(2 * scanned.continuations.partition_point(|continued| *continued < end.at)));
    let ends: HashMap<usize, LineEnd> = moved.map(|end| (end.at, end)).collect();
    let mut tree = grammar::tree(source.text())?;
    let mut blanks = grammar::misread(tree.root_node(), source.text());
    for _ in 0..limits::MAX_PARSES_BY_LINES {
        let misread = blanks.iter().filter_map(|at| ends.get(at));
        let separators: Vec<usize> = misread.filter_map(|end| end.separator(source.text())).collect();
        if separators.is_empty() {
            break;
        }
        source.separate(&separators);
        tree = grammar::tree(source.text())?;
        blanks = grammar::misread(tree.root_node(), source.text());
    }
    Some((tree, blanks))
}
