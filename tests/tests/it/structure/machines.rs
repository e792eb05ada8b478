//! Tests of the crates that contain state machines: they are pure, and only they change the state that they own.

use airlock_tests::uses;
use syn::visit::{self, Visit};

use super::{assert_none, code, dependencies, rust};

/// A crate of state machines.
struct Machine {
    directory: &'static str,
    package: &'static str,
}

const MACHINES: [Machine; 1] =
    [Machine { directory: "runner/lifecycle", package: "airlock-runner-lifecycle" }];

/// An enum whose variants only the loop around a machine may build.
struct Owned {
    /// The name of the enum, as code outside the machine writes it.
    name: &'static str,
    /// The variants that change the state. Empty: all.
    variants: &'static [&'static str],
    /// The directory in which no other file may build them.
    below: &'static str,
    /// The files that may.
    except: &'static [&'static str],
}

const OWNED: [Owned; 2] = [
    // The encoding builds the records that it reads from the file.
    Owned {
        name: "Record",
        variants: &["Accepted", "Refused", "Running", "Ended", "Forgotten"],
        below: "runner/src/",
        except: &["runner/src/journal/encoding.rs"],
    },
    // The journal reports the records that it has written.
    Owned {
        name: "Event",
        variants: &["Written", "NotWritten"],
        below: "runner/src/",
        except: &["runner/src/journal.rs"],
    },
];

/// Crates that do I/O, run tasks or read clocks.
const IMPURE: [&str; 9] =
    ["tokio", "tokio-util", "mio", "socket2", "sqlx", "sqlx-core", "tonic", "rustix", "chrono"];
/// The modules of the standard library that do the same, and all that a glob import may contain.
const MODULES: [&str; 10] = ["fs", "env", "net", "process", "thread", "io", "os", "time", "self", "*"];
/// Types and functions that read a clock, or random numbers.
const WORDS: [&str; 6] =
    ["Instant", "SystemTime", "::now(", "ExecutionId::new(", "SessionId::new(", "Epoch::new("];

/// Returns the impure crates that a package depends on.
fn impure(package: &str) -> Vec<String> {
    let all = dependencies();
    let of_package = &all[package];
    let found = IMPURE.iter().filter(|name| of_package.contains(**name));
    found.map(|name| format!("{package} depends on {name}")).collect()
}

/// Returns the uses of I/O, tasks and clocks in a source text. Durations are permitted.
fn impurities(path: &str, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for item in uses::of_std(text).unwrap() {
        let is_impure = item.split("::").nth(1).is_some_and(|module| MODULES.contains(&module));
        if is_impure && item != "std::time::Duration" {
            found.push(format!("{path}: {item}"));
        }
    }
    for (number, line) in code(text).filter(|(_, line)| WORDS.iter().any(|word| line.contains(word))) {
        found.push(format!("{path}:{number}: {}", line.trim()));
    }
    found
}

/// Finds the variants of an enum that a text builds. Code for tests is left out.
struct Built<'a> {
    owned: &'a Owned,
    found: Vec<String>,
}

impl Built<'_> {
    fn path(&mut self, path: &syn::Path) {
        let names: Vec<String> = path.segments.iter().map(|part| part.ident.to_string()).collect();
        if let [.., name, variant] = names.as_slice()
            && *name == self.owned.name
            && (self.owned.variants.is_empty() || self.owned.variants.contains(&variant.as_str()))
        {
            self.found.push(format!("{name}::{variant}"));
        }
    }
}

impl<'ast> Visit<'ast> for Built<'_> {
    fn visit_expr_struct(&mut self, built: &'ast syn::ExprStruct) {
        self.path(&built.path);
        visit::visit_expr_struct(self, built);
    }

    fn visit_expr_path(&mut self, named: &'ast syn::ExprPath) {
        self.path(&named.path);
    }

    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        let is_test = |attribute: &syn::Attribute| {
            attribute.path().is_ident("cfg")
                && attribute.parse_args::<syn::Ident>().is_ok_and(|name| name == "test")
        };
        if !module.attrs.iter().any(is_test) {
            visit::visit_item_mod(self, module);
        }
    }
}

fn built(owned: &Owned, text: &str) -> Vec<String> {
    let mut built = Built { owned, found: Vec::new() };
    built.visit_file(&syn::parse_file(text).unwrap());
    built.found
}

#[test]
fn machines_depend_on_no_crate_that_does_io_or_reads_a_clock() {
    let found: Vec<String> = MACHINES.iter().flat_map(|machine| impure(machine.package)).collect();
    assert_none(&found, "state machines are pure");
    assert!(!impure("airlock-runner").is_empty(), "the dependencies were found");
}

#[test]
fn machines_do_no_io_and_read_no_clock() {
    let mut found = Vec::new();
    for Machine { directory, .. } in &MACHINES {
        let sources = format!("{directory}/src/");
        let texts: Vec<_> = rust().into_iter().filter(|(path, _)| path.starts_with(&sources)).collect();
        assert!(texts.len() > 5, "the sources of {directory} were found");
        found.extend(texts.iter().flat_map(|(path, text)| impurities(path, text)));
    }
    assert_none(&found, "state machines are pure");
}

#[test]
fn an_impure_line_is_found() {
    let lines = [
        "use std::fs;",
        "use std::time::{Duration, Instant};",
        "use std::time::SystemTime;",
        "use std::*;",
        "fn a() { std::thread::yield_now(); }",
        "fn a() { let now = Utc::now(); }",
        "fn a() -> Epoch { Epoch::new() }",
    ];
    for line in lines {
        assert!(!impurities("a.rs", line).is_empty(), "{line}");
    }
    let pure = "use std::{collections::BTreeMap, time::Duration};\n// Reads no Instant.\n";
    assert!(impurities("a.rs", pure).is_empty());
}

#[test]
fn the_state_of_a_machine_is_changed_by_its_effects_alone() {
    let mut found = Vec::new();
    for owned in &OWNED {
        let files = rust().into_iter().filter(|(path, _)| path.starts_with(owned.below));
        let files: Vec<_> = files.filter(|(path, _)| !path.ends_with("tests.rs")).collect();
        for exception in owned.except {
            let text = files.iter().find(|(path, _)| path == exception).map(|(_, text)| text);
            let text = text.unwrap_or_else(|| panic!("{exception} exists"));
            assert!(!built(owned, text).is_empty(), "{exception} is an unnecessary exception");
        }
        for (path, text) in files.iter().filter(|(path, _)| !owned.except.contains(&path.as_str())) {
            found.extend(built(owned, text).into_iter().map(|name| format!("{path}: {name}")));
        }
    }
    assert_none(&found, "only a machine and the loop around it write a job's state");
}

#[test]
fn a_state_that_is_written_past_its_machine_is_found() {
    let [records, events] = &OWNED;
    assert_eq!(built(records, "fn a() { write(Record::Running { id }) }"), ["Record::Running"]);
    assert_eq!(
        built(records, "fn a() { write(jobs::Record::Ended { id, lost, result }) }"),
        ["Record::Ended"]
    );
    assert_eq!(built(events, "fn a() { ids.map(Event::Written) }"), ["Event::Written"]);
    assert_eq!(
        built(events, "fn a() { step(Event::NotWritten { record, problem }) }"),
        ["Event::NotWritten"]
    );
    let reads = "fn a(record: Record) -> bool { matches(record) } \
                 fn b(record: Record) { if let Record::Running { id } = record { c(id) } } \
                 #[cfg(test)] mod tests { fn a() -> Record { Record::Running { id } } }";
    assert!(built(records, reads).is_empty(), "a test, and code that only reads");
}
