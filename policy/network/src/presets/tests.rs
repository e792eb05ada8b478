//! Tests of the presets.

use std::collections::BTreeSet;

use super::*;

const DOCUMENTATION: &str = include_str!("../../../../docs/network.md");

#[test]
fn every_preset_parses() {
    let parsed = parse(include_str!("../../presets.toml")).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(parsed.len(), presets().len());
    assert!(parsed.len() > 20, "the presets were found");
}

#[test]
fn a_preset_is_complete() {
    let mut names = BTreeSet::new();
    for preset in presets() {
        let name = preset.name();
        assert!(names.insert(name), "{name} is unique");
        assert!(name.bytes().all(|b| b.is_ascii_lowercase() || b == b'-') && name != ANY, "{name}");
        assert!(preset.source().starts_with("https://"), "{name} has a source");
        assert!(preset.note().ends_with('.'), "{name} has a note");
        assert!(!preset.entries().is_empty() && preset.entries().len() <= 10, "{name}");
        assert_eq!(preset.entries().len(), preset.allow().len());
    }
}

#[test]
fn a_host_for_writing_is_in_no_preset_for_reading() {
    let hosts = |access| {
        let of_access = presets().iter().filter(move |preset| preset.access() == access);
        of_access.flat_map(|preset| preset.allow().iter().map(String::as_str)).collect::<BTreeSet<_>>()
    };
    let read = hosts(PresetAccess::Read);
    assert!(read.is_disjoint(&hosts(PresetAccess::Write)));
    assert!(read.is_disjoint(&hosts(PresetAccess::Both)));
}

#[test]
fn a_broken_file_is_an_error() {
    let preset = |allow: &str| {
        format!(
            "[[preset]]\nname = \"a\"\naccess = \"read\"\nallow = [\"{allow}\"]\nsource = \"\"\nnote = \"\"\n"
        )
    };
    assert!(parse(&preset("example.com")).is_ok(), "the control");
    for allow in ["*.com", "a b", "0.0.0.0/0", "pypi..org", "example.com:0"] {
        assert!(parse(&preset(allow)).is_err(), "{allow}");
    }
    assert!(parse(&format!("{}extra = 1\n", preset("example.com"))).is_err());
}

#[test]
fn the_documentation_lists_every_preset() {
    let documented: Vec<&str> = DOCUMENTATION.lines().filter(|line| line.starts_with("| [`")).collect();
    let expected: Vec<String> = presets().iter().map(row).collect();
    assert_eq!(documented, expected, "docs/network.md lists the presets in the order of presets.toml");
}

/// Returns the row of a preset in docs/network.md.
fn row(preset: &Preset) -> String {
    let Preset { name, source, note, allow, .. } = preset;
    let hosts = allow.iter().map(|entry| format!("`{entry}`")).collect::<Vec<_>>().join(", ");
    let access = match preset.access {
        PresetAccess::Read => "reads",
        PresetAccess::Write => "writes",
        PresetAccess::Both => "reads and writes",
    };
    format!("| [`{name}`]({source}) | {access} | {hosts} | {note} |")
}
