//! Finds the items of other crates that a Rust text names, in any form: paths, groups, renames, and inside macros. It
//! parses the syntax, and includes an item in case of doubt.

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};

/// Returns the paths in `std`, `core` and `alloc`, such as `std::fs::File` or `core::time`. `std::*` and `std::self`
/// mean that everything is imported, or the crate is renamed.
///
/// # Errors
///
/// If the text is not Rust.
pub fn of_std(text: &str) -> syn::Result<Vec<String>> {
    of_crates(text, &["std", "core", "alloc"])
}

/// Like [`of_std`], for these crates.
///
/// # Errors
///
/// If the text is not Rust.
pub fn of_crates(text: &str, crates: &[&str]) -> syn::Result<Vec<String>> {
    let mut found = Found { crates, items: Vec::new() };
    found.visit_file(&syn::parse_file(text)?);
    Ok(found.items)
}

struct Found<'a> {
    crates: &'a [&'a str],
    items: Vec<String>,
}

impl Found<'_> {
    /// Records the items of a use tree below `path`.
    fn tree(&mut self, path: &str, tree: &syn::UseTree) {
        let below = |name: &syn::Ident| match (path, plain(name)) {
            ("", name) => name,
            (path, name) => format!("{path}::{name}"),
        };
        match tree {
            syn::UseTree::Path(part) => self.tree(&below(&part.ident), &part.tree),
            syn::UseTree::Name(name) => self.item(below(&name.ident)),
            syn::UseTree::Rename(name) => self.item(below(&name.ident)),
            syn::UseTree::Glob(_) => self.item(format!("{path}::*")),
            syn::UseTree::Group(group) => group.items.iter().for_each(|tree| self.tree(path, tree)),
        }
    }

    fn item(&mut self, path: String) {
        match path.split("::").next() {
            Some(root) if self.crates.contains(&root) && root == path => {
                self.items.push(format!("{root}::self"));
            }
            Some(root) if self.crates.contains(&root) => self.items.push(path),
            _ => {}
        }
    }

    /// Records paths in a macro, which contains only tokens.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut path = String::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Punct(sign) if sign.as_char() == ':' => colons += 1,
                TokenTree::Ident(name) if colons == 2 && !path.is_empty() => {
                    path = format!("{path}::{}", plain(&name));
                    colons = 0;
                }
                other => {
                    self.item(std::mem::take(&mut path));
                    colons = 0;
                    match other {
                        TokenTree::Ident(name) => path = plain(&name),
                        TokenTree::Group(group) => self.tokens(group.stream()),
                        TokenTree::Punct(_) | TokenTree::Literal(_) => {}
                    }
                }
            }
        }
        self.item(path);
    }
}

impl<'ast> Visit<'ast> for Found<'_> {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.tree("", &item.tree);
    }

    fn visit_item_extern_crate(&mut self, item: &'ast syn::ItemExternCrate) {
        self.item(plain(&item.ident));
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<String> = path.segments.iter().map(|segment| plain(&segment.ident)).collect();
        if names.len() > 1 {
            self.item(names.join("::"));
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.visit_path(&call.path);
        self.tokens(call.tokens.clone());
    }
}

fn plain(name: &syn::Ident) -> String {
    name.to_string().trim_start_matches("r#").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_name_an_item_is_found() {
        for (text, expected) in [
            ("use std::fs;", &["std::fs"][..]),
            ("use ::std::fs::File;", &["std::fs::File"]),
            ("use std :: { fmt , fs } ;", &["std::fmt", "std::fs"]),
            (
                "use std::{collections::{BTreeMap, self}, io::{self, Read as _}, time};",
                &[
                    "std::collections::BTreeMap",
                    "std::collections::self",
                    "std::io::self",
                    "std::io::Read",
                    "std::time",
                ],
            ),
            ("use std::\n  // why\n  net;", &["std::net"]),
            ("fn f() { let x = std::env::var(\"A\"); }", &["std::env::var"]),
            ("fn f(x: core::time::Duration) {}", &["core::time::Duration"]),
            ("use std as s; fn f() { s::fs::read(x) }", &["std::self"]),
            ("use std::{self as s};", &["std::self"]),
            ("use {std::process, alloc::vec};", &["std::process", "alloc::vec"]),
            ("extern crate std;", &["std::self"]),
            ("use std::*;", &["std::*"]),
            ("use r#std::r#fs;", &["std::fs"]),
            ("fn f() { let c = '\"'; use std::fs; }", &["std::fs"]),
            ("fn f() { println!(\"{}\", std::fs::read(x)) }", &["std::fs::read"]),
            ("fn f() { let s = r#\"a\"b\"#; std::thread::spawn(f) }", &["std::thread::spawn"]),
        ] {
            assert_eq!(of_std(text).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn other_crates_are_looked_for_as_well() {
        let text = "use nix::{sched::unshare, unistd}; fn f() { rustix::mount::mount(); std::fs::read(x); }";
        let found = of_crates(text, &["nix", "rustix"]).unwrap();
        assert_eq!(found, ["nix::sched::unshare", "nix::unistd", "rustix::mount::mount"]);
    }

    #[test]
    fn what_is_no_item_is_not_found() {
        for text in [
            "// use std::fs;",
            "/* std::fs */",
            "const A: &str = \"std::fs\";",
            "const A: &str = r\"std::fs\";",
            "use crate::std::fs;",
            "use my_std::fs;",
            "fn f() { x.std }",
        ] {
            assert_eq!(of_std(text).unwrap(), [] as [&str; 0], "{text}");
        }
    }
}
