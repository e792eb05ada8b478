//! The number of failed authentications per peer, in a table of fixed size.

use std::{
    hash::{BuildHasher as _, RandomState},
    net::IpAddr,
    sync::{Mutex, PoisonError},
    time::Instant,
};

/// Entries in the table. Peers with the same entry share its limit. A random key prevents a peer from
/// choosing its entry.
const COUNTERS: usize = 4096;
/// The time, in seconds, in which a used allowance is restored.
const WINDOW_SECONDS: f64 = 60.0;
/// The maximum number of failures that are remembered, as a multiple of the allowance. It bounds the time for which a
/// peer is locked out after its last failure.
const MOST_WINDOWS: f64 = 2.0;

/// Counts failures per peer.
#[derive(Debug)]
pub struct Failures {
    per_minute: f64,
    key: RandomState,
    counters: Mutex<Vec<Counter>>,
}

#[derive(Debug, Clone)]
struct Counter {
    spent: f64,
    at: Instant,
}

impl Failures {
    /// Creates a counter that permits `per_minute` failures per peer.
    #[must_use]
    pub fn new(per_minute: u32) -> Self {
        let empty = Counter { spent: 0.0, at: Instant::now() };
        Self {
            per_minute: per_minute.into(),
            key: RandomState::new(),
            counters: Mutex::new(vec![empty; COUNTERS]),
        }
    }

    /// Records a failure.
    pub fn count(&self, peer: IpAddr) {
        self.at(peer, Instant::now(), |counter| counter.spent += 1.0);
    }

    /// Reports whether the peer has exceeded its allowance.
    #[must_use]
    pub fn is_over(&self, peer: IpAddr) -> bool {
        self.at(peer, Instant::now(), |counter| counter.spent >= self.per_minute).unwrap_or(true)
    }

    fn at<T>(&self, peer: IpAddr, now: Instant, what: impl FnOnce(&mut Counter) -> T) -> Option<T> {
        let hash = self.key.hash_one(network(peer));
        let mut counters = self.counters.lock().unwrap_or_else(PoisonError::into_inner);
        let index = usize::try_from(hash % COUNTERS as u64).ok()?;
        let counter = counters.get_mut(index)?;
        let passed = now.saturating_duration_since(counter.at).as_secs_f64();
        let back = passed * self.per_minute / WINDOW_SECONDS;
        counter.spent = (counter.spent - back).clamp(0.0, MOST_WINDOWS * self.per_minute);
        counter.at = now;
        Some(what(counter))
    }
}

/// Returns the part of an address that a host cannot choose: for IPv6, the first 64 bits.
fn network(peer: IpAddr) -> u128 {
    match peer.to_canonical() {
        IpAddr::V4(address) => u128::from(address.to_bits()),
        IpAddr::V6(address) => address.to_bits() >> 64 << 64,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const PEER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    #[test]
    fn failures_run_out_and_come_back() {
        let failures = Failures::new(3);
        for _ in 0..4 {
            assert!(!failures.is_over(PEER));
            failures.count(PEER);
        }
        assert!(failures.is_over(PEER));
        let later = Instant::now() + Duration::from_secs(30);
        assert_eq!(failures.at(PEER, later, |counter| counter.spent < 3.0), Some(true));
    }

    #[test]
    fn a_host_cannot_choose_its_way_out() {
        let one: IpAddr = "2001:db8::1".parse().unwrap();
        let two: IpAddr = "2001:db8::ffff:2".parse().unwrap();
        let mapped: IpAddr = "::ffff:127.0.0.1".parse().unwrap();
        assert_eq!(network(one), network(two));
        assert_eq!(network(mapped), network(PEER));
        assert_ne!(network(one), network("2001:db8:0:1::1".parse().unwrap()));
    }
}
