//! The definitions that a path leads to, through modules, imports and re-exports.

use std::collections::BTreeSet;

use super::tree::{Meaning, Tree};

/// The target of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// The module with this number.
    Module(usize),
    /// An item with this name, which the module with this number defines.
    Item(usize, String),
}

/// Imports of a block: names and globs, as in a module.
#[derive(Default)]
pub(super) struct Scope {
    /// The names, with their paths.
    pub names: Vec<(String, Vec<String>)>,
    /// The paths of glob imports.
    pub globs: Vec<Vec<String>>,
}

/// Returns the target of `path` in a module, inside these blocks. The result is empty if the path leads to another
/// crate. A name can have several targets, because modules, values and macros have separate names.
pub(super) fn path(tree: &Tree, module: usize, scopes: &[Scope], path: &[String]) -> Vec<Target> {
    let mut resolver = Resolver { tree, followed: BTreeSet::new() };
    for scope in scopes.iter().rev() {
        let Some(first) = path.first() else { break };
        for (_, import) in scope.names.iter().filter(|(name, import)| name == first && import != path) {
            let found = resolver.path(module, &[import.as_slice(), &path[1..]].concat());
            if !found.is_empty() {
                return found;
            }
        }
    }
    let found = resolver.path(module, path);
    if !found.is_empty() {
        return found;
    }
    let globs = scopes.iter().flat_map(|scope| &scope.globs);
    globs.flat_map(|glob| resolver.path(module, &[glob.as_slice(), path].concat())).collect()
}

/// Returns the macro that `name!` calls in a module: its own, or one that a module above has defined.
pub(super) fn called(tree: &Tree, module: usize, name: &str) -> Option<Target> {
    let key = format!("{name}!");
    let mut at = Some(module);
    while let Some(module) = at {
        if let Some(Meaning::Item(home)) = tree.modules[module].names.get(&key).and_then(|all| all.first()) {
            return Some(Target::Item(*home, name.to_owned()));
        }
        at = tree.modules[module].parent;
    }
    None
}

struct Resolver<'a> {
    tree: &'a Tree,
    /// The imports that are being followed. Following an import twice would not end.
    followed: BTreeSet<(usize, Vec<String>)>,
}

impl Resolver<'_> {
    fn path(&mut self, module: usize, path: &[String]) -> Vec<Target> {
        let Some((first, mut rest)) = path.split_first() else { return Vec::new() };
        let mut targets = match first.as_str() {
            "crate" => vec![Target::Module(0)],
            "self" => vec![Target::Module(module)],
            "super" => self.parent(module),
            name => self.lookup(module, name),
        };
        while let Some((name, after)) = rest.split_first() {
            targets = self.step(&targets, name);
            rest = after;
        }
        targets
    }

    fn parent(&self, module: usize) -> Vec<Target> {
        self.tree.modules[module].parent.map(Target::Module).into_iter().collect()
    }

    /// Takes one more name of a path. The target of an item is the item itself: the name is one of its variants or
    /// functions.
    fn step(&mut self, targets: &[Target], name: &str) -> Vec<Target> {
        let mut found = Vec::new();
        let mut items = Vec::new();
        for target in targets {
            match target {
                Target::Module(module) if name == "super" => found.extend(self.parent(*module)),
                Target::Module(module) => found.extend(self.member(*module, name)),
                Target::Item(..) => items.push(target.clone()),
            }
        }
        if found.is_empty() { items } else { found }
    }

    /// Returns the target of a name that must be in this module. If it is not found there, a macro defines it.
    fn member(&mut self, module: usize, name: &str) -> Vec<Target> {
        let found = self.lookup(module, name);
        let at = &self.tree.modules[module];
        if found.is_empty() && !at.names.contains_key(name) && !at.includes {
            return vec![Target::Item(module, name.to_owned())];
        }
        found
    }

    fn lookup(&mut self, module: usize, name: &str) -> Vec<Target> {
        let at = &self.tree.modules[module];
        let mut found = Vec::new();
        let own = [name.to_owned(), format!("{name}!")];
        for meaning in own.iter().filter_map(|key| at.names.get(key)).flatten() {
            match meaning {
                Meaning::Module(module) => found.push(Target::Module(*module)),
                Meaning::Item(home) => found.push(Target::Item(*home, name.to_owned())),
                Meaning::Import(path) => found.extend(self.follow(module, path, None)),
            }
        }
        if found.is_empty() && !at.names.contains_key(name) {
            for glob in &at.globs {
                found.extend(self.follow(module, glob, Some(name)));
            }
            if found.is_empty() && at.generated.contains(name) {
                found.push(Target::Item(module, name.to_owned()));
            }
        }
        found
    }

    /// Follows an import, and looks for `name` there if it is a glob.
    fn follow(&mut self, module: usize, path: &[String], name: Option<&str>) -> Vec<Target> {
        let mut key = path.to_vec();
        key.extend(name.map(|name| format!("*{name}")));
        if !self.followed.insert((module, key.clone())) {
            return Vec::new();
        }
        let targets = self.path(module, path);
        let found = match name {
            None => targets,
            Some(name) => targets
                .iter()
                .filter_map(|target| if let Target::Module(module) = target { Some(*module) } else { None })
                .flat_map(|module| self.lookup(module, name))
                .collect(),
        };
        self.followed.remove(&(module, key));
        found
    }
}
