//! The decision and its parts: plain data with readable fields, which serialise
//! as `airlock check --jsonl` prints them. Nothing here decides.

mod json;

use serde::Serialize;

/// What may happen to the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It runs.
    Allow,
    /// Somebody is asked.
    Ask,
    /// It does not run.
    Deny,
}

/// Byte offsets into the command as it was given, end exclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl Span {
    /// The span from `start` up to `end`.
    #[must_use]
    pub fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }
}

/// Why the verdict is what it is. The deciding reason comes first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Reason {
    /// Stable code, in snake case.
    pub code: &'static str,
    /// One line for a person.
    pub message: String,
    /// Where in the command.
    pub span: Option<Span>,
    /// The rule as it was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// Index into `commands`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command_index: Option<usize>,
}

/// One word of a command as the program gets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// The bytes after quote removal; `None` where they are not statically known.
    pub text: Option<Vec<u8>>,
    /// Whether it is exactly one word; an unquoted expansion may become any number.
    pub exactly_one: bool,
    /// Where it stands.
    pub span: Span,
}

/// A redirect of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Redirect {
    /// The operator, such as `>>`.
    pub operator: String,
    /// The descriptor before the operator, if one was written.
    pub descriptor: Option<u32>,
    /// The target; `None` where it is not statically known.
    pub target: Option<String>,
    /// Whether it can change anything but the command's own streams.
    pub harmless: bool,
    /// Where it stands.
    pub span: Span,
}

/// An assignment before or instead of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Assignment {
    /// The variable's name.
    pub name: String,
    /// Its value; `None` where it is not statically known.
    pub value: Option<String>,
    /// Where it stands.
    pub span: Span,
}

/// What a command stands inside of, outermost first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Nesting {
    /// A part of a pipeline.
    Pipeline,
    /// `( ... )`.
    Subshell,
    /// `{ ...; }`.
    Group,
    /// The condition or body of `if`, `while`, `until`, `for` or `case`.
    Compound,
    /// The body of a function.
    Function,
    /// `$( ... )` or backticks.
    Substitution,
    /// `<( ... )` or `>( ... )`.
    ProcessSubstitution,
    /// Run by another program: a wrapper, `xargs`, `find -exec`.
    Launched,
    /// Text given to a shell: `sh -c`, `eval`.
    ShellText,
}

/// How a user interface may fold the output. Never used to allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    /// Looks for something.
    Search,
    /// Reads contents.
    Read,
    /// Lists names.
    List,
    /// Says nothing about a compound.
    Neutral,
    /// Prints nothing when it succeeds.
    Silent,
    /// Edits a file.
    Edit,
    /// Anything else.
    Other,
}

/// One command found, at any depth.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FoundCommand {
    /// The words as the program gets them.
    pub argv: Vec<Word>,
    /// Where it stands.
    pub span: Span,
    /// Its redirects.
    pub redirects: Vec<Redirect>,
    /// Its assignments.
    pub assignments: Vec<Assignment>,
    /// What it stands inside of.
    pub nesting: Vec<Nesting>,
    /// Whether it is proven read-only.
    pub read_only: bool,
    /// How it may be folded.
    pub category: Category,
}

/// What the runner must give, or refuse to run the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Requirement {
    /// Workspace, HOME and /tmp read-only, no network, a fixed PATH, no aliases.
    ReadOnlyMount,
    /// Programs and paths resolve to what was decided about.
    TrustedPath,
}

/// What is done to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Its contents or metadata are read.
    Read,
    /// Its contents or metadata are changed.
    Write,
    /// It is made.
    Create,
    /// It is removed.
    Delete,
}

/// A path the command names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PathUse {
    /// The path, absolute and normalised where that can be known.
    pub path: String,
    /// What is done to it.
    pub access: Access,
    /// Index into `commands`.
    pub command_index: usize,
}

/// A part of the text that was read as something else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Rewrite {
    /// Where it stands.
    pub span: Span,
    /// What it was read as.
    pub text: String,
}

/// A remark for the approver. It never changes the verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Warning {
    /// Stable code, in snake case.
    pub code: &'static str,
    /// One line for a person.
    pub message: String,
    /// Where in the command.
    pub span: Option<Span>,
}

/// A `sed -i` that is seen as an edit of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Edit {
    /// The file that is edited.
    pub file: String,
    /// The sed expression.
    pub expression: String,
}

/// A shadow rule that would have matched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ShadowHit {
    /// The rule as it was written.
    pub rule: String,
    /// What it would have said.
    #[serde(rename = "decision")]
    pub verdict: Verdict,
    /// Index into `commands`.
    pub command_index: Option<usize>,
}

/// How settings stand in a file that a program obeys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ObeyedFormat {
    /// Keys of TOML, such as `build.rustc-wrapper`; `*` stands for one name.
    Toml,
    /// Keys of JSON, likewise.
    Json,
    /// A repository, or a file of git's configuration; its keys in small letters, `*` for any subsection.
    Git,
    /// Texts that stand anywhere in the file, once quotes and escapes are removed.
    Text,
    /// That the file is there is enough.
    Present,
}

/// Files that a program obeys before it does its work, where the read-only proof is all that allows it. If one of them
/// names a program, the proof does not hold for what runs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Obeyed {
    /// The program that obeys them.
    pub program: String,
    /// Absolute, inside; `*` stands for any part of one name. Empty: where they are is not known.
    pub paths: Vec<String>,
    /// How settings stand in them.
    pub format: ObeyedFormat,
    /// The settings that name a program.
    pub settings: Vec<&'static str>,
}

/// Hash of the resolved rules and of the engine's version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PolicyVersion(pub [u8; 32]);

/// The answer to a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Decision {
    /// What may happen.
    #[serde(rename = "decision")]
    pub verdict: Verdict,
    /// Why, the deciding reason first.
    pub reasons: Vec<Reason>,
    /// Every command found.
    pub commands: Vec<FoundCommand>,
    /// Proven to change nothing.
    pub read_only: bool,
    /// Read-only, and the shell itself does not change directory.
    pub concurrency_safe: bool,
    /// What the runner must give.
    pub requires: Vec<Requirement>,
    /// How the output may be folded.
    pub category: Category,
    /// Whether success prints nothing.
    pub no_output_expected: bool,
    /// The commands whose exit code may be that of the whole when it is not 0, as indices into
    /// `commands`, the last one first. Empty where that is not known.
    pub endings: Vec<usize>,
    /// The paths named.
    pub paths: Vec<PathUse>,
    /// The files among what commands can write that it would run, absolute: programs by path, and scripts that known
    /// interpreters are given.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<String>,
    /// The files that decide whether the proof holds. Empty where something else than the proof allows the command.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub obeyed: Vec<Obeyed>,
    /// What was read as something else.
    pub rewrites: Vec<Rewrite>,
    /// Remarks for the approver.
    pub warnings: Vec<Warning>,
    /// Rules that would allow it next time.
    pub suggested_rules: Vec<String>,
    /// Set when the command is a `sed` edit of a file.
    pub edit: Option<Edit>,
    /// Shadow rules that matched; they decide nothing.
    pub shadow: Vec<ShadowHit>,
    /// Whether every part of the text was understood.
    pub parse_complete: bool,
    /// The rules and engine that decided.
    pub policy_version: PolicyVersion,
}

impl Decision {
    /// The command with its rewrites made: what was decided about, and what must run.
    #[must_use]
    pub fn rewritten(&self, command: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(command.len());
        let mut from = 0;
        for rewrite in &self.rewrites {
            out.extend_from_slice(command.get(from..rewrite.span.start).unwrap_or_default());
            out.extend_from_slice(rewrite.text.as_bytes());
            from = rewrite.span.end;
        }
        out.extend_from_slice(command.get(from..).unwrap_or_default());
        out
    }
}
