//! The files and variables that PowerShell gets: as the shell of a command, and as a program that a bash command names.
//!
//! Pure. Must not insert the command into a script. run.ps1 reads it from its own file.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::spec::{LaunchSpec, Shell, Stdin};

/// The name of the script that pwsh gets with `-File`. pwsh accepts only this extension.
pub(super) const RUN_FILE: &str = "run.ps1";
const TEXT_FILE: &str = "text.ps1";
/// The name of the session's shell snapshot, which run.ps1 sources.
pub(super) const SNAPSHOT_FILE: &str = "snapshot.ps1";
const RUN: &str = include_str!("powershell/run.ps1");
const TEXT: &str = include_str!("powershell/text.ps1");
/// The line of run.ps1 that runs text.ps1.
const CALL: &str = ". \"$PSScriptRoot/text.ps1\"";
/// The automatic variable with the lines of standard input.
const INPUT: [&[u8]; 2] = [b"$input", b"${input}"];
/// The directory of a trusted command, below that of its files.
const TRUSTED: &str = "powershell";
/// The directory of a read-only command. `/var/tmp` is private there.
const READ_ONLY: &str = "/var/tmp/powershell";

/// Returns the scripts around the command.
pub(super) fn files(spec: &LaunchSpec) -> Vec<(String, Vec<u8>)> {
    // pwsh reads its input as lines before the script runs if the script mentions `$input`. Native programs then get
    // nothing.
    let run = match spec.stdin == Stdin::Pipe && mentions_input(&spec.command) {
        true => RUN.replace(CALL, &format!("$input | {CALL}")),
        false => RUN.to_owned(),
    };
    vec![(RUN_FILE.to_owned(), run.into_bytes()), (TEXT_FILE.to_owned(), TEXT.into())]
}

fn mentions_input(command: &[u8]) -> bool {
    INPUT.iter().any(|name| command.windows(name.len()).any(|part| part.eq_ignore_ascii_case(name)))
}

/// Returns the directories that must exist where pwsh cannot create them.
pub(super) fn directories(spec: &LaunchSpec) -> Vec<String> {
    let needed = spec.trusted && !spec.shape.read_only && is_used(spec);
    let names = ["config", "data/powershell/Modules"];
    names.into_iter().filter(|_| needed).map(|name| format!("{TRUSTED}/{name}")).collect()
}

/// Reports whether the command runs PowerShell. A bash command may hide the name. PowerShell then lacks the variables,
/// and does not start on read-only mounts.
fn is_used(spec: &LaunchSpec) -> bool {
    let name = Shell::Pwsh.name().as_bytes();
    spec.shell == Shell::Pwsh || spec.command.windows(name.len()).any(|part| part == name)
}

/// Returns the variables with which PowerShell starts within the limits of a command, and sends no data. As the shell,
/// it also prints plain text. If the command requires trusted directories, PowerShell loads no module and no settings of
/// HOME. On read-only mounts, it gets directories that it can write.
pub(super) fn variables(spec: &LaunchSpec, directory: &Path) -> Vec<(&'static str, Vec<u8>)> {
    if !is_used(spec) {
        return Vec::new();
    }
    let mut variables: Vec<(&str, Vec<u8>)> = vec![
        ("DOTNET_EnableDiagnostics", b"0".to_vec()),
        // Many versions of .NET otherwise create a sparse file of 2 TiB in memory (dotnet/runtime issue 117819). The
        // limit of file sizes ends them with SIGXFSZ.
        ("DOTNET_EnableWriteXorExecute", b"0".to_vec()),
        ("POWERSHELL_TELEMETRY_OPTOUT", b"1".to_vec()),
        ("POWERSHELL_UPDATECHECK", b"Off".to_vec()),
    ];
    if spec.shell == Shell::Pwsh {
        variables.push(("NO_COLOR", b"1".to_vec()));
    }
    let read_only = spec.shape.read_only;
    if !read_only && !spec.trusted {
        return variables;
    }
    let own = if read_only { Path::new(READ_ONLY).to_owned() } else { directory.join(TRUSTED) };
    let below = |name: &str| own.join(name).as_os_str().as_bytes().to_vec();
    variables.extend([
        ("PSModuleAnalysisCachePath", below("modules")),
        // An empty value stands for the default: the directories of `XDG_DATA_HOME`, the system and the installation.
        ("PSModulePath", Vec::new()),
        ("XDG_CONFIG_HOME", below("config")),
        ("XDG_DATA_HOME", below("data")),
    ]);
    variables.extend(read_only.then(|| ("XDG_CACHE_HOME", below("cache"))));
    variables
}

#[cfg(test)]
mod tests;
