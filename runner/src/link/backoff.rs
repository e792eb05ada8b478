//! Delays between connection attempts: exponential up to a bound, with random jitter, so that the runners of one lost
//! server do not reconnect simultaneously.

use std::time::Duration;

use crate::config::ReconnectConfig;

#[derive(Debug)]
pub(super) struct Backoff {
    config: ReconnectConfig,
    next: Duration,
}

impl Backoff {
    pub(super) fn new(config: ReconnectConfig) -> Self {
        Self { config, next: config.first }
    }

    pub(super) fn reset(&mut self) {
        self.next = self.config.first;
    }

    pub(super) fn next(&mut self) -> Duration {
        let wait = self.next;
        self.next = wait.saturating_mul(2).min(self.config.max);
        jittered(wait, random())
    }

    pub(super) fn refused(&mut self) -> Duration {
        self.reset();
        jittered(self.config.refused, random())
    }
}

/// Returns a delay between half of `wait` and `wait`.
fn jittered(wait: Duration, random: u8) -> Duration {
    wait.mul_f64(0.5 + f64::from(random) / 510.0)
}

fn random() -> u8 {
    let mut byte = [0];
    // Without random bytes the delay is at its minimum, which is acceptable.
    let _ = getrandom::fill(&mut byte);
    let [byte] = byte;
    byte
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_to_the_bound_and_begin_again() {
        let config = ReconnectConfig {
            first: Duration::from_millis(100),
            max: Duration::from_secs(1),
            refused: Duration::from_secs(30),
            ..ReconnectConfig::default()
        };
        let mut backoff = Backoff::new(config);
        for whole in [100, 200, 400, 800, 1000, 1000] {
            let wait = backoff.next();
            assert!(wait <= Duration::from_millis(whole) && wait >= Duration::from_millis(whole / 2));
        }
        assert!(backoff.refused() >= Duration::from_secs(15));
        assert!(backoff.next() <= config.first);
        assert_eq!(jittered(config.max, 255), config.max);
    }
}
