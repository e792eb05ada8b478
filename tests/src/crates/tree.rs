//! The modules of a crate: their files, definitions and imports. Reads only the given text.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Component, Path, PathBuf},
};

use proc_macro2::{TokenStream, TokenTree};
use syn::{Item, punctuated::Punctuated};

/// A crate without the code that is compiled for tests only.
#[derive(Default)]
pub struct Tree {
    /// The files, by number.
    pub files: Vec<PathBuf>,
    /// The modules, by number. The first is the root.
    pub modules: Vec<Module>,
}

/// A module, in a file of its own or inline.
pub struct Module {
    /// The number of its file.
    pub file: usize,
    /// The number of the module that declares it.
    pub parent: Option<usize>,
    /// The target of each name that is defined or imported here. The name of a macro ends with `!`.
    pub names: BTreeMap<String, Vec<Meaning>>,
    /// The paths of glob imports.
    pub globs: Vec<Vec<String>>,
    /// The names in calls of macros between the items: a macro may define them.
    pub generated: BTreeSet<String>,
    /// Whether the module includes a generated file, whose items are not seen here.
    pub includes: bool,
    /// The items, without modules.
    pub items: Vec<Item>,
}

/// The target of a name in a module.
#[derive(Clone, Debug)]
pub enum Meaning {
    /// The module with this number.
    Module(usize),
    /// An item that the module with this number defines.
    Item(usize),
    /// The target of this path.
    Import(Vec<String>),
}

/// A place for modules: the file that declares them, and the directory that their own files are in.
#[derive(Clone, Copy)]
struct Place<'a> {
    module: usize,
    directory: &'a Path,
}

impl Tree {
    /// Reads a crate from its root file on. `read` returns the text of a file, or `None` if there is none.
    ///
    /// # Errors
    /// If a file is missing or is not Rust.
    pub fn read(root: &Path, read: &dyn Fn(&Path) -> Option<String>) -> Result<Self, String> {
        let mut tree = Self::default();
        let directory = root.parent().unwrap_or(Path::new(""));
        tree.file(root, None, directory, read)?;
        Ok(tree)
    }

    fn file(
        &mut self,
        path: &Path,
        parent: Option<usize>,
        directory: &Path,
        read: &dyn Fn(&Path) -> Option<String>,
    ) -> Result<usize, String> {
        let text = read(path).ok_or_else(|| format!("{}: there is no such file", path.display()))?;
        let parsed = syn::parse_file(&text).map_err(|error| format!("{}: {error}", path.display()))?;
        let file = self.files.iter().position(|known| known == path).unwrap_or_else(|| {
            self.files.push(path.to_owned());
            self.files.len() - 1
        });
        let module = self.module(file, parent);
        self.items(Place { module, directory }, parsed.items, read)?;
        Ok(module)
    }

    fn module(&mut self, file: usize, parent: Option<usize>) -> usize {
        self.modules.push(Module {
            file,
            parent,
            names: BTreeMap::new(),
            globs: Vec::new(),
            generated: BTreeSet::new(),
            includes: false,
            items: Vec::new(),
        });
        self.modules.len() - 1
    }

    fn items(
        &mut self,
        place: Place<'_>,
        items: Vec<Item>,
        read: &dyn Fn(&Path) -> Option<String>,
    ) -> Result<(), String> {
        for item in items.into_iter().filter(|item| !is_for_tests(attributes(item))) {
            if let Item::Mod(declared) = item {
                let name = plain(&declared.ident);
                let child = self.child(place, declared, read)?;
                self.define(place.module, name, Meaning::Module(child));
            } else {
                self.item(place.module, item);
            }
        }
        Ok(())
    }

    fn child(
        &mut self,
        place: Place<'_>,
        declared: syn::ItemMod,
        read: &dyn Fn(&Path) -> Option<String>,
    ) -> Result<usize, String> {
        let directory = place.directory.join(plain(&declared.ident));
        let file = self.modules[place.module].file;
        if let Some((_, items)) = declared.content {
            let module = self.module(file, Some(place.module));
            self.items(Place { module, directory: &directory }, items, read)?;
            return Ok(module);
        }
        if let Some(path) = path_attribute(&declared.attrs) {
            let base = self.files[file].parent().unwrap_or(Path::new("")).to_owned();
            let path = normal(&base.join(path));
            let directory = path.parent().unwrap_or(Path::new("")).to_owned();
            return self.file(&path, Some(place.module), &directory, read);
        }
        let beside = directory.with_extension("rs");
        let path = if read(&beside).is_some() { beside } else { directory.join("mod.rs") };
        self.file(&path, Some(place.module), &directory, read)
    }

    fn item(&mut self, module: usize, item: Item) {
        match &item {
            Item::Use(import) => {
                for (name, path) in imports(import) {
                    match name {
                        Some(name) => self.define(module, name, Meaning::Import(path)),
                        None => self.modules[module].globs.push(path),
                    }
                }
            }
            Item::Macro(call) => self.macro_item(module, call),
            other => {
                if let Some(name) = defined(other) {
                    self.define(module, name, Meaning::Item(module));
                }
            }
        }
        self.modules[module].items.push(item);
    }

    fn macro_item(&mut self, module: usize, call: &syn::ItemMacro) {
        let called = call.mac.path.segments.last().map(|last| plain(&last.ident)).unwrap_or_default();
        if let Some(name) = &call.ident {
            let name = format!("{}!", plain(name));
            if call.attrs.iter().any(|attribute| attribute.path().is_ident("macro_export")) {
                self.define(0, name.clone(), Meaning::Item(module));
            }
            self.define(module, name, Meaning::Item(module));
        } else if called.starts_with("include") {
            self.modules[module].includes = true;
        } else {
            identifiers(call.mac.tokens.clone(), &mut self.modules[module].generated);
        }
    }

    fn define(&mut self, module: usize, name: String, meaning: Meaning) {
        self.modules[module].names.entry(name).or_default().push(meaning);
    }
}

/// Returns the names that a `use` brings, with their paths; `None` for a glob.
pub(super) fn imports(item: &syn::ItemUse) -> Vec<(Option<String>, Vec<String>)> {
    let mut found = Vec::new();
    let start = if item.leading_colon.is_some() { vec![String::new()] } else { Vec::new() };
    walk(&start, &item.tree, &mut found);
    found
}

fn walk(path: &[String], tree: &syn::UseTree, found: &mut Vec<(Option<String>, Vec<String>)>) {
    let below = |name: &syn::Ident| match plain(name).as_str() {
        "self" if !path.is_empty() => path.to_vec(),
        name => [path, &[name.to_owned()]].concat(),
    };
    match tree {
        syn::UseTree::Path(part) => walk(&[path, &[plain(&part.ident)]].concat(), &part.tree, found),
        syn::UseTree::Name(name) => {
            let path = below(&name.ident);
            found.push((path.last().cloned(), path));
        }
        syn::UseTree::Rename(name) => found.push((Some(plain(&name.rename)), below(&name.ident))),
        syn::UseTree::Glob(_) => found.push((None, path.to_vec())),
        syn::UseTree::Group(group) => group.items.iter().for_each(|tree| walk(path, tree, found)),
    }
}

/// Returns a name as it is without `r#`.
pub(super) fn plain(name: &proc_macro2::Ident) -> String {
    name.to_string().trim_start_matches("r#").to_owned()
}

/// Whether the attributes leave the code to tests: `cfg(test)`, also with more conditions.
pub(super) fn is_for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident("cfg"))
        .any(|attribute| attribute.parse_args::<syn::Meta>().is_ok_and(|condition| needs_test(&condition)))
}

fn needs_test(condition: &syn::Meta) -> bool {
    let nested = |list: &syn::MetaList| -> Vec<syn::Meta> {
        list.parse_args_with(Punctuated::<syn::Meta, syn::Token![,]>::parse_terminated)
            .map(|parts| parts.into_iter().collect())
            .unwrap_or_default()
    };
    match condition {
        syn::Meta::Path(path) => path.is_ident("test"),
        syn::Meta::List(list) if list.path.is_ident("all") => nested(list).iter().any(needs_test),
        syn::Meta::List(list) if list.path.is_ident("any") => nested(list).iter().all(needs_test),
        _ => false,
    }
}

/// Returns the attributes of an item.
pub(super) fn attributes(item: &Item) -> &[syn::Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::ExternCrate(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::ForeignMod(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::TraitAlias(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

fn defined(item: &Item) -> Option<String> {
    let name = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::TraitAlias(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(plain(name))
}

fn path_attribute(attributes: &[syn::Attribute]) -> Option<String> {
    attributes.iter().filter(|attribute| attribute.path().is_ident("path")).find_map(|attribute| {
        let syn::Meta::NameValue(pair) = &attribute.meta else { return None };
        let syn::Expr::Lit(literal) = &pair.value else { return None };
        let syn::Lit::Str(text) = &literal.lit else { return None };
        Some(text.value())
    })
}

fn normal(path: &Path) -> PathBuf {
    let mut parts = PathBuf::new();
    for part in path.components() {
        if part == Component::ParentDir {
            parts.pop();
        } else {
            parts.push(part);
        }
    }
    parts
}

fn identifiers(tokens: TokenStream, found: &mut BTreeSet<String>) {
    for token in tokens {
        match token {
            TokenTree::Ident(name) => drop(found.insert(plain(&name))),
            TokenTree::Group(group) => identifiers(group.stream(), found),
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
}
