//! The types of a parsed text: its commands, and the values that the parser knows. Code outside the parser uses these
//! types, and no types of the grammar.

use std::collections::HashMap;

use crate::decision::{Nesting, Span};

/// A parsed text.
#[derive(Debug, Default)]
pub(crate) struct Script {
    pub(crate) statements: Vec<Statement>,
    pub(crate) problems: Vec<Problem>,
    /// Text that is understood although it resembles something dangerous.
    pub(crate) notes: Vec<Problem>,
    /// Redirect targets that are read as `/dev/null`.
    pub(crate) nulls: Vec<Span>,
    /// Whether every part was understood.
    pub(crate) complete: bool,
    /// The properties of the variables that the text assigns; empty if it may set any variable.
    pub(crate) assigned: HashMap<Vec<u8>, ValueProperties>,
    /// Whether the text does not change how bash splits words.
    pub(crate) splits_as_usual: bool,
}

impl Script {
    /// Returns the result for a text that was not parsed.
    pub(crate) fn refused(code: &'static str, span: Span) -> Self {
        Self {
            statements: Vec::new(),
            problems: vec![Problem { code, span }],
            complete: false,
            ..Self::default()
        }
    }
}

/// A reason why the tree cannot be used to allow: step 7 of the pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) code: &'static str,
    pub(crate) span: Span,
}

/// A reason why a command cannot be proven read-only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hazard {
    pub(crate) code: &'static str,
    pub(crate) span: Span,
}

/// The relation of a statement to the preceding one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Join {
    /// The first statement, or after `;`, `&`, `||` or a line feed.
    Any,
    /// After `&&`.
    And,
}

/// Combines the parts of a pipeline. After a redirect, the grammar puts the whole list before a `|` into the pipeline
/// (`cd a && b 2>f | c`). Only the last command of such a list is a part.
pub(super) fn pipeline(parts: Vec<Statement>) -> Statement {
    let mut items: Vec<(Join, Vec<Statement>)> = vec![(Join::Any, Vec::new())];
    for part in parts {
        let list = match part {
            Statement::List(list) => list,
            other => vec![(Join::Any, other)],
        };
        for (index, (join, statement)) in list.into_iter().enumerate() {
            match items.last_mut().filter(|_| index == 0) {
                Some((_, parts)) => parts.push(statement),
                None => items.push((join, vec![statement])),
            }
        }
    }
    let mut list = items.into_iter().map(|(join, parts)| (join, of_parts(parts)));
    match (list.next(), list.next()) {
        (Some((_, only)), None) => only,
        (first, second) => Statement::List(first.into_iter().chain(second).chain(list).collect()),
    }
}

/// A single part is not a pipeline.
fn of_parts(mut parts: Vec<Statement>) -> Statement {
    match parts.pop() {
        Some(only) if parts.is_empty() => only,
        last => Statement::Pipeline(parts.into_iter().chain(last).collect()),
    }
}

#[derive(Debug)]
pub(crate) enum Statement {
    Simple(Simple),
    Pipeline(Vec<Statement>),
    List(Vec<(Join, Statement)>),
    /// After a `!`.
    Negated(Box<Statement>),
    Nested(Nested),
    Function {
        name: Vec<u8>,
        body: Vec<Statement>,
        span: Span,
    },
}

/// Statements inside brackets or keywords, with the words and redirects of the whole.
#[derive(Debug)]
pub(crate) struct Nested {
    pub(crate) kind: Nesting,
    pub(crate) body: Vec<Statement>,
    pub(crate) words: Vec<Word>,
    pub(crate) redirects: Vec<Redir>,
    /// The variable of a `for`.
    pub(crate) binds: Option<Vec<u8>>,
    pub(crate) span: Span,
}

#[derive(Debug, Default)]
pub(crate) struct Simple {
    pub(crate) words: Vec<Word>,
    pub(crate) assignments: Vec<Assign>,
    pub(crate) redirects: Vec<Redir>,
    pub(crate) span: Span,
}

impl Simple {
    /// Moves digits directly before a redirect to its descriptor if the grammar read them as a word. `&>` has no
    /// descriptor: digits before it are a word.
    pub(super) fn take_descriptors(&mut self) {
        let lacks = |redirect: &&mut Redir| redirect.descriptor.is_none() && !redirect.text.starts_with('&');
        for redirect in self.redirects.iter_mut().filter(lacks) {
            let number = |word: &Word| {
                let text =
                    word.text.as_deref().filter(|_| word.bare && word.span.end == redirect.span.start)?;
                std::str::from_utf8(text).ok().filter(|text| !text.starts_with('+'))?.parse().ok()
            };
            let at = self.words.iter().position(|word| number(word).is_some());
            if let Some(at) = at {
                let word = self.words.remove(at);
                redirect.descriptor = number(&word);
                redirect.span.start = word.span.start;
            }
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Assign {
    pub(crate) name: Vec<u8>,
    /// One word, or the elements of an array.
    pub(crate) values: Vec<Word>,
    pub(crate) span: Span,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RedirOp {
    /// `<`
    Read,
    /// `>`, `>>`, `>|`, `&>`, `&>>`, `>&FILE`, `<>`
    Write,
    /// `2>&1`, `<&3`, `>&-`
    Duplicate,
    /// `<<`, `<<-`
    Heredoc,
    /// `<<<`
    HereString,
}

#[derive(Debug, Clone)]
pub(crate) struct Redir {
    pub(crate) op: RedirOp,
    pub(crate) text: &'static str,
    pub(crate) descriptor: Option<u32>,
    pub(crate) target: Option<Word>,
    pub(crate) span: Span,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SubKind {
    Command,
    ProcessIn,
    ProcessOut,
}

/// Statements with output, or a path to it, that becomes part of a word.
#[derive(Debug)]
pub(crate) struct Substitution {
    pub(crate) kind: SubKind,
    pub(crate) body: Vec<Statement>,
    /// The output, if the statements are `cat` of a heredoc without expansions.
    pub(crate) text: Option<Vec<u8>>,
}

/// One word as the program receives it, or the known part of it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Word {
    pub(crate) span: Span,
    /// The bytes after quote removal, if they are known.
    pub(crate) text: Option<Vec<u8>>,
    /// Whether it is exactly one word.
    pub(crate) exactly_one: bool,
    /// The bytes before the first unknown one; for a glob, the glob.
    pub(crate) lead: Vec<u8>,
    /// The source text, if the bytes are unknown.
    pub(crate) written: Vec<u8>,
    /// Whether it is a glob, which `lead` contains.
    pub(crate) glob: bool,
    /// Whether a `..` follows an unknown part.
    pub(crate) climbs: bool,
    /// Whether it contains neither quotes nor escapes nor expansions.
    pub(crate) bare: bool,
    /// Whether it is partly quoted or escaped, and partly not.
    pub(crate) mixed: bool,
    /// Whether the text is unknown, but no word except possibly the first is a flag, and the first
    /// only if `lead` shows it.
    pub(crate) flagless: bool,
    /// Whether brace expansion produced it.
    pub(crate) braced: bool,
    /// Whether it contains the text of a heredoc that `cat` prints.
    pub(crate) heredoc_text: bool,
    /// Whether it is the body of a heredoc without expansions.
    pub(crate) literal: bool,
    /// Whether it starts with `~user`, `~+` or `~-`, which are unknown directories.
    pub(crate) foreign_home: bool,
    /// The variable that is the whole word.
    pub(crate) only: Option<Vec<u8>>,
    /// The variables that it reads.
    pub(crate) variables: Vec<Vec<u8>>,
    pub(crate) hazards: Vec<Hazard>,
    /// Statements that run to produce the word.
    pub(crate) substitutions: Vec<std::rc::Rc<Substitution>>,
}

impl Word {
    /// Returns a known word that is not in the source text, as in a launched command.
    pub(crate) fn known(text: &[u8], span: Span) -> Self {
        Self { span, text: Some(text.to_vec()), exactly_one: true, lead: text.to_vec(), ..Self::default() }
    }

    /// Returns an unknown word, or any number of words unless `exactly_one`.
    pub(crate) fn unknown(exactly_one: bool, span: Span) -> Self {
        Self { span, exactly_one, ..Self::default() }
    }
}

impl Word {
    /// Reports whether it is the path of a pipe from `<(...)`.
    pub(crate) fn is_process_input(&self) -> bool {
        let kinds = self.substitutions.iter().map(|substitution| substitution.kind);
        self.lead.is_empty() && self.exactly_one && kinds.eq([SubKind::ProcessIn])
    }

    /// Reports whether it contains a `>(...)`.
    pub(crate) fn writes_to_process(&self) -> bool {
        self.substitutions.iter().any(|substitution| substitution.kind == SubKind::ProcessOut)
    }
}

/// Flags of `git merge-base` with which it prints names of commits.
const MERGE_BASE: &[&[u8]] = &[b"-a", b"--all", b"--octopus", b"--independent", b"--fork-point"];
/// Flags of `git rev-list` with which it prints names of commits; a number follows `-n`.
const REV_LIST: &[&[u8]] = &[
    b"-1",
    b"-n",
    b"--max-count=1",
    b"--all",
    b"--tags",
    b"--reverse",
    b"--first-parent",
    b"--merges",
    b"--no-merges",
    b"--max-parents=0",
];
/// Flags of `git rev-parse` with which it prints names of commits.
const REV_PARSE: &[&[u8]] = &[b"--verify", b"--short", b"-q", b"--quiet"];

impl Substitution {
    /// Reports whether no word of the output is a flag. `whole` means that the output is not split.
    ///
    /// Substitutions with output that, however it is split, contains no flag: names of commits, or one
    /// absolute path. Other effects are not considered.
    pub(super) fn prints_no_flag(&self, whole: bool) -> bool {
        let [Statement::Simple(simple)] = self.body.as_slice() else {
            return false;
        };
        let plain =
            self.kind == SubKind::Command && simple.assignments.is_empty() && simple.redirects.is_empty();
        let words: Option<Vec<&[u8]>> = simple.words.iter().map(|word| word.text.as_deref()).collect();
        let Some(words) = words.filter(|_| plain) else {
            return false;
        };
        match words.as_slice() {
            [b"pwd"] | [b"pwd", b"-P" | b"-L"] | [b"git", b"rev-parse", b"--show-toplevel"] => whole,
            [b"git", b"merge-base", rest @ ..] => only(rest, MERGE_BASE),
            [b"git", b"rev-list", rest @ ..] => only(rest, REV_LIST),
            [b"git", b"rev-parse", rest @ ..] => only(rest, REV_PARSE),
            _ => false,
        }
    }
}

/// Reports whether every flag is in the list.
fn only(words: &[&[u8]], flags: &[&[u8]]) -> bool {
    words.iter().all(|word| !word.starts_with(b"-") || flags.contains(word))
}

/// Properties that every value of a variable has.
///
/// Properties of the values that the text assigns to variables. They show whether an expansion is a number, the name of
/// a variable, or a word that is not a flag. One unknown value makes all values of the variable unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ValueProperties {
    /// Each value is a plain decimal number.
    pub(crate) numeric: bool,
    /// No value is a flag or empty, provided it stays one word.
    pub(crate) no_flag: bool,
    /// Each value stays one word when bash splits it.
    pub(crate) unsplit: bool,
    /// Each value is the name of a variable.
    pub(crate) name: bool,
    /// No value is the name of a variable that must not be read.
    pub(crate) readable: bool,
}

/// A use of `${!NAME}`.
#[derive(Debug)]
pub(super) struct IndirectRead {
    pub(super) name: Vec<u8>,
    /// Whether the named variable's value becomes part of the word, or only whether it is set.
    pub(super) value_is_used: bool,
    pub(super) span: Span,
}

impl ValueProperties {
    /// Any value.
    pub(super) const UNKNOWN: Self =
        Self { numeric: false, no_flag: false, unsplit: false, name: false, readable: false };
    /// Numbers, which may be negative.
    pub(super) const NUMBER: Self = Self { numeric: true, ..Self::UNKNOWN };

    /// Returns the properties that both have.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            numeric: self.numeric && other.numeric,
            no_flag: self.no_flag && other.no_flag,
            unsplit: self.unsplit && other.unsplit,
            name: self.name && other.name,
            readable: self.readable && other.readable,
        }
    }
}
