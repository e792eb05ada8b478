//! The names of other files' items in the code of a crate.

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};

use super::{
    resolve::{self, Scope, Target},
    tree::{self, Tree},
};

/// A name in one file for an item of another file.
pub(super) struct Name {
    /// The number of the file that has the name.
    pub from: usize,
    /// The number of the file that defines the item.
    pub to: usize,
    /// The item's own name.
    pub name: String,
}

/// Returns every name in the crate for an item of another file.
pub(super) fn all(tree: &Tree) -> Vec<Name> {
    let mut found = Vec::new();
    for (number, module) in tree.modules.iter().enumerate() {
        let mut names = Names { tree, module: number, scopes: Vec::new(), found: Vec::new() };
        module.items.iter().for_each(|item| names.visit_item(item));
        found.append(&mut names.found);
    }
    found
}

struct Names<'a> {
    tree: &'a Tree,
    module: usize,
    /// The imports of the blocks around the visited code, the innermost last.
    scopes: Vec<Scope>,
    found: Vec<Name>,
}

impl Names<'_> {
    fn path(&mut self, path: &[String]) {
        for target in resolve::path(self.tree, self.module, &self.scopes, path) {
            self.target(target);
        }
    }

    fn target(&mut self, target: Target) {
        let Target::Item(home, name) = target else { return };
        let (from, to) = (self.tree.modules[self.module].file, self.tree.modules[home].file);
        if from != to {
            self.found.push(Name { from, to, name });
        }
    }

    /// Records the paths in tokens, which a macro or an attribute has. `shortest` is the least number of segments.
    fn tokens(&mut self, tokens: TokenStream, shortest: usize) {
        let mut path: Vec<String> = Vec::new();
        let mut before = String::new();
        for token in tokens {
            match &token {
                TokenTree::Punct(sign) => {
                    before.push(sign.as_char());
                    continue;
                }
                TokenTree::Ident(name) if before == "::" && !path.is_empty() => path.push(tree::plain(name)),
                other => {
                    let whole = std::mem::take(&mut path);
                    self.token_path(&whole, shortest);
                    match other {
                        // A field or a method of a value.
                        TokenTree::Ident(_) if before.ends_with('.') && !before.ends_with("..") => {}
                        TokenTree::Ident(name) => path.push(tree::plain(name)),
                        TokenTree::Group(group) => self.tokens(group.stream(), shortest),
                        TokenTree::Literal(literal) => self.literal(&literal.to_string()),
                        TokenTree::Punct(_) => {}
                    }
                }
            }
            before.clear();
        }
        self.token_path(&path, shortest);
    }

    fn token_path(&mut self, path: &[String], shortest: usize) {
        if path.len() >= shortest {
            self.path(path);
        }
    }

    /// Records the path in a text such as that of `#[serde(with = "crate::time")]`.
    fn literal(&mut self, text: &str) {
        let text = text.trim_matches('"');
        if !text.contains("::") || text.contains(' ') {
            return;
        }
        if let Ok(path) = syn::parse_str::<syn::Path>(text) {
            self.path(&segments(&path));
        }
    }

    fn imports(&mut self, item: &syn::ItemUse) {
        for (_, path) in tree::imports(item) {
            self.path(&path);
        }
    }
}

impl<'ast> Visit<'ast> for Names<'_> {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        if tree::is_for_tests(tree::attributes(item)) {
            return;
        }
        match item {
            syn::Item::Use(item) => self.imports(item),
            item => visit::visit_item(self, item),
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if !tree::is_for_tests(&item.attrs) {
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_field(&mut self, field: &'ast syn::Field) {
        if !tree::is_for_tests(&field.attrs) {
            visit::visit_field(self, field);
        }
    }

    fn visit_local(&mut self, local: &'ast syn::Local) {
        if !tree::is_for_tests(&local.attrs) {
            visit::visit_local(self, local);
        }
    }

    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        if !tree::is_for_tests(&arm.attrs) {
            visit::visit_arm(self, arm);
        }
    }

    fn visit_block(&mut self, block: &'ast syn::Block) {
        let mut scope = Scope::default();
        for statement in &block.stmts {
            let syn::Stmt::Item(syn::Item::Use(item)) = statement else { continue };
            for (name, path) in tree::imports(item) {
                match name {
                    Some(name) => scope.names.push((name, path)),
                    None => scope.globs.push(path),
                }
            }
        }
        self.scopes.push(scope);
        visit::visit_block(self, block);
        self.scopes.pop();
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.path(&segments(path));
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        let path = segments(&call.path);
        if let [name] = path.as_slice()
            && let Some(target) = resolve::called(self.tree, self.module, name)
        {
            self.target(target);
        }
        self.path(&path);
        self.tokens(call.tokens.clone(), 1);
    }

    fn visit_attribute(&mut self, attribute: &'ast syn::Attribute) {
        if let syn::Meta::List(list) = &attribute.meta {
            self.path(&segments(&list.path));
            self.tokens(list.tokens.clone(), 2);
        }
    }
}

fn segments(path: &syn::Path) -> Vec<String> {
    let start = path.leading_colon.as_ref().map(|_| String::new());
    start.into_iter().chain(path.segments.iter().map(|segment| tree::plain(&segment.ident))).collect()
}
