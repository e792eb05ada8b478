//! The cycles of a directed graph.

use std::collections::{BTreeMap, BTreeSet};

/// Returns the sets of two or more nodes that all reach one another (the strongly connected components), by Tarjan's
/// algorithm.
pub(super) fn of<N: Ord + Copy>(next: &BTreeMap<N, BTreeSet<N>>) -> Vec<BTreeSet<N>> {
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
