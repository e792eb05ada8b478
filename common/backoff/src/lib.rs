//! Delays between attempts: exponential up to a bound, with random jitter, so that many clients of one lost server do
//! not retry simultaneously.
//!
//! The crate only calculates. The caller sleeps, and decides when to stop trying.

#![forbid(unsafe_code)]

use std::time::Duration;

/// The delays of one sequence of attempts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backoff {
    first: Duration,
    max: Duration,
    next: Duration,
}

impl Backoff {
    /// Starts a sequence at `first`. Each delay is twice the previous one, and at most `max`.
    #[must_use]
    pub fn new(first: Duration, max: Duration) -> Self {
        Self { first, max, next: first }
    }

    /// Returns the first delay.
    #[must_use]
    pub fn first(&self) -> Duration {
        self.first
    }

    /// Returns the longest delay.
    #[must_use]
    pub fn max(&self) -> Duration {
        self.max
    }

    /// Records a success: the next delay is the first one again.
    pub fn reset(&mut self) {
        self.next = self.first;
    }

    /// Returns the next delay without jitter.
    pub fn step(&mut self) -> Duration {
        let delay = self.next;
        self.next = delay.saturating_mul(2).min(self.max);
        delay
    }

    /// Returns the next delay with jitter: between half of it and all of it.
    pub fn jittered_step(&mut self) -> Duration {
        jittered(self.step())
    }
}

/// Returns a random delay between half of `delay` and all of it. Without random bytes, the result is half of `delay`.
#[must_use]
pub fn jittered(delay: Duration) -> Duration {
    let mut byte = [0];
    let _ = getrandom::fill(&mut byte);
    let [byte] = byte;
    delay.mul_f64(share(byte))
}

fn share(random: u8) -> f64 {
    0.5 + f64::from(random) / 510.0
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Duration = Duration::from_millis(100);
    const MAX: Duration = Duration::from_secs(1);

    #[test]
    fn delays_grow_to_the_bound_and_start_again() {
        let mut backoff = Backoff::new(FIRST, MAX);
        for whole in [100, 200, 400, 800, 1000, 1000] {
            assert_eq!(backoff.clone().step(), Duration::from_millis(whole));
            let delay = backoff.jittered_step();
            assert!(delay <= Duration::from_millis(whole) && delay >= Duration::from_millis(whole / 2));
        }
        backoff.reset();
        assert_eq!(backoff.step(), FIRST);
    }

    #[test]
    fn jitter_takes_at_most_half() {
        assert_eq!(MAX.mul_f64(share(0)), MAX / 2);
        assert_eq!(MAX.mul_f64(share(255)), MAX);
    }
}
