//! Chance that can be repeated: one seed, one run. It decides nothing but which.

/// A generator of numbers from a seed.
#[derive(Debug)]
pub struct Random(fastrand::Rng);

impl Random {
    /// The same seed gives the same numbers.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(fastrand::Rng::with_seed(seed))
    }

    /// From 0 up to, but not including, `end`; 0 where `end` is 0.
    pub fn up_to(&mut self, end: usize) -> usize {
        if end == 0 { 0 } else { self.0.usize(0..end) }
    }

    /// True once in `times`.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.up_to(times) == 0
    }

    /// One of them; nothing where there is none.
    pub fn pick<'a, T: AsRef<str>>(&mut self, all: &'a [T]) -> &'a str {
        all.get(self.up_to(all.len())).map(AsRef::as_ref).unwrap_or_default()
    }

    /// Puts them in another order.
    pub fn shuffle<T>(&mut self, all: &mut [T]) {
        self.0.shuffle(all);
    }
}
