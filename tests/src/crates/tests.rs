//! Tests of the analysis of source text by `airlock_tests::crates`.

use super::{
    Tree,
    imports::{Cycle, Graph},
    methods,
};

/// Reads a crate from texts, by file. The first is the root.
fn read(files: &[(&str, &str)]) -> Tree {
    let text = |path: &std::path::Path| {
        files.iter().find(|(name, _)| path == std::path::Path::new(name)).map(|(_, text)| (*text).to_owned())
    };
    Tree::read(files[0].0.as_ref(), &text).unwrap()
}

/// Returns the imports of a crate as `from -> to: names`.
fn imports(files: &[(&str, &str)]) -> Vec<String> {
    Graph::new(&read(files))
        .imports
        .iter()
        .map(|((from, to), names)| {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            format!("{} -> {}: {}", from.display(), to.display(), names.join(" "))
        })
        .collect()
}

fn cycles(files: &[(&str, &str)]) -> Vec<Cycle> {
    Graph::new(&read(files)).cycles()
}

/// Returns the imports of a crate of three modules, whose first one has this code.
fn from_one(code: &str) -> Vec<String> {
    imports(&[
        ("lib.rs", "mod one; mod two; mod three; pub use two::Two as Both; pub struct Root; fn f() {}"),
        ("one.rs", code),
        (
            "two.rs",
            "pub struct Two; pub enum Kind { A, B } pub fn make() {} ids!(Made); pub use super::three::*;",
        ),
        ("three.rs", "pub struct Three; pub fn three() {} pub mod inner { pub struct Deep; }"),
    ])
    .into_iter()
    .filter(|line| line.starts_with("one.rs"))
    .collect()
}

#[test]
fn every_form_of_an_import_is_found() {
    for (code, expected) in [
        ("use crate::two::Two;", &["one.rs -> two.rs: Two"][..]),
        ("use super::two::{self, Two, Kind::A};", &["one.rs -> two.rs: Kind Two"]),
        ("use crate::two; fn f() { two::make() }", &["one.rs -> two.rs: make"]),
        ("use crate::two as other; fn f() { other::make() }", &["one.rs -> two.rs: make"]),
        ("fn f() { crate::two::make() }", &["one.rs -> two.rs: make"]),
        ("fn f(x: super::two::Two) {}", &["one.rs -> two.rs: Two"]),
        ("fn f() { use super::two; two::make() }", &["one.rs -> two.rs: make"]),
        ("fn f() { println!(\"{}\", crate::two::make()) }", &["one.rs -> two.rs: make"]),
        ("fn f(x: Option<Vec<crate::two::Two>>) {}", &["one.rs -> two.rs: Two"]),
        ("impl From<u8> for crate::two::Two {}", &["one.rs -> two.rs: Two"]),
        ("fn f() { crate::two::Kind::from(1) }", &["one.rs -> two.rs: Kind"]),
        ("#[serde(with = \"crate::two::make\")] struct A;", &["one.rs -> two.rs: make"]),
        ("struct A { #[serde(default = \"super::two::make\")] a: u8 }", &["one.rs -> two.rs: make"]),
        ("use crate::Root;", &["one.rs -> lib.rs: Root"]),
        ("use super::*; fn g(x: Root) {}", &["one.rs -> lib.rs: Root"]),
        ("mod inline { fn f() { super::super::two::make() } }", &["one.rs -> two.rs: make"]),
        ("use crate::three::inner::Deep;", &["one.rs -> three.rs: Deep"]),
        ("use crate::two::Made;", &["one.rs -> two.rs: Made"]),
    ] {
        assert_eq!(from_one(code), expected, "{code}");
    }
}

#[test]
fn a_re_export_leads_to_the_file_that_defines_the_item() {
    for (code, expected) in [
        ("use crate::Both;", "one.rs -> two.rs: Two"),
        ("use crate::two::Three;", "one.rs -> three.rs: Three"),
        ("use crate::two::*; fn f(x: Three) {}", "one.rs -> three.rs: Three"),
        ("fn f() { crate::two::three() }", "one.rs -> three.rs: three"),
    ] {
        assert_eq!(from_one(code), [expected], "{code}");
    }
}

#[test]
fn what_imports_nothing_is_no_import() {
    for code in [
        "mod own { pub fn f() {} } fn g() { own::f() }",
        "use std::fmt; use serde::Serialize; fn f() { std::fs::read(x) }",
        "use crate::two;",
        "#[cfg(test)] use crate::two::Two;",
        "#[cfg(test)] mod tests { use crate::two::Two; }",
        "#[cfg(all(test, unix))] fn f() { crate::two::make() }",
        "struct A; impl A { #[cfg(test)] fn f() { crate::two::make() } }",
        "fn f(x: X) { x.make() }",
        "fn f() { assert!(x.two.make()) }",
        "// use crate::two::Two;",
        "#[doc = \"crate::two::Two\"] struct A;",
        "pub(in crate::one) struct A;",
    ] {
        assert_eq!(from_one(code), [] as [&str; 0], "{code}");
    }
}

#[test]
fn code_for_tests_and_others_counts() {
    let code = "#[cfg(any(test, feature = \"fakes\"))] fn f() { crate::two::make() }";
    assert_eq!(from_one(code), ["one.rs -> two.rs: make"]);
}

#[test]
fn a_cycle_through_a_re_export_is_found() {
    let found = cycles(&[
        ("lib.rs", "mod a; mod b; pub use a::A;"),
        ("a.rs", "use crate::b::make; pub struct A;"),
        ("b.rs", "use crate::A; pub fn make() -> A { A }"),
    ]);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].to_string(), "2 files: a.rs, b.rs\n    a.rs -> b.rs: make\n    b.rs -> a.rs: A");
}

#[test]
fn a_cycle_through_an_inline_path_is_found() {
    let found = cycles(&[
        ("src/lib.rs", "mod a;"),
        ("src/a.rs", "mod b; fn f() { b::run() } pub(crate) const LIMIT: u8 = 1;"),
        ("src/a/b.rs", "pub fn run() -> u8 { super::LIMIT }"),
    ]);
    assert_eq!(found.len(), 1);
    let files: Vec<String> = found[0].files.iter().map(|file| file.display().to_string()).collect();
    assert_eq!(files, ["src/a/b.rs", "src/a.rs"]);
}

#[test]
fn a_cycle_of_three_with_another_file_beside_it_is_found() {
    let found = cycles(&[
        ("lib.rs", "mod a; mod b; mod c; mod d;"),
        ("a.rs", "use crate::b::B; pub struct A;"),
        ("b.rs", "use crate::c::C; pub struct B;"),
        ("c.rs", "use crate::a::A; use crate::d::D; pub struct C;"),
        ("d.rs", "pub struct D;"),
    ]);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].files.len(), 3);
}

#[test]
fn a_crate_without_a_cycle_passes() {
    let found = cycles(&[
        ("lib.rs", "mod a; mod b; pub use a::A; pub use b::B; pub fn run(a: A) -> B { b::make(a) }"),
        ("a.rs", "pub struct A; impl A { pub fn made(&self) {} }"),
        ("b.rs", "use crate::A; pub struct B; pub fn make(a: A) -> B { a.made(); B }"),
    ]);
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn files_are_found_where_rust_looks_for_them() {
    let tree = read(&[
        ("x/main.rs", "mod a { mod b; } #[path = \"../y/c.rs\"] mod c; mod d; #[cfg(test)] mod missing;"),
        ("x/a/b.rs", ""),
        ("y/c.rs", "mod e;"),
        ("y/e.rs", ""),
        ("x/d/mod.rs", ""),
    ]);
    let files: Vec<String> = tree.files.iter().map(|file| file.display().to_string()).collect();
    assert_eq!(files, ["x/main.rs", "x/a/b.rs", "y/c.rs", "y/e.rs", "x/d/mod.rs"]);
}

#[test]
fn a_missing_file_is_an_error() {
    let read = |path: &std::path::Path| (path == std::path::Path::new("lib.rs")).then(|| "mod a;".to_owned());
    assert!(Tree::read("lib.rs".as_ref(), &read).is_err_and(|error| error.contains("a/mod.rs")));
}

#[test]
fn methods_are_counted_over_all_blocks() {
    let tree = read(&[
        (
            "lib.rs",
            "mod a; pub struct A; impl A { fn one(&self) {} fn two() {} const X: u8 = 1; }
             impl Clone for A { fn clone(&self) -> Self { A } }
             pub trait T { const X: u8; fn a(); fn b(&self) {} }",
        ),
        (
            "a.rs",
            "impl crate::A { fn three(&self) {} #[cfg(test)] fn four(&self) {} } #[cfg(test)] impl crate::A { fn five() {} }",
        ),
    ]);
    let types: Vec<(String, usize)> =
        methods::of_types(&tree).into_iter().map(|size| (size.name, size.methods)).collect();
    assert_eq!(types, [("A".to_owned(), 3)]);
    let traits: Vec<(String, usize)> =
        methods::of_traits(&tree).into_iter().map(|size| (size.name, size.methods)).collect();
    assert_eq!(traits, [("T".to_owned(), 2)]);
}
