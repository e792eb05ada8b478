//! Reproducible random choices: one seed gives one run.

/// A seeded generator of random numbers.
#[derive(Debug)]
pub struct Random(fastrand::Rng);

impl Random {
    /// Creates a generator. The same seed gives the same numbers.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(fastrand::Rng::with_seed(seed))
    }

    /// Returns a number from 0 to `end`, exclusive; 0 if `end` is 0.
    pub fn up_to(&mut self, end: usize) -> usize {
        if end == 0 { 0 } else { self.0.usize(0..end) }
    }

    /// Returns true in one of `times` calls.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.up_to(times) == 0
    }

    /// Returns a random element, or an empty string if there is none.
    pub fn pick<'a, T: AsRef<str>>(&mut self, all: &'a [T]) -> &'a str {
        all.get(self.up_to(all.len())).map(AsRef::as_ref).unwrap_or_default()
    }

    /// Shuffles the elements.
    pub fn shuffle<T>(&mut self, all: &mut [T]) {
        self.0.shuffle(all);
    }
}
