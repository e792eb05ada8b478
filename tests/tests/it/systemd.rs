//! Tests of the systemd units in `deploy/systemd`: they parse, name existing programs and options, and contain
//! the settings that the code needs. `make test-vm` starts them under a real systemd.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::{collections::BTreeMap, fs, path::PathBuf, process::Command};

use airlock_tests::{source, tools::program};

/// Section and key, with all values in order.
type Unit = BTreeMap<(String, String), Vec<String>>;

/// Parses a unit as systemd does: sections, `KEY=VALUE`, comment lines. No unit here uses line continuations.
fn parse(text: &str) -> Result<Unit, String> {
    let mut unit = Unit::new();
    let mut section = None;
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let wrong = |what: &str| format!("line {}: {what}: {line}", index + 1);
        if line.starts_with('#') {
            continue;
        }
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            section = Some(name.to_owned());
            continue;
        }
        let (key, value) = line.split_once('=').ok_or_else(|| wrong("neither a section nor a setting"))?;
        if key.is_empty() || !key.chars().all(|c| c.is_ascii_alphanumeric()) || line.ends_with('\\') {
            return Err(wrong("no setting"));
        }
        let section = section.clone().ok_or_else(|| wrong("a setting outside a section"))?;
        unit.entry((section, key.to_owned())).or_default().push(value.to_owned());
    }
    Ok(unit)
}

fn units() -> BTreeMap<String, Unit> {
    let read = |(path, text): (PathBuf, String)| {
        let name = path.display().to_string();
        let unit = parse(&text).map_err(|error| format!("{name}: {error}")).unwrap();
        (name, unit)
    };
    let units: BTreeMap<String, Unit> = source::texts("service").unwrap().into_iter().map(read).collect();
    assert_eq!(units.len(), 3, "the units were found");
    units
}

fn values<'a>(unit: &'a Unit, section: &str, key: &str) -> &'a [String] {
    unit.get(&(section.to_owned(), key.to_owned())).map_or(&[], Vec::as_slice)
}

fn service<'a>(unit: &'a Unit, key: &str) -> Option<&'a str> {
    values(unit, "Service", key).last().map(String::as_str)
}

fn example(name: &str) -> toml::Table {
    fs::read_to_string(source::root().join("deploy").join(name)).unwrap().parse().unwrap()
}

#[test]
fn what_is_no_unit_does_not_parse() {
    assert!(parse("[Service]\nExecStart=/bin/true\n# a comment\n").is_ok());
    for wrong in ["Type=exec\n", "[Service]\nnonsense\n", "[Service]\n=x\n", "[Service]\nExecStart=a \\\nb\n"]
    {
        assert!(parse(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn every_unit_has_its_parts_and_is_started_again() {
    for (name, unit) in units() {
        let sections: Vec<&str> = unit.keys().map(|(section, _)| section.as_str()).collect();
        for section in ["Unit", "Service", "Install"] {
            assert!(sections.contains(&section), "{name} has [{section}]");
        }
        assert!(sections.iter().all(|section| ["Unit", "Service", "Install"].contains(section)), "{name}");
        assert_eq!(service(&unit, "Restart"), Some("always"), "{name}");
        assert_eq!(
            service(&unit, "RestartPreventExitStatus"),
            Some("2"),
            "{name}: the exit code of a refusal"
        );
        assert_eq!(service(&unit, "NoNewPrivileges"), Some("yes"), "{name}");
        assert_eq!(values(&unit, "Service", "ExecStart").len(), 1, "{name}");
    }
}

#[test]
fn the_programs_know_the_commands_that_the_units_start() {
    for (name, unit) in units() {
        for key in ["ExecStartPre", "ExecStart"] {
            let line = service(&unit, key).unwrap();
            let words: Vec<&str> = line.split_whitespace().collect();
            let [path, command, option, file] = words.as_slice() else { unreachable!("{name}: {line}") };
            let binary = path.rsplit('/').next().unwrap();
            assert_eq!((*option, file.ends_with(".toml")), ("--config", true), "{name}: {line}");
            let help = Command::new(program(binary)).args([command, "--help"]).output().unwrap();
            assert!(help.status.success(), "{name}: {binary} knows no `{command}`");
            assert!(String::from_utf8_lossy(&help.stdout).contains("--config"), "{name}: {line}");
        }
    }
}

#[test]
fn the_directories_and_files_are_those_of_the_example_configurations() {
    let units = units();
    let runner = units.get("deploy/systemd/airlock-runner.service").unwrap();
    let state = format!("/var/lib/{}", service(runner, "StateDirectory").unwrap());
    assert_eq!(example("runner.toml").get("state_dir").unwrap().as_str().unwrap(), state);

    let server = units.get("deploy/systemd/airlock-server.service").unwrap();
    let state = format!("/var/lib/{}/", service(server, "StateDirectory").unwrap());
    let config = example("server.toml");
    assert!(config["store"]["path"].as_str().unwrap().starts_with(&state));
    assert!(config["outputs"]["directory"].as_str().unwrap().starts_with(&state));
    let credentials = values(server, "Service", "LoadCredential");
    for key in ["certificate", "key", "client_ca"] {
        let path = config["listen"]["tls"][key].as_str().unwrap();
        let loaded = format!("{}:{path}", path.rsplit('/').next().unwrap());
        assert!(credentials.contains(&loaded), "{loaded} is not among {credentials:?}");
    }
}

#[test]
fn the_runners_unit_leaves_bubblewrap_what_it_needs_and_waits_for_a_drain() {
    let hiding_proc =
        ["ProtectKernelTunables", "ProtectKernelLogs", "ProtectControlGroups", "ProtectProc", "ProcSubset"];
    let breaking = ["RestrictNamespaces", "ProtectHostname", "PrivateUsers", "PrivateNetwork"];
    let inherited = ["MemoryDenyWriteExecute", "RestrictSUIDSGID", "SystemCallFilter"];
    let devices = ["PrivateDevices", "ProtectClock", "DevicePolicy"];
    for (name, unit) in units().into_iter().filter(|(name, _)| name.contains("runner")) {
        for key in [hiding_proc.as_slice(), &breaking, &inherited, &devices].concat() {
            assert_eq!(service(&unit, key), None, "{name} sets {key}");
        }
        assert_eq!(service(&unit, "Delegate"), Some("yes"), "{name}: its own cgroups");
        assert_eq!(
            service(&unit, "OOMPolicy"),
            Some("continue"),
            "{name}: the end of one command does not end the runner"
        );
        assert_eq!(service(&unit, "KillMode"), Some("mixed"), "{name}: the runner ends its commands itself");
        let seconds = |text: &str| text.trim_end_matches('s').parse::<u64>().unwrap();
        let drain = &example("runner.toml")["drain"];
        let needed =
            ["grace", "handover"].map(|key| seconds(drain[key].as_str().unwrap())).iter().sum::<u64>();
        assert!(seconds(service(&unit, "TimeoutStopSec").unwrap()) > needed, "{name}: {needed} s are needed");
    }
}
