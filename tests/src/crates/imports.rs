//! The imports between the modules of a crate, as a graph of its files.
//!
//! A file imports another one if it names an item that the other one defines, in a `use` or by an inline path. A
//! re-export counts as the item that it leads to. A declaration `mod x;` and a call of an inherent method name nothing.
//! A name that a macro defines is taken for an item of the module that calls the macro.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    path::{Path, PathBuf},
};

use super::{Tree, names};

/// The files of a crate, and the names by which each imports from the others.
#[derive(Debug, Default)]
pub struct Graph {
    /// Every file of the crate.
    pub files: BTreeSet<PathBuf>,
    /// The imported names, by importing and defining file.
    pub imports: BTreeMap<(PathBuf, PathBuf), BTreeSet<String>>,
}

impl Graph {
    /// Returns the graph of a crate.
    #[must_use]
    pub fn new(tree: &Tree) -> Self {
        let mut imports: BTreeMap<_, BTreeSet<String>> = BTreeMap::new();
        for name in names::all(tree) {
            let files = (tree.files[name.from].clone(), tree.files[name.to].clone());
            imports.entry(files).or_default().insert(name.name);
        }
        Self { files: tree.files.iter().cloned().collect(), imports }
    }

    /// Returns the files that import one another, directly or through others. Each element is a largest such set.
    #[must_use]
    pub fn cycles(&self) -> Vec<Cycle> {
        let mut next: BTreeMap<&Path, BTreeSet<&Path>> =
            self.files.iter().map(|file| (file.as_path(), BTreeSet::new())).collect();
        for (from, to) in self.imports.keys() {
            next.entry(from).or_default().insert(to);
        }
        cycles_of(&next).into_iter().map(|files| self.cycle(&files)).collect()
    }

    fn cycle(&self, files: &BTreeSet<&Path>) -> Cycle {
        let within =
            |(from, to): &(PathBuf, PathBuf)| files.contains(from.as_path()) && files.contains(to.as_path());
        Cycle {
            files: files.iter().map(|file| (*file).to_owned()).collect(),
            imports: self
                .imports
                .iter()
                .filter(|(pair, _)| within(pair))
                .map(|(pair, names)| (pair.clone(), names.clone()))
                .collect(),
        }
    }
}

/// Files that import one another.
#[derive(Debug)]
pub struct Cycle {
    /// The files, in the order of their names.
    pub files: BTreeSet<PathBuf>,
    /// The imports among these files.
    pub imports: BTreeMap<(PathBuf, PathBuf), BTreeSet<String>>,
}

impl fmt::Display for Cycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let files: Vec<String> = self.files.iter().map(|file| file.display().to_string()).collect();
        write!(f, "{} files: {}", files.len(), files.join(", "))?;
        for ((from, to), names) in &self.imports {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            write!(f, "\n    {} -> {}: {}", from.display(), to.display(), names.join(", "))?;
        }
        Ok(())
    }
}

/// Returns the sets of two or more nodes that all reach one another (the strongly connected components), by Tarjan's
/// algorithm.
pub(super) fn cycles_of<N: Ord + Copy>(next: &BTreeMap<N, BTreeSet<N>>) -> Vec<BTreeSet<N>> {
    let mut search =
        Search { next, index: BTreeMap::new(), low: BTreeMap::new(), path: Vec::new(), found: Vec::new() };
    for node in next.keys() {
        if !search.index.contains_key(node) {
            search.visit(*node);
        }
    }
    search.found.sort();
    search.found
}

struct Search<'a, N> {
    next: &'a BTreeMap<N, BTreeSet<N>>,
    /// The order in which the nodes were reached.
    index: BTreeMap<N, usize>,
    /// The earliest node of the path that each node reaches.
    low: BTreeMap<N, usize>,
    path: Vec<N>,
    found: Vec<BTreeSet<N>>,
}

impl<N: Ord + Copy> Search<'_, N> {
    fn visit(&mut self, node: N) {
        let index = self.index.len();
        self.index.insert(node, index);
        self.path.push(node);
        let mut low = index;
        for to in self.next.get(&node).into_iter().flatten() {
            match self.index.get(to) {
                None => {
                    self.visit(*to);
                    low = low.min(self.low[to]);
                }
                Some(at) if self.path.contains(to) => low = low.min(*at),
                Some(_) => {}
            }
        }
        self.low.insert(node, low);
        if low == index {
            let start = self.path.iter().position(|other| *other == node).unwrap_or_default();
            let nodes: BTreeSet<N> = self.path.drain(start..).collect();
            if nodes.len() > 1 {
                self.found.push(nodes);
            }
        }
    }
}
