//! The values that entries of the data can have. Shared with `build/`, which reads the data. It
//! contains no data.

use serde::Deserialize;

/// The value of a flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Takes {
    Nothing,
    Value,
    /// An optional value in the same word.
    Optional,
    /// The next two words.
    Pair,
    /// A path that is read.
    Read,
    /// A path that is written.
    Write,
    /// Text for a shell.
    ShellText,
    /// `NAME=text for a shell`, if the name is one that runs its text.
    NamedText,
    /// Text that is split into words, which precede the operands.
    SplitText,
    /// A command that consists of this word and all words after it.
    Command,
}

/// The text that may follow a short flag in the same word. Programs without getopt read it in their
/// own ways.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Joined {
    /// Further flags, or the value, as with getopt.
    #[default]
    Anything,
    /// Further flags, or a value that is a number.
    Numbers,
    /// Only a value that is a number.
    NumbersOnly,
}

/// The position of a launched command. Independently of this, flags may run text, too.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Runs {
    /// The operands, after those of the launcher itself.
    #[default]
    Operands,
    /// The words after `--`, or without it the operands.
    BehindDashes,
    /// A single operand is text for a shell; several are a command.
    TextOrOperands,
    /// The operands joined with spaces are text for a shell.
    JoinedText,
    /// Each operand is text for a shell.
    EachText,
    /// The first operand is text for the shell.
    FirstText,
    /// A shell: the first operand is text with `-c`, otherwise a script.
    ShellText,
    /// A user's shell: text only with `-c`.
    LoginShell,
    /// Standard input.
    Input,
    /// Only the values of its flags.
    Flags,
    /// An unknown position among its words.
    Somewhere,
    /// PowerShell: text with `-Command`, on standard input, or in a script.
    Powershell,
    /// The operands, with more from standard input.
    Xargs,
    /// Text into which more words are inserted.
    Parallel,
    /// The words after `-exec` and similar primaries.
    Find,
    /// The value of `-C` is text for the shell; the value of `-W` is expanded.
    Callback,
    /// A setting with a value that git runs.
    GitConfig,
    /// The commands in an awk program.
    Awk,
    /// The commands in a sed script.
    Sed,
    /// The commands of an editor.
    Editor,
}

/// The operands of an interpreter that are files to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Scripts {
    None,
    First,
    All,
}

/// The directories in which a file that a program obeys is searched for.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Search {
    /// The directory in which the program runs.
    #[default]
    Here,
    /// That directory and each of its parents.
    Upward,
}

/// The format of the settings in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Format {
    Toml,
    Json,
    /// A repository, or a git configuration file.
    Git,
    /// Anywhere in the text, without quotes and escapes.
    Text,
    /// The existence of the file is sufficient.
    Present,
}

/// The target that makes a command destroy a person's work.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Target {
    /// Any target.
    #[default]
    Anything,
    /// The workspace, HOME, a directory above them, a repository's own directory, or everything in
    /// one of these.
    Work,
    /// Like `Work`; without an operand, the directory in which the command runs.
    Here,
    /// The command runs at the workspace's root.
    Root,
    /// The command runs anywhere in the workspace.
    Repository,
}

/// The words of a program that name the hosts that it connects to.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Names {
    /// No operand.
    #[default]
    Nothing,
    /// Every operand is a URL, or a host with an optional path.
    Urls,
    /// An operand is a URL, or `host:path`. Other operands are paths, names or references.
    Remotes,
    /// The first operand is a host or a URL.
    First,
    /// Every operand is a host.
    All,
    /// The first operand is a host, the second one a port.
    HostAndPort,
}

/// A built-in deny rule for PowerShell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum BuiltinDeny {
    /// Code from another host is run.
    DownloadAndExecute,
    /// The workspace, a repository, or something outside is deleted.
    IrreversibleDestruction,
    /// Code is made to run later, or at a start.
    Persistence,
    /// Code runs with more rights.
    Elevation,
}

/// The effect of a cmdlet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CmdletEffect {
    /// It only reads, computes or prints. Script blocks in its arguments are commands of their own.
    Reads,
    /// It changes something, but runs nothing that its words do not show.
    Changes,
    /// It may run text or code that its words do not show, or change what a name means.
    Runs,
}

/// The number of values that a parameter takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ParameterKind {
    Value,
    Switch,
    /// It takes all remaining arguments.
    Rest,
}

/// The meaning of a parameter's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ParameterRole {
    /// Text, a number, or an object.
    Plain,
    /// A path that is read.
    Read,
    /// A path that is written.
    Write,
    /// A path that is created, or a directory in which something is created.
    Create,
    /// A path that is deleted.
    Delete,
    /// The name of a variable that is set.
    Variable,
    /// A script block that runs. A block that the text does not show may run anything.
    Block,
    /// The name of a type that is created.
    Type,
}

/// The type of a positional parameter, as far as it selects the parameter for an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ValueType {
    Any,
    Block,
    Double,
    Int,
    Other,
    String,
    Table,
}
