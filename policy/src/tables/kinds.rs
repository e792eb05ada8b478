//! What entries of the data may say: shared with `build/`, which reads them. It holds no data.

use serde::Deserialize;

/// What a flag takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Takes {
    Nothing,
    Value,
    /// A value in the same word, or none.
    Optional,
    /// The next two words.
    Pair,
    /// A path that is read.
    Read,
    /// A path that is written.
    Write,
    /// Text for a shell.
    ShellText,
    /// `NAME=text for a shell`, where the name is one that runs.
    NamedText,
    /// Text that is split into words, which stand before the operands.
    SplitText,
    /// This and all words behind it are a command.
    Command,
}

/// What may stand in one word with a short flag. Programs that do not use getopt read
/// the rest of such a word in ways of their own.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Joined {
    /// Other flags, or the value: as getopt does.
    #[default]
    Anything,
    /// Other flags, or a value that is a number.
    Numbers,
    /// A value that is a number, and nothing else.
    NumbersOnly,
}

/// Where a launched command is. Whatever this says, flags may run text too.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Runs {
    /// The operands, after those that the launcher keeps.
    #[default]
    Operands,
    /// The words behind `--`; without it the operands.
    BehindDashes,
    /// One operand is text for a shell, several are a command.
    TextOrOperands,
    /// The operands joined with blanks are text for a shell.
    JoinedText,
    /// Each operand is text for a shell.
    EachText,
    /// The first operand is text for the shell.
    FirstText,
    /// A shell: the first operand is text with `-c`, and a script without.
    ShellText,
    /// A user's shell: text by `-c` only.
    LoginShell,
    /// What it reads from standard input.
    Input,
    /// Only what its flags run.
    Flags,
    /// Somewhere among its words.
    Somewhere,
    /// PowerShell: text by `-Command`, by standard input, or in a script.
    Powershell,
    /// The operands, and more that come from standard input.
    Xargs,
    /// Text with more words put in.
    Parallel,
    /// The words behind `-exec` and its like.
    Find,
    /// The value of `-C` is text for the shell, the value of `-W` is expanded.
    Callback,
    /// A setting whose value git runs.
    GitConfig,
    /// What an awk program runs.
    Awk,
    /// What a sed script runs.
    Sed,
    /// What an editor's commands run.
    Editor,
}

/// Which operands of an interpreter are files that it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Scripts {
    None,
    First,
    All,
}

/// Where a file that a program obeys is looked for.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Search {
    /// In the directory where the program runs.
    #[default]
    Here,
    /// There, and in each directory above it.
    Upward,
}

/// How settings stand in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Format {
    Toml,
    Json,
    /// A repository, or a file of git's configuration.
    Git,
    /// Anywhere in the text, quotes and escapes removed.
    Text,
    /// That the file is there is enough.
    Present,
}

/// What a command must be aimed at to destroy a person's work.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Target {
    /// Whatever it is aimed at.
    #[default]
    Anything,
    /// The workspace, HOME, what is above them, a repository's own directory, or all that is in one.
    Work,
    /// The same, or without an operand the directory it runs in.
    Here,
    /// It runs at the workspace's root.
    Root,
    /// It runs anywhere in the workspace.
    Repository,
}
