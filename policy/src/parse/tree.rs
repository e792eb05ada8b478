//! The closed command tree. Nothing of the grammar's own tree passes beyond it.

use std::collections::HashMap;

use super::values::Held;
use crate::decision::{Nesting, Span};

/// A text as it was understood.
#[derive(Debug, Default)]
pub(crate) struct Script {
    pub(crate) statements: Vec<Statement>,
    pub(crate) problems: Vec<Problem>,
    /// What looks like something else and is understood.
    pub(crate) notes: Vec<Problem>,
    /// Redirect targets that are read as `/dev/null`.
    pub(crate) nulls: Vec<Span>,
    /// Whether every part was understood.
    pub(crate) complete: bool,
    /// What the text gives to variables; nothing where it may set any.
    pub(crate) held: HashMap<Vec<u8>, Held>,
    /// Whether the text leaves it as it is where bash splits words.
    pub(crate) splits_as_usual: bool,
}

impl Script {
    /// A text that was not parsed at all.
    pub(crate) fn refused(code: &'static str, span: Span) -> Self {
        Self {
            statements: Vec::new(),
            problems: vec![Problem { code, span }],
            complete: false,
            ..Self::default()
        }
    }
}

/// Something that makes the tree unfit to allow by: step 7 of the pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) code: &'static str,
    pub(crate) span: Span,
}

/// Something that keeps a command from being proven read-only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hazard {
    pub(crate) code: &'static str,
    pub(crate) span: Span,
}

/// How a statement follows the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Join {
    /// First, or behind `;`, `&`, `||` or a line end.
    Any,
    /// Behind `&&`.
    And,
}

/// The statement that these parts with a `|` between them make. Behind a redirect the grammar puts the
/// whole list before a `|` into the pipeline (`cd a && b 2>f | c`); of such a list only the last
/// command is a part of it.
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

/// One part alone is no pipeline.
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
    /// Behind a `!`.
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
    /// The digits right before a redirect are its descriptor, where the grammar took
    /// them for a word. `&>` has none: the digits before it are a word.
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

/// Statements whose output, or a path to it, becomes part of a word.
#[derive(Debug)]
pub(crate) struct Substitution {
    pub(crate) kind: SubKind,
    pub(crate) body: Vec<Statement>,
    /// Its output, where it is `cat` of a heredoc that expands nothing.
    pub(crate) text: Option<Vec<u8>>,
}

/// One word as the program gets it, or what is known of it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Word {
    pub(crate) span: Span,
    /// The bytes after quote removal, where they are known.
    pub(crate) text: Option<Vec<u8>>,
    /// Whether it is exactly one word.
    pub(crate) exactly_one: bool,
    /// The bytes before the first that is not known; of a glob, the glob.
    pub(crate) lead: Vec<u8>,
    /// As it is written, where the bytes are not known.
    pub(crate) written: Vec<u8>,
    /// Whether it is a glob, with `lead` holding it.
    pub(crate) glob: bool,
    /// Whether a `..` stands behind a part that is not known.
    pub(crate) climbs: bool,
    /// Whether neither quote nor escape nor expansion is in it.
    pub(crate) bare: bool,
    /// Whether it is partly quoted or escaped, and partly not.
    pub(crate) mixed: bool,
    /// Whether it is not known, and yet no word behind the first of it is a flag, nor
    /// is the first unless `lead` says so.
    pub(crate) flagless: bool,
    /// Whether braces made several words of it.
    pub(crate) braced: bool,
    /// Whether the text of a heredoc, by way of `cat`, is in it.
    pub(crate) heredoc_text: bool,
    /// Whether it is the body of a heredoc that expands nothing.
    pub(crate) literal: bool,
    /// `~user`, `~+`, `~-`: a directory that is not known.
    pub(crate) foreign_home: bool,
    /// The variable whose value, as it is, is the whole word.
    pub(crate) only: Option<Vec<u8>>,
    /// The variables it reads.
    pub(crate) variables: Vec<Vec<u8>>,
    pub(crate) hazards: Vec<Hazard>,
    /// Statements that run to make the word.
    pub(crate) substitutions: Vec<std::rc::Rc<Substitution>>,
}

impl Word {
    /// A known word that was not written as such, as in a launched command.
    pub(crate) fn known(text: &[u8], span: Span) -> Self {
        Self { span, text: Some(text.to_vec()), exactly_one: true, lead: text.to_vec(), ..Self::default() }
    }

    /// Any number of words that are not known.
    pub(crate) fn unknown(exactly_one: bool, span: Span) -> Self {
        Self { span, exactly_one, ..Self::default() }
    }
}

impl Word {
    /// Whether it is the path of a pipe that `<(...)` makes.
    pub(crate) fn is_process_input(&self) -> bool {
        let kinds = self.substitutions.iter().map(|substitution| substitution.kind);
        self.lead.is_empty() && self.exactly_one && kinds.eq([SubKind::ProcessIn])
    }

    /// Whether a `>(...)` is in it.
    pub(crate) fn writes_to_process(&self) -> bool {
        self.substitutions.iter().any(|substitution| substitution.kind == SubKind::ProcessOut)
    }
}
