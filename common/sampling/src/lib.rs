//! The number of repetitions of repeated tests, and their seed.
//!
//! `make test` runs a sample of each repeated test, with a new seed. `make test-long` sets `AIRLOCK_TEST_LONG=1` and
//! runs the same tests in full. These tests are in modules named `sample`. Tests that only `make test-long` runs are in
//! modules named `long`; they do not use this crate. `tests/map/long.md` lists both.
//!
//! A test prints its seed, and nextest shows the output of a failed test. `AIRLOCK_TEST_SEED` sets the seed:
//!
//! ```text
//! AIRLOCK_TEST_SEED=1234 cargo nextest run -p airlock-fuzz bash::sample
//! ```
//!
//! All random choices of a test must follow from the seed. The timing of threads, processes and the network does not
//! follow from it, so a run that depends on timing may have to be repeated.

#![forbid(unsafe_code)]

use std::{
    env,
    ffi::OsStr,
    hash::{BuildHasher as _, RandomState},
};

/// The variable that makes tests run in full, with the value `1`.
pub const LONG: &str = "AIRLOCK_TEST_LONG";
/// The variable with the seed of a run that is to be repeated.
pub const SEED: &str = "AIRLOCK_TEST_SEED";

/// Reports whether tests run in full.
#[must_use]
pub fn is_long() -> bool {
    is_set(env::var_os(LONG).as_deref())
}

/// Returns the number of repetitions: `sample` in `make test`, `all` in `make test-long`.
#[must_use]
pub fn extent(sample: usize, all: usize) -> usize {
    if is_long() { all } else { sample }
}

/// Returns and prints the seed of a test: that of `AIRLOCK_TEST_SEED`, or a new one.
///
/// # Panics
/// If `AIRLOCK_TEST_SEED` is not a number of 64 bits.
#[must_use]
pub fn seed() -> u64 {
    let seed = given(env::var_os(SEED).as_deref()).unwrap_or_else(fresh);
    eprintln!("seed: {SEED}={seed} repeats this run");
    seed
}

fn is_set(value: Option<&OsStr>) -> bool {
    value.is_some_and(|value| value == "1")
}

#[expect(clippy::panic, reason = "an ignored seed would look like a seed without findings")]
fn given(value: Option<&OsStr>) -> Option<u64> {
    let text = value?.to_string_lossy();
    Some(text.parse().unwrap_or_else(|_| panic!("{SEED} is not a number of 64 bits: `{text}`")))
}

/// Returns a random number: each `RandomState` has keys that derive from the system's random numbers.
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
