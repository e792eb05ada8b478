//! The schema of a table file. Unknown keys are errors.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::kinds::{
    BuiltinDeny, CmdletEffect, Format, Joined, Names as HostNames, Runs, Scripts, Search, Target,
};

/// Flags as their program's help text writes them, each with its description.
pub(crate) type FlagList = BTreeMap<String, String>;

/// Names, each with its reason.
pub(crate) type Names = BTreeMap<String, String>;

/// The contents of one file, or of all files joined.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Tables {
    pub(crate) set: BTreeMap<String, Set>,
    pub(crate) program: BTreeMap<String, Program>,
    pub(crate) launcher: BTreeMap<String, Launcher>,
    pub(crate) writer: BTreeMap<String, Writer>,
    pub(crate) global: BTreeMap<String, Set>,
    /// Flags that only rules compare.
    pub(crate) spelling: BTreeMap<String, Set>,
    /// Programs that only print their version when these are their only arguments.
    pub(crate) version: BTreeMap<String, Vec<String>>,
    pub(crate) names: BTreeMap<String, Names>,
    pub(crate) category: BTreeMap<String, Category>,
    pub(crate) exit: BTreeMap<String, Exit>,
    pub(crate) interpreter: BTreeMap<String, Interpreter>,
    pub(crate) warning: BTreeMap<String, Warning>,
    pub(crate) warning_text: BTreeMap<String, WarningText>,
    pub(crate) warning_pair: BTreeMap<String, WarningPair>,
    pub(crate) obeys: BTreeMap<String, Obeys>,
    /// Programs that no file can make run another program, grouped by the reason.
    pub(crate) obeys_nothing: BTreeMap<String, Vec<String>>,
    pub(crate) destroys: BTreeMap<String, Destroys>,
    pub(crate) network: BTreeMap<String, Network>,
    pub(crate) cmdlet: BTreeMap<String, Cmdlet>,
    pub(crate) cmdlet_alias: BTreeMap<String, String>,
    /// Names of programs that are aliases on Windows.
    pub(crate) windows_alias: BTreeMap<String, String>,
    pub(crate) cmdlet_common: CommonParameters,
    pub(crate) denied: BTreeMap<String, Denied>,
    pub(crate) cmdlet_warning: BTreeMap<String, CmdletWarning>,
}

/// Commands, or writes, that a built-in deny rule for PowerShell denies.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Denied {
    pub(crate) rule: BuiltinDeny,
    pub(crate) message: String,
    /// Cmdlets, programs and static methods.
    #[serde(default)]
    pub(crate) commands: Vec<String>,
    /// Parameters of which one must be given.
    #[serde(default)]
    pub(crate) parameters: Vec<String>,
    /// Patterns of which one must match a word.
    #[serde(default)]
    pub(crate) values: Vec<String>,
    /// Arguments that are harmless if there is no other one.
    #[serde(default)]
    pub(crate) alone: Vec<String>,
    /// Whether only the deletion of what cannot be recovered is denied.
    #[serde(default)]
    pub(crate) lost: bool,
    /// Patterns of paths that no command may change.
    #[serde(default)]
    pub(crate) writes: Vec<String>,
}

/// A cmdlet or function of PowerShell.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Cmdlet {
    pub(crate) does: String,
    pub(crate) effect: CmdletEffect,
    /// The set of parameters that applies if the given ones fit several.
    pub(crate) set: Option<String>,
    /// Whether it has the parameters of cmdlets that change something.
    #[serde(default)]
    pub(crate) changes: bool,
    /// Whether it is a function without the parameters of all cmdlets, which ignores further arguments.
    #[serde(default)]
    pub(crate) simple: bool,
    /// The parameters with which it is read-only although it otherwise is not. The first must be given.
    #[serde(default)]
    pub(crate) reads_with: Vec<String>,
    #[serde(default)]
    pub(crate) parameters: Vec<String>,
}

/// The parameters of every cmdlet.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct CommonParameters {
    pub(crate) parameters: Vec<String>,
}

/// A program that connects to other hosts.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Network {
    pub(crate) does: String,
    #[serde(default)]
    pub(crate) also: Vec<String>,
    /// Presets of network rules with the hosts that it usually needs.
    #[serde(default)]
    pub(crate) presets: Vec<String>,
    #[serde(default)]
    pub(crate) names: HostNames,
    /// The port of a host without one.
    #[serde(default)]
    pub(crate) port: u16,
    /// Flags with a host as the value.
    #[serde(default)]
    pub(crate) host_flags: Vec<String>,
    /// Flags with a port as the value.
    #[serde(default)]
    pub(crate) port_flags: Vec<String>,
    /// Other flags that take the next word.
    #[serde(default)]
    pub(crate) values: Vec<String>,
    /// Flags and subcommands with which it does not connect.
    #[serde(default)]
    pub(crate) except: Vec<String>,
    /// Flags of which one is needed for it to connect.
    #[serde(default)]
    pub(crate) only_with: Vec<String>,
    /// Whether it connects only if its words name a host.
    #[serde(default)]
    pub(crate) needs_host: bool,
    /// Whether it connects only if something is missing on this host.
    #[serde(default)]
    pub(crate) when_missing: bool,
    /// Whether it uses no proxy.
    #[serde(default)]
    pub(crate) direct: bool,
}

/// Files that programs obey before they do their work.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Obeys {
    pub(crate) programs: Vec<String>,
    /// Names of files that are searched for as `from` defines.
    #[serde(default)]
    pub(crate) files: Vec<String>,
    /// Paths relative to HOME.
    #[serde(default)]
    pub(crate) home: Vec<String>,
    #[serde(default)]
    pub(crate) from: Search,
    pub(crate) format: Format,
    /// Settings that name a program.
    pub(crate) settings: Names,
    /// Settings that a flag or a variable of every read-only run overrides.
    #[serde(default)]
    pub(crate) switched_off: Names,
}

/// A command that destroys a person's work.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Destroys {
    pub(crate) message: String,
    pub(crate) command: String,
    #[serde(default)]
    pub(crate) words: Vec<String>,
    #[serde(default)]
    pub(crate) flags: Vec<String>,
    #[serde(default)]
    pub(crate) word_begins: String,
    #[serde(default)]
    pub(crate) target: Target,
    #[serde(default)]
    pub(crate) whole: bool,
    #[serde(default)]
    pub(crate) unless: Vec<String>,
    #[serde(default)]
    pub(crate) text: Vec<String>,
}

/// The meaning of a program's exit codes, by code.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Exit {
    /// The source of this knowledge.
    pub(crate) does: String,
    #[serde(default)]
    pub(crate) also: Vec<String>,
    #[serde(default)]
    pub(crate) passes: bool,
    /// Codes that answer a question.
    #[serde(default)]
    pub(crate) answer: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) failure: BTreeMap<String, String>,
}

/// A program that runs the contents of files.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Interpreter {
    /// The source of this knowledge.
    pub(crate) does: String,
    #[serde(default)]
    pub(crate) also: Vec<String>,
    pub(crate) operands: Scripts,
    #[serde(default)]
    pub(crate) subcommands: Vec<String>,
    #[serde(default)]
    pub(crate) values: Vec<String>,
    #[serde(default)]
    pub(crate) scripts: Vec<String>,
    #[serde(default)]
    pub(crate) modules: Vec<String>,
    #[serde(default)]
    pub(crate) texts: Vec<String>,
    #[serde(default)]
    pub(crate) directory: Vec<String>,
    #[serde(default)]
    pub(crate) defaults: Vec<String>,
}

/// Programs that a user interface folds in the same way.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Category {
    pub(crate) does: String,
    pub(crate) programs: Vec<String>,
    /// Cmdlets, each with a parameter if it must be given.
    #[serde(default)]
    pub(crate) cmdlets: Vec<String>,
}

/// Cmdlets to warn about.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CmdletWarning {
    pub(crate) message: String,
    pub(crate) cmdlets: Vec<String>,
    /// Parameters of which one must be given.
    #[serde(default)]
    pub(crate) parameters: Vec<String>,
}

/// A command to warn about.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Warning {
    pub(crate) message: String,
    pub(crate) command: String,
    #[serde(default)]
    pub(crate) words: Vec<String>,
    #[serde(default)]
    pub(crate) any_word: Vec<String>,
    #[serde(default)]
    pub(crate) flags: Vec<String>,
    /// Matches a word with this prefix instead of a flag.
    #[serde(default)]
    pub(crate) word_begins: String,
}

/// Texts to warn about when these programs receive them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WarningText {
    pub(crate) programs: Vec<String>,
    pub(crate) texts: Names,
}

/// Programs to warn about when the output of one reaches another.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WarningPair {
    pub(crate) message: String,
    pub(crate) first: Vec<String>,
    pub(crate) then: Vec<String>,
}

/// Flags that several programs share.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Set {
    #[serde(rename = "use")]
    pub(crate) uses: Vec<String>,
    pub(crate) flags: FlagList,
    pub(crate) refused: FlagList,
}

/// A program, or a program with its subcommand, that only reads with these flags.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Program {
    pub(crate) does: String,
    pub(crate) operands: Operands,
    /// Other names of the same program.
    #[serde(default)]
    pub(crate) also: Vec<String>,
    /// Flags of which at least one must be given.
    #[serde(default)]
    pub(crate) needs: Vec<String>,
    #[serde(default)]
    pub(crate) harmless: bool,
    #[serde(default)]
    pub(crate) words_only: bool,
    #[serde(default)]
    pub(crate) prints_operands: bool,
    /// Whether it is useless without a network.
    #[serde(default)]
    pub(crate) network: bool,
    #[serde(default)]
    pub(crate) operand_ends_flags: bool,
    #[serde(default)]
    pub(crate) one_dash: bool,
    #[serde(default)]
    pub(crate) joined: Joined,
    pub(crate) check: Option<String>,
    #[serde(default)]
    pub(crate) lists_with: Vec<String>,
    #[serde(default, rename = "use")]
    pub(crate) uses: Vec<String>,
    #[serde(default)]
    pub(crate) flags: FlagList,
    #[serde(default)]
    pub(crate) refused: FlagList,
}

#[derive(Deserialize)]
#[serde(untagged)]
pub(crate) enum Operands {
    Kind(OperandKind),
    AtMost {
        at_most: usize,
        are: OperandKind,
    },
    TextFirst {
        text: usize,
        #[serde(default)]
        unless: Vec<String>,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OperandKind {
    Paths,
    Pathspecs,
    Text,
    Nothing,
}

/// A program that runs another program.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Launcher {
    pub(crate) does: String,
    #[serde(default)]
    pub(crate) runs: Runs,
    #[serde(default)]
    pub(crate) skip: usize,
    #[serde(default)]
    pub(crate) assignments: bool,
    #[serde(default)]
    pub(crate) safe: bool,
    #[serde(default)]
    pub(crate) skip_is_optional: bool,
    #[serde(default)]
    pub(crate) permutes: bool,
    #[serde(default)]
    pub(crate) lenient: bool,
    #[serde(default)]
    pub(crate) elsewhere: bool,
    /// Whether it starts a shell, or reads commands itself, if no command follows.
    #[serde(default)]
    pub(crate) shell: bool,
    /// Like `shell`, but only with one of these flags.
    #[serde(default)]
    pub(crate) shell_with: Vec<String>,
    #[serde(default, rename = "use")]
    pub(crate) uses: Vec<String>,
    #[serde(default)]
    pub(crate) flags: FlagList,
}

/// A program that changes files.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Writer {
    pub(crate) does: String,
    pub(crate) operands: Shape,
    /// Flags with which the operands are only read.
    #[serde(default)]
    pub(crate) reads_with: Vec<String>,
    /// Flags of which one is needed for the program to write.
    #[serde(default)]
    pub(crate) only_with: Vec<String>,
    /// Flags with which every operand has the access of the last one.
    #[serde(default)]
    pub(crate) all_last_with: Vec<String>,
    /// The number of operands below which the last one has the access of the others.
    #[serde(default)]
    pub(crate) at_least: usize,
    /// Whether operands may name another host.
    #[serde(default)]
    pub(crate) hosts: bool,
    #[serde(default)]
    pub(crate) edit: bool,
    #[serde(default, rename = "use")]
    pub(crate) uses: Vec<String>,
    #[serde(default)]
    pub(crate) flags: FlagList,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Shape {
    #[serde(default)]
    pub(crate) skip: usize,
    pub(crate) first: Option<Access>,
    pub(crate) all: Option<Access>,
    pub(crate) last: Option<Access>,
    /// Operands of the form `NAME=path`.
    #[serde(default)]
    pub(crate) named: BTreeMap<String, Access>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Access {
    Read,
    Write,
    Create,
    Delete,
}
