//! Tests of the files and variables of PowerShell.

use std::ffi::OsString;

use super::*;
use crate::launcher::building;
use crate::spec::{Limits, Network, Shape};

const DIRECTORY: &str = "/run/airlock/run";
const WRITABLE: Shape = Shape { read_only: false, network: Network::Empty };
const READ_ONLY_SHAPE: Shape = Shape { read_only: true, network: Network::Empty };

fn spec(shell: Shell, command: &str, shape: Shape, trusted: bool) -> LaunchSpec {
    LaunchSpec { shell, command: command.into(), shape, trusted, ..LaunchSpec::default() }
}

fn of(spec: &LaunchSpec, name: &str) -> Option<String> {
    let all = variables(spec, Path::new(DIRECTORY));
    let found = all.into_iter().find(|(one, _)| *one == name)?;
    Some(String::from_utf8(found.1).unwrap())
}

#[test]
fn modules_and_settings_of_home_are_loaded_only_by_a_command_that_needs_no_trust() {
    for (shape, trusted, place) in [
        (READ_ONLY_SHAPE, false, "/var/tmp/powershell"),
        (READ_ONLY_SHAPE, true, "/var/tmp/powershell"),
        (WRITABLE, true, "/run/airlock/run/powershell"),
    ] {
        for (shell, command) in [(Shell::Pwsh, "Get-Date"), (Shell::Bash, "pwsh -NoProfile -c Get-Date")] {
            let spec = spec(shell, command, shape, trusted);
            for (name, value) in [
                ("XDG_CONFIG_HOME", format!("{place}/config")),
                ("XDG_DATA_HOME", format!("{place}/data")),
                ("PSModuleAnalysisCachePath", format!("{place}/modules")),
                ("PSModulePath", String::new()),
            ] {
                assert_eq!(of(&spec, name), Some(value), "{name} of {command} {shape:?} {trusted}");
            }
        }
    }
    let free = spec(Shell::Pwsh, "Get-Date", WRITABLE, false);
    for name in ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "PSModulePath"] {
        assert_eq!(of(&free, name), None, "the control: {name}");
    }
}

#[test]
fn it_can_write_its_cache_or_finds_its_directories() {
    let read_only = spec(Shell::Pwsh, "1", READ_ONLY_SHAPE, true);
    assert_eq!(of(&read_only, "XDG_CACHE_HOME").unwrap(), "/var/tmp/powershell/cache");
    assert_eq!(directories(&read_only), [] as [&str; 0], "it creates them");
    // Landlock lets nobody write the directory of the command's files.
    let trusted = spec(Shell::Pwsh, "1", WRITABLE, true);
    assert_eq!(directories(&trusted), ["powershell/config", "powershell/data/powershell/Modules"]);
    assert_eq!(of(&trusted, "XDG_CACHE_HOME"), None, "HOME can be written");
}

#[test]
fn another_command_gets_nothing_of_it() {
    let bash = |command| spec(Shell::Bash, command, READ_ONLY_SHAPE, true);
    assert!(variables(&bash("ls; git status"), Path::new(DIRECTORY)).is_empty());
    assert!(directories(&spec(Shell::Bash, "ls", WRITABLE, true)).is_empty());
    let named = variables(&bash("echo a | pwsh -NoProfile -Command -"), Path::new(DIRECTORY));
    assert!(named.iter().any(|(name, _)| *name == "XDG_DATA_HOME"));
    assert!(named.iter().all(|(name, _)| *name != "NO_COLOR"), "bash shows colours as before");
}

#[test]
fn no_variable_of_a_request_replaces_them() {
    let names = ["DOTNET_EnableDiagnostics", "NO_COLOR", "XDG_DATA_HOME", "PSModulePath"];
    let mut spec = spec(Shell::Pwsh, "1", READ_ONLY_SHAPE, true);
    spec.env = names.iter().map(|name| (OsString::from(name), OsString::from("theirs"))).collect();
    let env = building::start(&spec, &Limits::default(), Path::new(DIRECTORY)).env;
    for name in names {
        let values: Vec<_> = env.iter().filter(|(one, _)| one == name.as_bytes()).collect();
        assert_eq!(values.len(), 1, "{name}: {values:?}");
        assert_ne!(values[0].1, b"theirs", "{name}");
    }
}

#[test]
fn the_command_is_in_no_script() {
    let text = "Write-Output 'needle'";
    let all = files(&spec(Shell::Pwsh, text, WRITABLE, false));
    let names: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["run.ps1", "text.ps1"]);
    assert!(all.iter().all(|(_, script)| !String::from_utf8_lossy(script).contains("needle")));
}

#[test]
fn input_is_read_as_lines_only_if_the_text_asks_for_them() {
    let run = |command: &str, stdin| {
        let spec = LaunchSpec { stdin, ..spec(Shell::Pwsh, command, WRITABLE, false) };
        let run = files(&spec).remove(0).1;
        String::from_utf8(run).unwrap().contains("$input")
    };
    for command in ["$input | % { $_ }", "@($INPUT).Count", "${Input}"] {
        assert!(run(command, Stdin::Pipe), "{command}");
        assert!(!run(command, Stdin::Null), "{command}: there is no input");
    }
    for command in ["/bin/cat", "[Console]::In.ReadLine()", "$inp"] {
        assert!(!run(command, Stdin::Pipe), "{command}");
    }
}

#[test]
fn every_part_that_stops_or_hides_errors_is_known() {
    // An error that ends a statement ends the whole text inside `try` or `trap`.
    let outside: String = TEXT.split("} else {").last().unwrap().to_owned();
    assert!(outside.contains("-Begin $AirlockText") && !outside.contains("try"), "{outside}");
    let call = RUN.lines().find(|line| line.contains("text.ps1\"")).unwrap();
    assert_eq!(call, CALL, "the call is at the top level");
    assert!(RUN.lines().chain(TEXT.lines()).all(|line| line.len() <= 120 && line.is_ascii()));
}
