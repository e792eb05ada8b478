//! Names of commands, as PowerShell 7 resolves them on Linux.

use crate::tables::cmdlets::{self, Cmdlet};
use crate::tables::{CmdletEffect, names};

/// Verbs with which a command that is not in the tables may run something that its words do not show.
const RUNNING_VERBS: &[&str] = &[
    "add", "debug", "enter", "import", "install", "invoke", "new", "receive", "register", "set", "start",
    "trace", "update", "use",
];

/// The command that a name stands for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Resolved {
    /// A cmdlet or function of the tables.
    Cmdlet(&'static Cmdlet),
    /// A command of PowerShell that is not in the tables and may run anything.
    UnknownCmdlet,
    /// A script of PowerShell, or a name that is completed to a path.
    Script,
    /// A program with this name.
    Program,
}

/// Returns the command that a name stands for.
pub(crate) fn resolve(name: &str) -> Resolved {
    let own = unqualified(name);
    let target = own.and_then(cmdlets::alias).or(own);
    if let Some(cmdlet) = target.and_then(cmdlets::cmdlet) {
        return Resolved::Cmdlet(cmdlet);
    }
    let lower = name.to_ascii_lowercase();
    let has_script_name = [".ps1", ".psm1", ".psd1"].iter().any(|ending| lower.ends_with(ending));
    if has_script_name || name.contains(['*', '?', '[', '~']) {
        return Resolved::Script;
    }
    let verb = lower.split_once('-').map(|(verb, _)| verb);
    if name.contains('\\') || verb.is_some_and(|verb| RUNNING_VERBS.contains(&verb)) {
        return Resolved::UnknownCmdlet;
    }
    Resolved::Program
}

/// Returns the cmdlet that changes something and that the name of a program stands for on Windows.
pub(crate) fn on_windows(name: &str) -> Option<&'static Cmdlet> {
    let cmdlet = cmdlets::windows_alias(name).and_then(cmdlets::cmdlet)?;
    (cmdlet.effect != CmdletEffect::Reads).then_some(cmdlet)
}

/// Reports whether the name stands for the cmdlet.
pub(super) fn names_cmdlet(name: &[u8], cmdlet: &'static Cmdlet) -> bool {
    if name.contains(&b'\\') {
        let name = std::str::from_utf8(name).unwrap_or_default();
        return matches!(resolve(name), Resolved::Cmdlet(found) if std::ptr::eq(found, cmdlet));
    }
    let is = |known: &&str| known.as_bytes().eq_ignore_ascii_case(name);
    is(&cmdlet.name) || cmdlet.aliases.iter().any(is)
}

/// Returns the name without a qualifier that names a built-in module. `None` if the qualifier is unknown.
fn unqualified(name: &str) -> Option<&str> {
    if name.ends_with('\\') {
        return Some(name);
    }
    match name.rsplit_once('\\') {
        None => Some(name),
        Some((module, name)) => names::is_powershell_module(&module.to_ascii_lowercase()).then_some(name),
    }
}

/// Returns every name by which a rule may name the command: as written, without its qualifier, what it stands for on
/// Linux and on Windows, and with the verb that PowerShell adds to a noun. In lower case.
pub(crate) fn readings(name: &str) -> Vec<String> {
    let own = name.rsplit_once('\\').map_or(name, |(_, name)| name);
    let base = own.rsplit_once('/').map_or(own, |(_, name)| name);
    let mut all = vec![own.to_ascii_lowercase(), name.to_ascii_lowercase(), base.to_ascii_lowercase()];
    all.extend(
        cmdlets::alias(own).into_iter().chain(cmdlets::windows_alias(own)).map(str::to_ascii_lowercase),
    );
    let with_verb = format!("get-{}", own.to_ascii_lowercase());
    if cmdlets::cmdlet(&with_verb).is_some() {
        all.push(with_verb);
    }
    all.extend(
        ["exe", "cmd"]
            .iter()
            .filter_map(|ending| {
                let stem = all.first()?.strip_suffix(ending)?.strip_suffix('.')?;
                Some(stem.to_owned())
            })
            .collect::<Vec<_>>(),
    );
    let mut seen: Vec<String> = Vec::new();
    for reading in all {
        if !seen.contains(&reading) {
            seen.push(reading);
        }
    }
    seen
}
