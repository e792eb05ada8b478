//! The number of methods of each type and trait of a crate.

use std::{collections::BTreeMap, path::PathBuf};

use syn::{ImplItem, Item, TraitItem};

use super::{
    Tree,
    resolve::{self, Target},
    tree,
};

/// A type or a trait, and the number of its functions.
#[derive(Debug, PartialEq, Eq)]
pub struct Size {
    /// The file that defines it.
    pub file: PathBuf,
    /// Its name.
    pub name: String,
    /// The number of functions, with and without `self`.
    pub methods: usize,
}

/// Returns each type of a crate with the number of functions in all its inherent `impl` blocks.
#[must_use]
pub fn of_types(tree: &Tree) -> Vec<Size> {
    let mut sizes: BTreeMap<(usize, String), usize> = BTreeMap::new();
    for (number, module) in tree.modules.iter().enumerate() {
        for item in &module.items {
            let Item::Impl(block) = item else { continue };
            let syn::Type::Path(of) = block.self_ty.as_ref() else { continue };
            if block.trait_.is_some() {
                continue;
            }
            let path: Vec<String> =
                of.path.segments.iter().map(|segment| tree::plain(&segment.ident)).collect();
            let found = resolve::path(tree, number, &[], &path).into_iter().find_map(|target| match target {
                Target::Item(home, name) => Some((home, name)),
                Target::Module(_) => None,
            });
            let methods = block.items.iter().filter(|item| is_method(item)).count();
            *sizes.entry(found.unwrap_or((number, path.join("::")))).or_default() += methods;
        }
    }
    sizes.into_iter().map(|((home, name), methods)| size(tree, home, name, methods)).collect()
}

/// Returns each trait of a crate with the number of its functions.
#[must_use]
pub fn of_traits(tree: &Tree) -> Vec<Size> {
    let mut sizes = Vec::new();
    for (number, module) in tree.modules.iter().enumerate() {
        for item in &module.items {
            let Item::Trait(item) = item else { continue };
            let methods = item.items.iter().filter(|item| matches!(item, TraitItem::Fn(_))).count();
            sizes.push(size(tree, number, tree::plain(&item.ident), methods));
        }
    }
    sizes
}

fn is_method(item: &ImplItem) -> bool {
    matches!(item, ImplItem::Fn(item) if !tree::is_for_tests(&item.attrs))
}

fn size(tree: &Tree, module: usize, name: String, methods: usize) -> Size {
    Size { file: tree.files[tree.modules[module].file].clone(), name, methods }
}
