//! The types of the entries in the tables. They contain no data, and no lookups other than of a flag by its name.

use super::Takes;
use super::kinds::{BuiltinDeny, Format, Joined, Names, Runs, Scripts, Search, Target};
use crate::decision::Access;

/// The meaning of a program's operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operands {
    /// Paths that are read.
    Paths,
    /// Revisions of git, or paths.
    Pathspecs,
    /// Not paths.
    Text,
    /// A number of operands that are not paths, then paths. If one of the flags supplies the text, all are paths.
    TextThenPaths(usize, &'static [&'static str]),
    /// At most this number of paths that are read; a further operand would be written.
    AtMost(usize),
    /// No operands.
    Nothing,
    /// At most this number of operands that are not paths; a further one would make a change.
    TextAtMost(usize),
}

/// Checks that go beyond flags and operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Check {
    /// No check.
    Nothing,
    /// The text of an awk program.
    Awk,
    /// The text of a sed script.
    Sed,
    /// The text of a jq program.
    Jq,
    /// The expression of yq.
    Yq,
    /// The expression of find.
    Find,
    /// `test` and `[`.
    Test,
    /// Only operands that start with `+`.
    Date,
    /// At least one operand.
    Printf,
    /// No operand, unless one of these flags is given.
    ListingOnly(&'static [&'static str]),
    /// git config: one of the reading flags and no other operand.
    GitConfig,
    /// Names of variables that are set.
    Names,
    /// A database that must not be queried over the network.
    Getent,
    /// No operand that starts with `@`, which would name a file with further flags.
    NoResponseFile,
    /// `cd`, `pushd`: the directory is read.
    Directory,
    /// tar: it must list.
    Tar,
    /// No operand that is an address, which would be fetched.
    LocalFiles,
    Sockets,
    NoHost,
    Manual,
    Processes,
    JqByFlag,
    /// No tmux format that runs a command.
    NoFormatCommand,
    /// No operand with a `=`, which would set a value.
    NoAssignment,
}

/// A program, or a program with its subcommand, that is read-only with these options.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) name: &'static str,
    pub(crate) does: &'static str,
    pub(crate) operands: Operands,
    /// Flags of which one is required; without it the program is not read-only.
    pub(crate) needs: &'static [&'static str],
    /// Whether no flag writes or runs anything, so that unknown words are harmless.
    pub(crate) harmless: bool,
    /// Whether the program has no flags: all its words are text.
    pub(crate) words_only: bool,
    /// Whether the program prints its operands.
    pub(crate) prints_operands: bool,
    /// Whether the program is useless without a network.
    pub(crate) network: bool,
    pub(crate) joined: Joined,
    pub(crate) check: Check,
    pub(crate) options: Options,
}

/// A program that runs another program.
#[derive(Debug)]
pub(crate) struct Launcher {
    pub(crate) name: &'static str,
    pub(crate) does: &'static str,
    pub(crate) runs: Runs,
    /// The number of operands before the command.
    pub(crate) skip: usize,
    /// Whether those operands are optional.
    pub(crate) skip_is_optional: bool,
    /// Whether `NAME=value` may precede the command.
    pub(crate) assignments: bool,
    /// Whether the launcher is as harmless as its command. If so, the command is also compared with allow rules.
    pub(crate) safe: bool,
    /// Whether unlisted flags do not matter.
    pub(crate) lenient: bool,
    /// Whether the command runs on another host.
    pub(crate) elsewhere: bool,
    /// Whether it starts a shell if no command follows.
    pub(crate) shell: bool,
    /// Flags with which it starts a shell.
    pub(crate) shell_with: &'static [&'static str],
    pub(crate) options: Options,
}

impl Launcher {
    /// Reports whether an argument of the launcher names the program, so that the launcher can run any program.
    pub(crate) fn is_told(&self) -> bool {
        !matches!(self.runs, Runs::Flags | Runs::Input | Runs::GitConfig | Runs::Callback)
    }
}

/// The operands of a program that changes files.
#[derive(Debug)]
pub(crate) struct Shape {
    /// The number of leading operands that are not paths, such as a mode or an owner.
    pub(crate) skip: usize,
    /// The access to the first remaining operand, if it differs.
    pub(crate) first: Option<Access>,
    /// The access to all operands but the last; `None` if they are not paths.
    pub(crate) all: Option<Access>,
    pub(crate) last: Option<Access>,
    /// Operands of the form `NAME=path`.
    pub(crate) named: &'static [(&'static str, Access)],
}

/// A program that changes files.
#[derive(Debug)]
pub(crate) struct Writer {
    pub(crate) name: &'static str,
    pub(crate) does: &'static str,
    pub(crate) shape: Shape,
    /// Whether the mode `accept_edits` covers it.
    pub(crate) edit: bool,
    /// Flags with which the operands are only read.
    pub(crate) reads_with: &'static [&'static str],
    /// Flags of which one is needed for the program to write.
    pub(crate) only_with: &'static [&'static str],
    /// Flags with which every operand has the access of the last one.
    pub(crate) all_last_with: &'static [&'static str],
    /// The number of operands below which the last one has the access of the others.
    pub(crate) at_least: usize,
    /// Whether operands may name another host.
    pub(crate) hosts: bool,
    pub(crate) options: Options,
}

/// Options before the subcommand; refused ones are not harmless.
#[derive(Debug)]
pub(crate) struct Global {
    pub(crate) program: &'static str,
    pub(crate) options: Options,
}

/// A command to warn about.
#[derive(Debug)]
pub(crate) struct Warning {
    pub(crate) code: &'static str,
    pub(crate) message: &'static str,
    /// The program's name; a star at the end matches any suffix.
    pub(crate) program: &'static str,
    pub(crate) subcommand: &'static [&'static str],
    /// Words that must all follow the program's name.
    pub(crate) words: &'static [&'static str],
    /// Words of which one must follow.
    pub(crate) any_word: &'static [&'static str],
    /// Flags of which one must be given.
    pub(crate) flags: &'static [&'static str],
    /// The prefix of a word that counts as a flag.
    pub(crate) word_begins: &'static str,
}

/// A command that destroys a person's work if its target matches.
#[derive(Debug)]
pub(crate) struct Destroys {
    pub(crate) command: Warning,
    pub(crate) target: Target,
    /// Whether any operand makes it less destructive.
    pub(crate) whole: bool,
    /// Flags and words that make it less destructive.
    pub(crate) unless: &'static [&'static str],
    /// Words to search for, in order, in a text that is not understood.
    pub(crate) text: &'static [&'static str],
}

/// Cmdlets to warn about.
#[derive(Debug)]
pub(crate) struct CmdletWarning {
    pub(crate) code: &'static str,
    pub(crate) message: &'static str,
    pub(crate) cmdlets: &'static [&'static str],
    /// Parameters of which one must be given.
    pub(crate) parameters: &'static [&'static str],
}

/// Texts to warn about when these programs receive them.
#[derive(Debug)]
pub(crate) struct WarningText {
    pub(crate) code: &'static str,
    pub(crate) programs: &'static [&'static str],
    /// Texts in lower case, with their effects.
    pub(crate) texts: &'static [(&'static str, &'static str)],
}

/// Programs to warn about when the output of the first reaches the other.
#[derive(Debug)]
pub(crate) struct WarningPair {
    pub(crate) code: &'static str,
    pub(crate) message: &'static str,
    pub(crate) first: &'static [&'static str],
    pub(crate) then: &'static [&'static str],
}

/// A program, or a program with its subcommand, with meaningful exit codes.
#[derive(Debug)]
pub(crate) struct Exit {
    pub(crate) name: &'static str,
    /// Whether all other codes are those of the command that it runs.
    pub(crate) passes: bool,
    /// Each code with its meaning and whether it is a failure.
    pub(crate) codes: &'static [(u8, &'static str, bool)],
}

/// The arguments of an interpreter.
#[derive(Debug)]
pub(crate) struct Interpreter {
    pub(crate) name: &'static str,
    pub(crate) operands: Scripts,
    /// Words before its own arguments that are not files.
    pub(crate) subcommands: &'static [&'static str],
    /// Options that take the next word as their value.
    pub(crate) values: &'static [&'static str],
    /// Options with a script as their value.
    pub(crate) scripts: &'static [&'static str],
    /// Options with the name of a Python module as their value.
    pub(crate) modules: &'static [&'static str],
    /// Options and words after which there is no script.
    pub(crate) texts: &'static [&'static str],
    /// The options among `values` that name the directory of `defaults`.
    pub(crate) directory: &'static [&'static str],
    /// Files that it uses if no word names another.
    pub(crate) defaults: &'static [&'static str],
}

/// Files, and the settings in them that name a program.
#[derive(Debug)]
pub(crate) struct Obeys {
    pub(crate) programs: &'static [&'static str],
    /// File names that are searched for as `from` defines.
    pub(crate) files: &'static [&'static str],
    /// Paths relative to HOME.
    pub(crate) home: &'static [&'static str],
    pub(crate) from: Search,
    pub(crate) format: Format,
    pub(crate) settings: &'static [&'static str],
}

/// One flag with all its names, without dashes. A long name with one dash, among names with two,
/// keeps its dash.
#[derive(Debug)]
pub(crate) struct Flag {
    pub(crate) names: &'static [&'static str],
    pub(crate) takes: Takes,
    /// The permitted values; empty if all values are permitted.
    pub(crate) values: &'static [&'static str],
    /// The reason why the flag is refused.
    pub(crate) refused: Option<&'static str>,
}

/// The flags of a program.
#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) flags: &'static [Flag],
    /// Letters and names with their index in `flags`, sorted.
    pub(crate) short: &'static [(u8, usize)],
    pub(crate) long: &'static [(&'static str, usize)],
    /// Whether `-5` is a number, not a flag.
    pub(crate) number: bool,
    /// Whether the first operand ends the flags, as for builtins and launchers.
    pub(crate) operand_ends_flags: bool,
    /// Whether long flags have one dash.
    pub(crate) one_dash: bool,
}

impl Options {
    pub(crate) fn short(&self, letter: u8) -> Option<&'static Flag> {
        let at = self.short.binary_search_by_key(&letter, |(letter, _)| *letter).ok()?;
        self.flag(self.short.get(at)?.1)
    }

    /// Returns the long flag with this name or with this unambiguous abbreviation.
    pub(crate) fn long(&self, name: &[u8]) -> Option<&'static Flag> {
        let from = self.long.partition_point(|(known, _)| known.as_bytes() < name);
        let mut starting =
            self.long.get(from..)?.iter().take_while(|(known, _)| known.as_bytes().starts_with(name));
        let (first, index) = starting.next().filter(|_| !name.is_empty())?;
        let ambiguous = first.len() != name.len() && starting.any(|(_, other)| other != index);
        if ambiguous { None } else { self.flag(*index) }
    }

    /// Returns the flag with exactly this name.
    pub(crate) fn exact(&self, name: &[u8]) -> Option<&'static Flag> {
        match name {
            [letter] => self.short(*letter),
            _ => {
                let at = self.long.binary_search_by(|(known, _)| known.as_bytes().cmp(name)).ok()?;
                self.flag(self.long.get(at)?.1)
            }
        }
    }

    fn flag(&self, index: usize) -> Option<&'static Flag> {
        self.flags.get(index)
    }
}

/// Commands, or writes, that a built-in deny rule for PowerShell denies.
#[derive(Debug)]
pub(crate) struct Denied {
    pub(crate) rule: BuiltinDeny,
    pub(crate) message: &'static str,
    /// Parameters of which one must be given.
    pub(crate) parameters: &'static [&'static str],
    /// Patterns of which one must match a word.
    pub(crate) values: &'static [&'static str],
    /// Arguments that are harmless if there is no other one.
    pub(crate) alone: &'static [&'static str],
    /// Whether only the deletion of what cannot be recovered is denied.
    pub(crate) lost: bool,
    /// Patterns of paths that no command may change.
    pub(crate) writes: &'static [&'static str],
}

/// A program that connects to other hosts.
#[derive(Debug)]
pub(crate) struct Network {
    pub(crate) name: &'static str,
    pub(crate) does: &'static str,
    /// Presets of network rules with the hosts that it usually needs.
    pub(crate) presets: &'static [&'static str],
    pub(crate) names: Names,
    /// The port of a host without one.
    pub(crate) port: u16,
    pub(crate) host_flags: &'static [&'static str],
    pub(crate) port_flags: &'static [&'static str],
    /// Other flags that take the next word.
    pub(crate) values: &'static [&'static str],
    /// Flags and subcommands with which it does not connect.
    pub(crate) except: &'static [&'static str],
    /// Flags of which one is needed for it to connect.
    pub(crate) only_with: &'static [&'static str],
    /// Whether it connects only if its words name a host.
    pub(crate) needs_host: bool,
    /// Whether it connects only if something is missing on this host.
    pub(crate) when_missing: bool,
    /// Whether it uses no proxy.
    pub(crate) direct: bool,
}
