//! The injections to run: a seed, and all, some or one of a row's list.

use std::sync::{Arc, Mutex, PoisonError};

use fastrand::Rng;

/// The part of a row's list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// One share of the list: its index, and the number of shares.
    Share(usize, usize),
    /// A number of injections that the seed selects.
    Some(usize),
    /// A number of injections, one from each section of the list, in which similar injections are
    /// adjacent.
    Spread(usize),
    /// The injection with this index.
    One(usize),
}

/// A plan, and its results so far.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The seed of all random choices.
    pub seed: u64,
    /// The part of a row's list.
    pub extent: Extent,
    tally: Arc<Mutex<Tally>>,
}

/// The injections so far.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    /// The number of injections.
    pub injections: usize,
    /// The last injection: row, seed, index, and description.
    pub last: String,
}

impl Plan {
    /// Creates a plan without results.
    #[must_use]
    pub fn new(seed: u64, extent: Extent) -> Self {
        Self { seed, extent, tally: Arc::default() }
    }

    /// Returns the selected injections of a row's list, each with its index.
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

    /// Returns the random generator of one injection.
    #[must_use]
    pub fn rng(&self, index: usize) -> Rng {
        Rng::with_seed(self.seed ^ (index as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// Records that an injection starts. A failure belongs to the last recorded one.
    pub fn note(&self, row: &str, index: usize, what: &str) {
        let mut tally = self.tally.lock().unwrap_or_else(PoisonError::into_inner);
        tally.injections += 1;
        tally.last = format!("SEED={} ROW={row} INDEX={index} ({what})", self.seed);
        println!("injection {}: make chaos {}", tally.injections, tally.last);
    }

    /// Returns the injections so far.
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
            assert_eq!(
                chosen,
                indices(seed, Extent::Spread(4), 10),
                "the same seed produces the same choices"
            );
            seen.extend(chosen);
        }
        assert_eq!(seen.len(), 10);
        assert_eq!(indices(1, Extent::Spread(20), 3), [0, 1, 2], "not more injections than exist");
    }
}
