//! The places that build a value of a struct: literals, and calls of its functions. Names that hide the struct count
//! too. Code that is compiled for tests only is left out.

use std::path::PathBuf;

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::visit::{self, Visit};

use super::Tree;

/// Returns the places of a crate that build the struct with this name: the file, and the form.
#[must_use]
pub fn of_struct(tree: &Tree, name: &str) -> Vec<(PathBuf, &'static str)> {
    let mut places = Vec::new();
    for module in &tree.modules {
        let mut found = Found { name, forms: Vec::new() };
        module.items.iter().for_each(|item| found.visit_item(item));
        let file = tree.files.get(module.file).cloned().unwrap_or_default();
        places.extend(found.forms.into_iter().map(|form| (file.clone(), form)));
    }
    places
}

struct Found<'a> {
    name: &'a str,
    forms: Vec<&'static str>,
}

impl Found<'_> {
    fn is_last(&self, path: &syn::Path) -> bool {
        path.segments.last().is_some_and(|segment| segment.ident == self.name)
    }

    /// Looks at the tokens of a macro.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut follows = false;
        for token in tokens {
            match &token {
                TokenTree::Group(group) => {
                    if follows && group.delimiter() == Delimiter::Brace {
                        self.forms.push("literal in a macro");
                    }
                    self.tokens(group.stream());
                }
                TokenTree::Punct(sign) if follows && sign.as_char() == ':' => {
                    self.forms.push("path in a macro");
                }
                TokenTree::Ident(_) | TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
            follows = matches!(&token, TokenTree::Ident(ident) if ident == self.name);
        }
    }
}

impl<'ast> Visit<'ast> for Found<'_> {
    fn visit_expr_struct(&mut self, literal: &'ast syn::ExprStruct) {
        if self.is_last(&literal.path) {
            self.forms.push("literal");
        }
        visit::visit_expr_struct(self, literal);
    }

    fn visit_expr_path(&mut self, path: &'ast syn::ExprPath) {
        let of_struct = |segment: &syn::PathSegment| segment.ident == self.name;
        let calls = path.path.segments.iter().rev().skip(1).any(of_struct);
        let of_trait = path.qself.as_ref().is_some_and(|of| match &*of.ty {
            syn::Type::Path(of) => self.is_last(&of.path),
            _ => false,
        });
        if calls || of_trait {
            self.forms.push("function");
        }
        visit::visit_expr_path(self, path);
    }

    fn visit_use_rename(&mut self, rename: &'ast syn::UseRename) {
        if rename.ident == self.name {
            self.forms.push("other name");
        }
    }

    fn visit_item_type(&mut self, alias: &'ast syn::ItemType) {
        if matches!(&*alias.ty, syn::Type::Path(of) if self.is_last(&of.path)) {
            self.forms.push("other name");
        }
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.tokens(call.tokens.clone());
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn forms(text: &str) -> Vec<&'static str> {
        let read = |path: &Path| (path == Path::new("lib.rs")).then(|| text.to_owned());
        let tree = Tree::read(Path::new("lib.rs"), &read).unwrap();
        of_struct(&tree, "Step").into_iter().map(|(_, form)| form).collect()
    }

    #[test]
    fn every_form_that_builds_is_found() {
        for (text, form) in [
            ("fn f() -> Step { Step { a: 1 } }", "literal"),
            ("fn f() -> store::Step { store::Step { a: 1, ..x } }", "literal"),
            ("fn f() { let step = || Step::default(); }", "function"),
            ("fn f() { x.map(Step::of) }", "function"),
            ("fn f() { <Step as Default>::default() }", "function"),
            ("fn f() { vec![Step { a: 1 }] }", "literal in a macro"),
            ("fn f() { call!(x, { Step::default() }) }", "path in a macro"),
            ("use store::Step as Other;", "other name"),
            ("type Other = store::Step;", "other name"),
        ] {
            assert!(forms(text).contains(&form), "{text}: {:?}", forms(text));
        }
    }

    #[test]
    fn what_only_names_or_reads_it_is_not_found() {
        for text in [
            "use store::{Step, Other}; fn f(step: &Step) -> Option<Step> { g(step) }",
            "fn f(step: &Step) { let Step { a, .. } = step; }",
            "#[cfg(test)] mod tests { fn f() -> Step { Step { a: 1 } } }",
            "fn f() { OtherStep { a: 1 }; Steps::default(); }",
        ] {
            assert_eq!(forms(text), [] as [&str; 0], "{text}");
        }
    }
}
