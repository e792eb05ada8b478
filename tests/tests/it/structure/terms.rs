//! Tests of `scripts/retired_terms.py`, which `make lint` runs: it finds the terms that the glossary retires.

use std::{
    fs,
    process::{Command, Output},
};

use airlock_tests::source;

const GLOSSARY: &str = "# Glossary\n\n## Retired words\n\nThe script reads this table.\n\n\
    | Retired | Use | Permitted in |\n|---|---|---|\n| folder | directory | `deploy/*` |\n\
    | entry, at hand (of a right) | item | |\n";

/// Runs the script on a repository with the glossary and one more file.
fn check(file: &str, text: &str) -> Output {
    let root = tempfile::tempdir().unwrap();
    for (name, text) in [("docs/glossary.md", GLOSSARY), (file, text)] {
        let path = root.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    for arguments in [&["init", "--quiet"][..], &["add", "."]] {
        assert!(Command::new("git").args(arguments).current_dir(root.path()).status().unwrap().success());
    }
    let script = source::root().join("scripts/retired_terms.py");
    Command::new("python3").arg(script).arg(root.path()).output().unwrap()
}

#[test]
fn a_retired_term_is_found_in_prose_and_in_identifiers() {
    for (file, text) in [
        ("src/lib.rs", "// Opens the folder.\n"),
        ("src/lib.rs", "fn is_folder() {}\n"),
        ("src/lib.rs", "struct FolderMode;\n"),
        ("src/lib.rs", "const FOLDER_MODE: u8 = 1;\n"),
        ("src/lib.rs", "const A: &str = \"no such folder\";\n"),
        ("proto/a.proto", "string folder = 1;\n"),
        ("helm/values.yaml", "stateFolders: []\n"),
        ("docs/page.md", "All entries are here.\n"),
        ("docs/page.md", "The role is at hand.\n"),
    ] {
        let output = check(file, text);
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(1), "{text}: {said}");
        assert!(said.starts_with(&format!("{file}:1: `")) && said.contains("is retired; use: "), "{said}");
    }
}

#[test]
fn other_words_and_permitted_files_are_not_found() {
    for (file, text) in [
        ("src/lib.rs", "fn is_directory() {}\nstruct Scaffolder;\nconst A: &str = \"his hadron\";\n"),
        ("deploy/dashboards.yaml", "folder: ops\n"),
        ("policy/test_data/case.txt", "cd folder\n"),
    ] {
        let output = check(file, text);
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!((output.status.code(), said.as_ref()), (Some(0), ""), "{text}");
    }
}
