//! Writes the static tables as Rust. Every list is sorted, for binary search.

mod advice;
mod cmdlets;
mod connections;
mod denied;
mod interpreters;
mod text;

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::data::{Access, Launcher, OperandKind, Operands, Program, Shape, Tables, Writer};
use crate::options::Options;
use text::{Result, list, put, reasoned};

/// Checks that a program's entry may name.
const CHECKS: &[(&str, &str)] = &[
    ("awk", "Check::Awk"),
    ("sed", "Check::Sed"),
    ("jq", "Check::Jq"),
    ("yq", "Check::Yq"),
    ("find", "Check::Find"),
    ("test", "Check::Test"),
    ("date", "Check::Date"),
    ("printf", "Check::Printf"),
    ("git config", "Check::GitConfig"),
    ("names", "Check::Names"),
    ("getent", "Check::Getent"),
    ("no response file", "Check::NoResponseFile"),
    ("directory", "Check::Directory"),
    ("tar", "Check::Tar"),
    ("local files", "Check::LocalFiles"),
    ("sockets", "Check::Sockets"),
    ("no host", "Check::NoHost"),
    ("manual", "Check::Manual"),
    ("processes", "Check::Processes"),
    ("jq by flag", "Check::JqByFlag"),
    ("no assignment", "Check::NoAssignment"),
    ("no format command", "Check::NoFormatCommand"),
];

pub(crate) fn tables(tables: &Tables, digest: &[u8]) -> Result<String> {
    let mut out = format!("pub(crate) static DIGEST: &[u8] = &{digest:?};\n");
    write_tables(&mut out, tables)?;
    Ok(out)
}

fn write_tables(out: &mut String, tables: &Tables) -> Result {
    list(out, "PROGRAMS", "Program", programs(tables)?.into_iter(), |out, (name, entry)| {
        let options = Options::of(name, &tables.set, &entry.uses, &entry.flags, &entry.refused)?;
        program(out, name, entry, &options)
    })?;
    list(out, "LAUNCHERS", "Launcher", tables.launcher.iter(), |out, (name, entry)| {
        let options = Options::of(name, &tables.set, &entry.uses, &entry.flags, &Default::default())?;
        launcher(out, name, entry, &options)
    })?;
    list(out, "WRITERS", "Writer", tables.writer.iter(), |out, (name, entry)| {
        let options = Options::of(name, &tables.set, &entry.uses, &entry.flags, &Default::default())?;
        writer(out, name, entry, &options)
    })?;
    list(out, "GLOBALS", "Global", tables.global.iter(), |out, (name, entry)| {
        let given = Options::of(name, &tables.set, &entry.uses, &entry.flags, &entry.refused)?;
        put(write!(out, "Global {{ program: {name:?}, options: "))?;
        options(out, &given, true, true)?;
        put(write!(out, " }}"))
    })?;
    list(out, "SPELLINGS", "(&str, Options)", tables.spelling.iter(), |out, (name, entry)| {
        let given = Options::of(name, &tables.set, &entry.uses, &entry.flags, &entry.refused)?;
        put(write!(out, "({name:?}, "))?;
        options(out, &given, false, false)?;
        put(write!(out, ")"))
    })?;
    list(out, "VERSIONS", "(&str, &[&str])", tables.version.iter(), |out, (name, flags)| {
        put(write!(out, "({name:?}, &{flags:?})"))
    })?;
    for (name, names) in &tables.names {
        list(out, &name.to_uppercase(), "(&str, &str)", names.iter(), |out, (name, reason)| {
            reasoned(name, reason)?;
            put(write!(out, "({name:?}, {reason:?})"))
        })?;
    }
    advice::write_exits(out, &tables.exit)?;
    interpreters::write_interpreters(out, &tables.interpreter)?;
    interpreters::write_obeys(out, tables)?;
    connections::write(out, tables)?;
    cmdlets::write(out, tables)?;
    denied::write(out, &tables.denied)?;
    advice::write(out, tables)
}

/// Returns the programs by all their names.
fn programs(tables: &Tables) -> Result<BTreeMap<&str, &Program>> {
    let mut programs: BTreeMap<&str, &Program> =
        tables.program.iter().map(|(name, entry)| (name.as_str(), entry)).collect();
    for (entry, other) in tables.program.values().flat_map(|entry| entry.also.iter().map(move |o| (entry, o)))
    {
        if programs.insert(other, entry).is_some() {
            return Err(format!("the program `{other}` is listed twice"));
        }
    }
    Ok(programs)
}

fn options(out: &mut String, given: &Options, operand_ends_flags: bool, one_dash: bool) -> Result {
    let mut short = Vec::new();
    let mut long = Vec::new();
    out.push_str("Options { flags: &[");
    for (index, flag) in given.flags.iter().enumerate() {
        let mut names: Vec<&str> = flag.names.iter().map(String::as_str).collect();
        if one_dash {
            names.iter_mut().for_each(|name| *name = name.trim_start_matches('-'));
            names.dedup();
        }
        put(write!(
            out,
            "Flag {{ names: &{names:?}, takes: Takes::{:?}, values: &{:?}, refused: {:?} }}, ",
            flag.takes, flag.values, flag.refused
        ))?;
        for name in names {
            match name.as_bytes() {
                [letter] => short.push((*letter, index)),
                _ => long.push((name, index)),
            }
        }
    }
    short.sort_unstable();
    long.sort_unstable();
    put(write!(
        out,
        "], short: &{short:?}, long: &{long:?}, number: {}, operand_ends_flags: {operand_ends_flags}, one_dash: {one_dash} }}",
        given.number
    ))
}

fn program(out: &mut String, name: &str, entry: &Program, given: &Options) -> Result {
    reasoned(name, &entry.does)?;
    let check = check(name, entry)?;
    put(write!(
        out,
        "Program {{ name: {name:?}, does: {:?}, operands: {}, needs: &{:?}, harmless: {}, words_only: {}, prints_operands: {}, network: {}, joined: Joined::{:?}, check: {check}, options: ",
        entry.does,
        operands(entry),
        bare(&entry.needs),
        entry.harmless,
        entry.words_only,
        entry.prints_operands,
        entry.network,
        entry.joined
    ))?;
    options(out, given, entry.operand_ends_flags, entry.one_dash)?;
    put(write!(out, " }}"))
}

fn check(name: &str, entry: &Program) -> Result<String> {
    match &entry.check {
        _ if !entry.lists_with.is_empty() => {
            Ok(format!("Check::ListingOnly(&{:?})", bare(&entry.lists_with)))
        }
        None => Ok("Check::Nothing".to_owned()),
        Some(wanted) => CHECKS
            .iter()
            .find(|(known, _)| known == wanted)
            .map(|(_, rust)| (*rust).to_owned())
            .ok_or_else(|| format!("`{name}` has the unknown check `{wanted}`")),
    }
}

/// Returns the flags without their dashes.
fn bare(flags: &[String]) -> Vec<&str> {
    flags.iter().map(|flag| flag.trim_start_matches('-')).collect()
}

fn operands(entry: &Program) -> String {
    let kind = |kind: OperandKind| match kind {
        OperandKind::Paths => "Paths",
        OperandKind::Pathspecs => "Pathspecs",
        OperandKind::Text => "Text",
        OperandKind::Nothing => "Nothing",
    };
    match &entry.operands {
        Operands::Kind(of) => format!("Operands::{}", kind(*of)),
        Operands::AtMost { at_most, are: OperandKind::Paths } => format!("Operands::AtMost({at_most})"),
        Operands::AtMost { at_most, .. } => format!("Operands::TextAtMost({at_most})"),
        Operands::TextFirst { text, unless } => {
            format!("Operands::TextThenPaths({text}, &{:?})", bare(unless))
        }
    }
}

fn launcher(out: &mut String, name: &str, entry: &Launcher, given: &Options) -> Result {
    reasoned(name, &entry.does)?;
    put(write!(
        out,
        "Launcher {{ name: {name:?}, does: {:?}, runs: Runs::{:?}, skip: {}, skip_is_optional: {}, assignments: {}, safe: {}, lenient: {}, elsewhere: {}, shell: {}, shell_with: &{:?}, options: ",
        entry.does,
        entry.runs,
        entry.skip,
        entry.skip_is_optional,
        entry.assignments,
        entry.safe,
        entry.lenient,
        entry.elsewhere,
        entry.shell,
        bare(&entry.shell_with)
    ))?;
    options(out, given, !entry.permutes, false)?;
    put(write!(out, " }}"))
}

fn writer(out: &mut String, name: &str, entry: &Writer, given: &Options) -> Result {
    reasoned(name, &entry.does)?;
    put(write!(
        out,
        "Writer {{ name: {name:?}, does: {:?}, shape: {}, edit: {}, reads_with: &{:?}, only_with: &{:?}, all_last_with: &{:?}, at_least: {}, hosts: {}, options: ",
        entry.does,
        shape(&entry.operands),
        entry.edit,
        bare(&entry.reads_with),
        bare(&entry.only_with),
        bare(&entry.all_last_with),
        entry.at_least,
        entry.hosts
    ))?;
    options(out, given, false, false)?;
    put(write!(out, " }}"))
}

fn shape(shape: &Shape) -> String {
    let access = |access: Option<Access>| match access {
        Some(access) => format!("Some(Access::{access:?})"),
        None => "None".to_owned(),
    };
    let named: Vec<String> =
        shape.named.iter().map(|(name, access)| format!("({name:?}, Access::{access:?})")).collect();
    format!(
        "Shape {{ skip: {}, first: {}, all: {}, last: {}, named: &[{}] }}",
        shape.skip,
        access(shape.first),
        access(shape.all),
        access(shape.last.or(shape.all)),
        named.join(", ")
    )
}
