//! Parses bytes into a closed tree of commands. The grammar's tree is a hint; bash is the
//! reference. A known node must account for every byte, and every word is read again from its
//! bytes. Any contradiction is a [`Problem`]. The parser does not judge what a command does.

mod arithmetic;
mod braces;
mod build;
mod compound;
mod dialect;
mod expansion;
mod flagless;
mod heredoc;
mod line_ends;
mod messages;
mod numbers;
mod prescan;
mod quoting;
mod simple;
mod source;
mod tree;
mod values;
mod word;

pub(crate) use arithmetic::DECLARING;
pub(crate) use dialect::{is_only_bash, keeps_reading};
pub(crate) use quoting::ansi_c;
pub(crate) use simple::{RESERVED, behind_time};
pub(crate) use source::SpanMap;
pub(crate) use tree::{
    Assign, Join, Nested, Problem, Redir, RedirOp, Script, Simple, Statement, SubKind, Substitution, Word,
};
pub(crate) use values::Held;
pub(crate) use word::assignment_name;

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::LazyLock;

use tree_sitter::{Language, Node, Parser, Tree};

use crate::limits;
use line_ends::LineEnd;

/// The context in which words are read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Surroundings<'a> {
    /// The command's HOME, for `~` and `$HOME`.
    pub(crate) home: &'a str,
    /// Whether bash splits words at white space, as far as the surrounding text shows.
    pub(crate) splits_as_usual: bool,
}

impl<'a> Surroundings<'a> {
    pub(crate) fn of_home(home: &'a str) -> Self {
        Self { home, splits_as_usual: true }
    }

    /// Reports whether HOME is unchanged by word splitting and globbing.
    pub(crate) fn has_plain_home(&self) -> bool {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte);
        !self.home.is_empty() && self.home.bytes().all(plain)
    }
}

/// Parses bash text. `map` defines the position of the text in the original command.
pub(crate) fn parse(text: &[u8], map: SpanMap, surroundings: Surroundings<'_>) -> Script {
    let scanned = prescan::scan(text);
    if let Some(code) = scanned.refusal {
        return Script::refused(code, map.whole(text.len()));
    }
    let mut source = source::Source::new(text, &scanned.continuations, map);
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

/// Returns the tree in which line ends end commands, and the line ends that it still takes for blanks.
fn tree_by_lines(source: &mut source::Source, scanned: &prescan::Scan) -> Option<(Tree, Vec<usize>)> {
    let moved = scanned
        .line_ends
        .iter()
        .map(|end| end.moved(2 * scanned.continuations.partition_point(|continued| *continued < end.at)));
    let ends: HashMap<usize, LineEnd> = moved.map(|end| (end.at, end)).collect();
    let mut tree = grammar_tree(source.text())?;
    let mut blanks = line_ends::misread(tree.root_node(), source.text());
    for _ in 0..limits::MAX_PARSES_BY_LINES {
        let misread = blanks.iter().filter_map(|at| ends.get(at));
        let separators: Vec<usize> = misread.filter_map(|end| end.separator(source.text())).collect();
        if separators.is_empty() {
            break;
        }
        source.separate(&separators);
        tree = grammar_tree(source.text())?;
        blanks = line_ends::misread(tree.root_node(), source.text());
    }
    Some((tree, blanks))
}

/// Returns the grammar's tree of the text with every non-ASCII byte masked. The grammar's scanner
/// passes code points to C functions that take bytes, and some of them make it crash. bash treats
/// these bytes as ordinary ones; words are read from the original text.
fn grammar_tree(text: &[u8]) -> Option<Tree> {
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
fn kind_of(node: Node<'_>) -> &'static str {
    KINDS.get(usize::from(node.kind_id())).copied().unwrap_or("ERROR")
}
