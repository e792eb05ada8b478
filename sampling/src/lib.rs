//! How much of a repeated test is run, and from which seed.
//!
//! `make test` runs a sample of each test that repeats itself, from a fresh seed. `make test-long` sets
//! `AIRLOCK_TEST_LONG=1`, and the same tests run in their full extent. Such tests are in modules named `sample`. Tests that
//! are run by `make test-long` only are in modules named `long`; they do not ask here. `tests/map/long.md` lists both.
//!
//! A test prints its seed, and nextest shows what a failed test printed. `AIRLOCK_TEST_SEED` gives the seed back:
//!
//! ```text
//! AIRLOCK_TEST_SEED=1234 cargo nextest run -p airlock-fuzz bash::sample
//! ```
//!
//! All that a test chooses at random must follow from the seed. What threads, processes and the network interleave does
//! not follow from it: repeat a run that depends on them.

#![forbid(unsafe_code)]

use std::{
    env,
    ffi::OsStr,
    hash::{BuildHasher as _, RandomState},
};

/// `1`: tests run in their full extent.
pub const LONG: &str = "AIRLOCK_TEST_LONG";
/// The seed of a run, to make it again.
pub const SEED: &str = "AIRLOCK_TEST_SEED";

/// Whether tests run in their full extent.
#[must_use]
pub fn is_long() -> bool {
    is_set(env::var_os(LONG).as_deref())
}

/// The number of repetitions: `sample` in `make test`, `all` in `make test-long`.
#[must_use]
pub fn extent(sample: usize, all: usize) -> usize {
    if is_long() { all } else { sample }
}

/// The seed of a test: that of `AIRLOCK_TEST_SEED`, or a fresh one. It is printed.
///
/// # Panics
/// If `AIRLOCK_TEST_SEED` is not a number of 64 bits.
#[must_use]
pub fn seed() -> u64 {
    let seed = given(env::var_os(SEED).as_deref()).unwrap_or_else(fresh);
    eprintln!("seed: {SEED}={seed} makes this run again");
    seed
}

fn is_set(value: Option<&OsStr>) -> bool {
    value.is_some_and(|value| value == "1")
}

#[expect(clippy::panic, reason = "a seed that is not used would be taken for one that finds nothing")]
fn given(value: Option<&OsStr>) -> Option<u64> {
    let text = value?.to_string_lossy();
    Some(text.parse().unwrap_or_else(|_| panic!("{SEED} is not a number of 64 bits: `{text}`")))
}

/// Each state has keys of its own, which the system's random numbers begin.
fn fresh() -> u64 {
    RandomState::new().hash_one(std::process::id())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_asks_for_the_full_extent() {
        assert!(is_set(Some(OsStr::new("1"))));
        for other in [None, Some(""), Some("0"), Some("yes")] {
            assert!(!is_set(other.map(OsStr::new)), "{other:?}");
        }
    }

    #[test]
    fn a_seed_that_is_given_is_taken() {
        assert_eq!(given(None), None);
        assert_eq!(given(Some(OsStr::new("18446744073709551615"))), Some(u64::MAX));
    }

    #[test]
    #[should_panic(expected = "AIRLOCK_TEST_SEED is not a number of 64 bits: `0x1`")]
    fn a_seed_that_is_no_number_is_refused() {
        assert_eq!(given(Some(OsStr::new("0x1"))), None);
    }

    #[test]
    fn fresh_seeds_differ() {
        assert_ne!(fresh(), fresh());
    }
}
