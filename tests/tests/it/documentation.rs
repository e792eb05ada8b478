//! Tests of the documentation: its tables match the code, its examples load, and its commands run.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::{fs, process::Command};

use airlock_tests::{
    source,
    tools::program,
    typed::{blocks, typed},
};

fn page(path: &str) -> String {
    fs::read_to_string(source::root().join(path)).unwrap()
}

fn names(attributes: &[&str]) -> String {
    if attributes.is_empty() {
        return "none".to_owned();
    }
    attributes.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

#[test]
fn the_tables_of_metrics_are_those_of_the_code() {
    let page = page("docs/telemetry.md");
    let tables = airlock_server::telemetry::metrics::TABLE.iter().chain(airlock_runner::METRICS);
    let row = |metric: &airlock_telemetry::Description| {
        let (kind, attributes) = (metric.kind.name(), names(metric.attributes));
        format!("| `{}` | {kind} | `{}` | {attributes} | {} |", metric.name, metric.unit, metric.what)
    };
    let expected: Vec<String> = tables.map(row).collect();
    let found: Vec<&str> = page.lines().filter(|line| line.starts_with("| `")).collect();
    assert_eq!(found, expected);
}

#[test]
fn the_tables_of_layers_are_those_of_the_code() {
    let page = page("docs/doctor.md");
    let page = page.split("## In a pod").next().unwrap();
    let found: Vec<&str> = page.lines().filter(|line| line.starts_with("| `")).collect();
    let row = |layer: &airlock_sandbox::Layer| format!("| `{}` | {} |", layer.name, layer.lost);
    let (floor, extra): (Vec<_>, Vec<_>) = airlock_sandbox::LAYERS.iter().partition(|layer| layer.floor);
    let expected: Vec<String> = floor.into_iter().chain(extra).map(row).collect();
    assert_eq!(found, expected);
}

#[test]
fn the_table_of_validators_is_that_of_the_code() {
    use airlock_policy::{Effect, VALIDATORS};

    let page = page("docs/policy.md");
    let section = page.split("## Validators").nth(1).unwrap().split("\n## ").next().unwrap();
    let found: Vec<&str> = section.lines().filter(|line| line.starts_with("| `")).collect();
    let expected: Vec<String> = VALIDATORS
        .iter()
        .map(|validator| {
            let does = match validator.effect {
                Effect::LetsPass => "permits",
                Effect::Misparsing => "always asks",
                Effect::KeepsFromProof => "prevents the proof",
            };
            format!("| `{}` | {does} | {} |", validator.code, validator.message)
        })
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn the_example_of_a_profile_is_the_one_in_the_text_and_loads() {
    let text = page("docs/profiles.md");
    let shown = text.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    assert_eq!(shown, page("docs/examples/team.toml"));
    let check = |command: &str| {
        let output = Command::new(program("airlock"))
            .args(["check", "--profile", "docs/examples/team.toml", command])
            .current_dir(source::root())
            .output()
            .unwrap();
        (output.status.code().unwrap(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    assert_eq!(check("npm run test -- --watch").0, 0);
    assert_eq!(check("git commit -m x").0, 10);
    assert_eq!(check("true; git -C . push").0, 11);
}

#[test]
fn every_decision_is_in_the_index() {
    let index = page("docs/decisions/README.md");
    let pages: Vec<String> = source::files()
        .unwrap()
        .iter()
        .filter_map(|path| Some(path.strip_prefix("docs/decisions").ok()?.to_string_lossy().into_owned()))
        .filter(|name| name != "README.md")
        .collect();
    assert!(pages.len() > 5);
    for name in pages {
        assert!(index.contains(&format!("({name})")), "{name} is in the index");
    }
}

#[test]
fn the_commands_of_the_readme_run() {
    let directory = tempfile::Builder::new().prefix("airlock-test-readme-").tempdir().unwrap();
    let readme = page("README.md");
    let blocks = blocks(&readme, "sh");
    let makefile = page("Makefile");
    let mut script = String::from("trap 'kill -TERM %1; wait %1' EXIT\n");
    for line in blocks.iter().flat_map(|block| block.lines()) {
        match line.strip_prefix("make ") {
            // CI runs it, and so does the test of the demo.
            Some(target) => assert!(makefile.contains(&format!("\n{target}:")), "make {target}"),
            // The programs are built; cargo would wait for the build that runs this test.
            None if line.starts_with("cargo build") || line.starts_with("export PATH") => {}
            None => {
                script.push_str(line);
                script.push('\n');
            }
        }
    }
    assert!(script.lines().count() > 12, "commands were found:\n{script}");
    let output = typed(directory.path(), &script);
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{script}\n{text}\n{errors}");
    for piece in ["hello from", "/workspace/policy", "1\n2\n3\n", "exit code 10", "+# a note", "99999:99999"]
    {
        assert!(text.contains(piece), "`{piece}` is in:\n{text}\n{errors}");
    }
}

#[test]
fn the_commands_of_the_other_pages_run() {
    let directory = tempfile::Builder::new().prefix("airlock-test-docs-").tempdir().unwrap();
    let mut count = 0;
    for path in source::files().unwrap() {
        let name = path.to_string_lossy();
        if !name.ends_with(".md") || name == "README.md" {
            continue;
        }
        for block in blocks(&page(&name), "sh") {
            count += 1;
            let output = typed(directory.path(), &block);
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{name}:\n{block}\n{errors}");
        }
    }
    assert!(count > 0, "commands were found");
}

/// Returns the links `[`name`](file)` of a text that have the name of a function.
fn linked_functions(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for part in text.split("[`").skip(1) {
        let Some((name, rest)) = part.split_once("`](") else { continue };
        let Some((file, _)) = rest.split_once(')') else { continue };
        if name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_') {
            found.push((name.to_owned(), file.to_owned()));
        }
    }
    found
}

#[test]
fn each_invariant_links_to_a_test_that_exists() {
    let page = page("ARCHITECTURE.md");
    let mut wrong = Vec::new();
    let invariants: Vec<&str> = page.split("* **Invariant:**").skip(1).collect();
    assert!(invariants.len() >= 20, "{} invariants", invariants.len());
    for text in invariants {
        let text = text.split("\n\n").next().unwrap();
        let tests = linked_functions(text);
        if tests.is_empty() {
            wrong.push(format!("no test: {text}"));
        }
        for (name, file) in tests {
            let source = fs::read_to_string(source::root().join(&file)).unwrap_or_default();
            if !source.contains(&format!("fn {name}(")) {
                wrong.push(format!("{file} has no `{name}`"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_example_of_the_readme_is_the_documentation_test_of_the_client() {
    let shown = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| !line.starts_with("# ") && !line.is_empty());
        lines.map(str::to_owned).collect()
    };
    let readme = page("README.md");
    let readme = readme.split("```rust\n").nth(1).unwrap().split("```").next().unwrap().to_owned();
    let library = page("client/src/lib.rs");
    let library: Vec<&str> = library
        .lines()
        .map_while(|line| line.strip_prefix("//!"))
        .map(|line| line.strip_prefix(' ').unwrap_or(line))
        .collect();
    let library = library.join("\n");
    let library = library.split("```no_run\n").nth(1).unwrap().split("```").next().unwrap();
    assert_eq!(shown(&readme), shown(library));
}

/// The commands that need a package registry.
mod long {
    use super::{blocks, page, typed};

    #[test]
    fn the_commands_of_the_readme_that_need_a_registry_run() {
        let directory = tempfile::Builder::new().prefix("airlock-test-readme-").tempdir().unwrap();
        let blocks = blocks(&page("README.md"), "sh network");
        assert_eq!(blocks.len(), 1);
        let start =
            "airlock dev >~/dev.log 2>&1 &\ntrap 'kill -TERM %1; wait %1' EXIT\nairlock runners --wait\n";
        let output = typed(directory.path(), &format!("{start}{}", blocks.concat()));
        let text = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{text}\n{errors}");
        for piece in ["Successfully installed", "/workspace/.venv/lib/"] {
            assert!(text.contains(piece), "`{piece}` is in:\n{text}\n{errors}");
        }
    }
}
