//! The decision and its parts: plain data with public fields, serialized as `airlock check --jsonl` prints them. No
//! logic.

mod json;

use serde::Serialize;

use crate::last_step::LastStep;

/// The verdict about a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The command runs.
    Allow,
    /// An approver is asked.
    Ask,
    /// The command does not run.
    Deny,
}

/// A range of byte offsets in the command as it was given; the end is exclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// The byte after the last one.
    pub end: usize,
}

impl Span {
    /// Creates the span from `start` up to `end`.
    #[must_use]
    pub fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }
}

/// A reason for the verdict. The deciding reason comes first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Reason {
    /// A stable code in snake case.
    pub code: &'static str,
    /// A message for a person, one line.
    pub message: String,
    /// The position in the command.
    pub span: Option<Span>,
    /// The rule as it was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// An index into `commands`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command_index: Option<usize>,
}

impl Reason {
    /// Creates a reason that refers to no rule and to no command.
    pub(crate) fn new(code: &'static str, message: impl Into<String>, span: Option<Span>) -> Self {
        Self { code, message: message.into(), span, rule: None, command_index: None }
    }
}

/// One word of a command as the program receives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// The bytes after quote removal; `None` if they are not statically known.
    pub text: Option<Vec<u8>>,
    /// Whether this is exactly one word. An unquoted expansion can become any number of words.
    pub exactly_one: bool,
    /// The position.
    pub span: Span,
}

/// A redirect of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Redirect {
    /// The operator, such as `>>`.
    pub operator: String,
    /// The descriptor before the operator, if one was written.
    pub descriptor: Option<u32>,
    /// The target; `None` if it is not statically known.
    pub target: Option<String>,
    /// Whether the redirect changes only the command's own streams.
    pub harmless: bool,
    /// The position.
    pub span: Span,
}

/// An assignment before or instead of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Assignment {
    /// The variable's name.
    pub name: String,
    /// The value; `None` if it is not statically known.
    pub value: Option<String>,
    /// The position.
    pub span: Span,
}

/// A construct that encloses a command. Lists start with the outermost.
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
    /// Run by another program: a launcher such as `env`, `xargs` or `find -exec`.
    Launched,
    /// Text that a shell evaluates: `sh -c`, `eval`.
    ShellText,
}

/// A hint for user interfaces on how to fold the output. Never used to allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    /// Searches.
    Search,
    /// Reads contents.
    Read,
    /// Lists names.
    List,
    /// Does not affect the category of a compound.
    Neutral,
    /// Prints nothing on success.
    Silent,
    /// Edits a file.
    Edit,
    /// Anything else.
    Other,
}

/// A command that was found, at any depth.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FoundCommand {
    /// The words as the program receives them.
    pub argv: Vec<Word>,
    /// The position.
    pub span: Span,
    /// The redirects.
    pub redirects: Vec<Redirect>,
    /// The assignments.
    pub assignments: Vec<Assignment>,
    /// The enclosing constructs, outermost first.
    pub nesting: Vec<Nesting>,
    /// Whether the command is proven read-only.
    pub read_only: bool,
    /// The category for user interfaces.
    pub category: Category,
    /// The reading of a command of PowerShell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub powershell: Option<PowerShellCommand>,
}

/// A command of PowerShell, as PowerShell resolves it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PowerShellCommand {
    /// The name as written, if it is constant.
    pub name: Option<String>,
    /// The cmdlet that the name stands for, if it is one.
    pub command: Option<String>,
    /// The parameters of the cmdlet.
    pub parameters: Vec<BoundParameter>,
}

/// A parameter with the values that are bound to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BoundParameter {
    /// The full name.
    pub name: String,
    /// The values; `None` for a value that the text does not show.
    pub values: Vec<Option<String>>,
    /// The position.
    pub span: Span,
}

/// A requirement that the runner must satisfy, or else refuse the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Requirement {
    /// Workspace, HOME and /tmp are read-only; no network, a fixed PATH, no aliases.
    ReadOnlyMount,
    /// Programs and paths resolve to those of the decision.
    TrustedPath,
}

/// The access to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Its contents or metadata are read.
    Read,
    /// Its contents or metadata are changed.
    Write,
    /// It is created.
    Create,
    /// It is removed.
    Delete,
}

/// A path that the command names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PathUse {
    /// The path, absolute and normalized if possible.
    pub path: String,
    /// The access.
    pub access: Access,
    /// An index into `commands`.
    pub command_index: usize,
}

/// A part of the text that was read as something else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Rewrite {
    /// The position.
    pub span: Span,
    /// The text that it was read as.
    pub text: String,
}

/// A program that connects to other hosts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NetworkUse {
    /// The program and its subcommand.
    pub program: String,
    /// The hosts with their ports that its words name.
    pub hosts: Vec<String>,
    /// The presets of network rules with the hosts that it usually needs. Empty if they are not known.
    pub presets: Vec<&'static str>,
    /// An index into `commands`.
    pub command_index: usize,
}

/// A warning for approvers. It never changes the verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Warning {
    /// A stable code in snake case.
    pub code: &'static str,
    /// A message for a person, one line.
    pub message: String,
    /// The position in the command.
    pub span: Option<Span>,
}

/// A file edit: a text that is one `sed -i` with a known script and known files of the workspace. The script contains no
/// command that runs a program, or that reads or writes another file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Edit {
    /// The edited files in the order of the command, 1 to 16.
    pub files: Vec<EditedFile>,
    /// The parts of the script.
    pub expressions: Vec<String>,
    /// The long names of the other options, such as `regexp-extended`.
    pub options: Vec<String>,
    /// The suffix of backups as it was written. `None` if there are no backups.
    pub suffix: Option<String>,
}

/// A file of a file edit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EditedFile {
    /// The absolute path inside the sandbox, below the workspace.
    pub path: String,
    /// The path of its backup, in the same directory. `None` if there is no backup.
    pub backup: Option<String>,
}

/// A shadow rule that would have matched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ShadowHit {
    /// The rule as it was written.
    pub rule: String,
    /// The verdict of the rule.
    #[serde(rename = "decision")]
    pub verdict: Verdict,
    /// An index into `commands`.
    pub command_index: Option<usize>,
}

/// The format of a file that a program obeys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ObeyedFormat {
    /// TOML keys, such as `build.rustc-wrapper`; `*` matches one name.
    Toml,
    /// JSON keys, with the same pattern syntax.
    Json,
    /// A repository or a git configuration file. Keys are in lower case; `*` matches any subsection.
    Git,
    /// Text anywhere in the file, after quotes and escapes are removed.
    Text,
    /// The existence of the file is sufficient.
    Present,
}

/// Files that a program obeys before it does its work, listed if only the read-only proof allows the command. If one
/// of them names a program, the proof does not hold.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Obeyed {
    /// The program that obeys the files.
    pub program: String,
    /// Absolute paths inside the sandbox; `*` matches any part of one name. Empty if the location is unknown.
    pub paths: Vec<String>,
    /// The format of the files.
    pub format: ObeyedFormat,
    /// The settings that name a program.
    pub settings: Vec<&'static str>,
}

/// A hash of the resolved rules, the tables and the version of the policy's code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PolicyVersion(pub [u8; 32]);

/// The answer to a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Decision {
    /// The verdict.
    #[serde(rename = "decision")]
    pub verdict: Verdict,
    /// The reasons, the deciding one first.
    pub reasons: Vec<Reason>,
    /// All commands that were found.
    pub commands: Vec<FoundCommand>,
    /// Whether the command is proven to change nothing.
    pub read_only: bool,
    /// Whether the command is read-only and the shell itself does not change its directory.
    pub concurrency_safe: bool,
    /// The requirements for the runner.
    pub requires: Vec<Requirement>,
    /// The category for user interfaces.
    pub category: Category,
    /// Whether success prints nothing.
    pub no_output_expected: bool,
    /// The commands that may determine a nonzero exit code of the whole, as indices into `commands`, the last one
    /// first. Empty if they are unknown.
    pub endings: Vec<usize>,
    /// The paths that are named.
    pub paths: Vec<PathUse>,
    /// The files that the command would run and that commands can write, as absolute paths: programs by path, and
    /// scripts of known interpreters.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<String>,
    /// The files on which the proof depends. Empty if something other than the proof allows the command.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub obeyed: Vec<Obeyed>,
    /// The programs that connect to other hosts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub network: Vec<NetworkUse>,
    /// The parts that were read as something else.
    pub rewrites: Vec<Rewrite>,
    /// The warnings for approvers.
    pub warnings: Vec<Warning>,
    /// Rules that would allow the same command later.
    pub suggested_rules: Vec<String>,
    /// Set if the command is a file edit.
    pub edit: Option<Edit>,
    /// Shadow rules that matched. They do not affect the verdict.
    pub shadow: Vec<ShadowHit>,
    /// Whether every part of the text was understood.
    pub parse_complete: bool,
    /// Whether the last step decided. Only then can a hook allow the command.
    #[serde(skip)]
    pub last_step: LastStep,
    /// The version of the rules and of the policy's code that decided.
    pub policy_version: PolicyVersion,
}

impl Decision {
    /// Returns the command with its rewrites applied. The decision is about this text, and this text must run.
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
