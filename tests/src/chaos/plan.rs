//! What is to be injected: a seed, and of a row's list all, some, or one.

use std::sync::{Arc, Mutex, PoisonError};

use fastrand::Rng;

/// How much of a row's list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// Every injection, or of several shares of them one: which, of how many.
    Share(usize, usize),
    /// So many that the seed chooses.
    Some(usize),
    /// Likewise, one of each stretch of the list: it is ordered, and its neighbours are alike.
    Spread(usize),
    /// The one with this index.
    One(usize),
}

/// A plan, and what came of it so far.
#[derive(Debug, Clone)]
pub struct Plan {
    /// All that is random follows from it.
    pub seed: u64,
    /// How much of a row's list.
    pub extent: Extent,
    tally: Arc<Mutex<Tally>>,
}

/// What was done.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    /// Injections that were made.
    pub injections: usize,
    /// The last of them: row, seed, index, and what it was.
    pub last: String,
}

impl Plan {
    /// A plan of which nothing is done yet.
    #[must_use]
    pub fn new(seed: u64, extent: Extent) -> Self {
        Self { seed, extent, tally: Arc::default() }
    }

    /// The injections of a row's list that are to be made, each with its index.
    #[must_use]
    pub fn choose<T: Clone>(&self, list: &[T]) -> Vec<(usize, T)> {
        let mut all: Vec<(usize, T)> = list.iter().cloned().enumerate().collect();
        match self.extent {
            Extent::Share(which, of) => all.retain(|(index, _)| index % of == which),
            Extent::Some(count) => {
                self.rng(usize::MAX).shuffle(&mut all);
                all.truncate(count);
            }
            Extent::Spread(count) => {
                let (mut rng, length, count) = (self.rng(usize::MAX), list.len(), count.min(list.len()));
                let stretch = |number: usize| number * length / count..(number + 1) * length / count;
                let chosen: Vec<usize> = (0..count).map(|number| rng.usize(stretch(number))).collect();
                all.retain(|(index, _)| chosen.contains(index));
            }
            Extent::One(one) => all.retain(|(index, _)| *index == one),
        }
        assert!(!all.is_empty(), "the row has {} injections, and none of them was chosen", list.len());
        all
    }

    /// What is random about one injection.
    #[must_use]
    pub fn rng(&self, index: usize) -> Rng {
        Rng::with_seed(self.seed ^ (index as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// Notes that an injection is made now. The last one noted is the one that a failure is about.
    pub fn note(&self, row: &str, index: usize, what: &str) {
        let mut tally = self.tally.lock().unwrap_or_else(PoisonError::into_inner);
        tally.injections += 1;
        tally.last = format!("SEED={} ROW={row} INDEX={index} ({what})", self.seed);
        println!("injection {}: make chaos {}", tally.injections, tally.last);
    }

    /// What was done so far.
    #[must_use]
    pub fn tally(&self) -> Tally {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn indices(seed: u64, extent: Extent, length: usize) -> Vec<usize> {
        let list: Vec<usize> = (0..length).collect();
        Plan::new(seed, extent).choose(&list).into_iter().map(|(index, _)| index).collect()
    }

    #[test]
    fn the_shares_of_a_list_are_all_of_it() {
        let mut all: Vec<usize> = (0..4).flat_map(|which| indices(1, Extent::Share(which, 4), 10)).collect();
        all.sort_unstable();
        assert_eq!(all, (0..10).collect::<Vec<_>>());
    }

    #[test]
    fn a_spread_has_one_of_each_stretch_and_each_comes_up() {
        let mut seen = std::collections::BTreeSet::new();
        for seed in 0..200 {
            let chosen = indices(seed, Extent::Spread(4), 10);
            assert_eq!(chosen.len(), 4);
            for (number, index) in chosen.iter().enumerate() {
                assert!((number * 10 / 4..(number + 1) * 10 / 4).contains(index), "{chosen:?}");
            }
            assert_eq!(chosen, indices(seed, Extent::Spread(4), 10), "the same seed chooses the same");
            seen.extend(chosen);
        }
        assert_eq!(seen.len(), 10);
        assert_eq!(indices(1, Extent::Spread(20), 3), [0, 1, 2], "not more than there are");
    }
}
