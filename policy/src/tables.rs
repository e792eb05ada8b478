//! What is known of programs: data to review, one file for each group, every entry
//! with its reason. The engine that reads it is in `readonly` and `launch`.

pub(crate) mod files;
pub(crate) mod git;
pub(crate) mod launchers;
pub(crate) mod names;
pub(crate) mod system;
pub(crate) mod text;
pub(crate) mod tools;
pub(crate) mod writers;

use std::collections::HashMap;
use std::sync::LazyLock;

/// What the operands of a program are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operands {
    /// Paths that are read.
    Paths,
    /// Not paths.
    Text,
    /// So many that are not paths, unless the flag gives them; then paths.
    TextThenPaths(usize, &'static str),
    /// At most so many, all paths that are read; the next would be written.
    AtMost(usize),
    /// None.
    Nothing,
    /// At most so many, not paths; the next would change something.
    TextAtMost(usize),
}

/// What may stand in one word with a short flag. Programs that do not use getopt read
/// the rest of such a word in ways of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Glued {
    /// Other flags, or the value: as getopt does.
    Anything,
    /// Other flags, or a value that is a number.
    Numbers,
    /// A value that is a number, and nothing else.
    NumbersOnly,
}

/// Checks that flags and operands alone do not make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Check {
    /// None.
    Nothing,
    /// The awk program's text.
    Awk,
    /// The sed script's text.
    Sed,
    /// The jq program's text.
    Jq,
    /// yq's expression.
    Yq,
    /// find's expression.
    Find,
    /// `test` and `[`.
    Test,
    /// Operands beginning with `+` only.
    Date,
    /// At least one operand.
    SomeOperand,
    /// No operand unless a listing flag is given.
    ListingOnly(&'static str),
    /// git config: one of the reading flags, or nothing else.
    GitConfig,
    /// Names of variables that are set.
    Names,
    /// A database that must not be asked over the network.
    Getent,
    /// No operand that begins with `@`: it would name a file with more flags.
    NoResponseFile,
    /// `cd`, `pushd`: the directory is read.
    Directory,
}

/// A program, or a program with its subcommand, that is read-only with these options.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Program {
    pub(crate) name: &'static str,
    pub(crate) short: &'static str,
    pub(crate) long: &'static str,
    pub(crate) refused: &'static [(&'static str, &'static str)],
    pub(crate) operands: Operands,
    /// Whether no flag at all writes or runs, so that unknown words do no harm.
    pub(crate) harmless: bool,
    pub(crate) digits: bool,
    pub(crate) glued: Glued,
    /// Whether its first operand ends its options, as for builtins.
    pub(crate) stops: bool,
    pub(crate) check: Check,
    pub(crate) reason: &'static str,
}

impl Program {
    pub(crate) const fn new(
        name: &'static str,
        short: &'static str,
        long: &'static str,
        operands: Operands,
        reason: &'static str,
    ) -> Self {
        Self {
            name,
            short,
            long,
            refused: &[],
            operands,
            harmless: false,
            digits: false,
            glued: Glued::Anything,
            stops: false,
            check: Check::Nothing,
            reason,
        }
    }

    /// No flag of it writes or runs anything.
    pub(crate) const fn harmless(mut self) -> Self {
        self.harmless = true;
        self
    }

    /// The first operand ends the options.
    pub(crate) const fn stops(mut self) -> Self {
        self.stops = true;
        self
    }

    /// `-5` is a number, not a flag.
    pub(crate) const fn digits(mut self) -> Self {
        self.digits = true;
        self
    }

    pub(crate) const fn glued(mut self, glued: Glued) -> Self {
        self.glued = glued;
        self
    }

    pub(crate) const fn refuse(mut self, refused: &'static [(&'static str, &'static str)]) -> Self {
        self.refused = refused;
        self
    }

    pub(crate) const fn check(mut self, check: Check) -> Self {
        self.check = check;
        self
    }
}

static PROGRAMS: LazyLock<HashMap<&'static str, &'static Program>> = LazyLock::new(|| {
    let groups = [files::PROGRAMS, text::PROGRAMS, git::PROGRAMS, system::PROGRAMS, tools::PROGRAMS];
    let all = groups.into_iter().flatten();
    all.map(|program| (program.name, program)).collect()
});

/// The entry of that name, such as `ls` or `git log`.
pub(crate) fn program(name: &str) -> Option<&'static Program> {
    PROGRAMS.get(name).copied()
}
