//! Counted slots with a total limit and a limit per key, such as a tenant or a host. A slot is released on
//! drop. A caller never waits for a slot.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// The counters. A cheap handle; all clones share the same state.
#[derive(Debug)]
pub struct Shares<K: Eq + Hash> {
    taken: Arc<Mutex<Taken<K>>>,
}

#[derive(Debug)]
struct Taken<K> {
    all: usize,
    own: HashMap<K, usize>,
}

/// One slot.
#[derive(Debug)]
pub struct Share<K: Eq + Hash> {
    shares: Shares<K>,
    key: K,
}

/// The limit that was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Full {
    /// The total limit.
    All,
    /// The limit of the key.
    Own,
}

impl<K: Eq + Hash> Clone for Shares<K> {
    fn clone(&self) -> Self {
        Self { taken: Arc::clone(&self.taken) }
    }
}

impl<K: Eq + Hash> Default for Shares<K> {
    fn default() -> Self {
        Self { taken: Arc::new(Mutex::new(Taken { all: 0, own: HashMap::new() })) }
    }
}

impl<K: Eq + Hash> Shares<K> {
    /// Takes a slot for `key`, with at most `all` slots in total and `own` for this key.
    ///
    /// # Errors
    /// Returns [`Full::Own`] if both limits are reached.
    pub fn take(&self, key: K, all: usize, own: usize) -> Result<Share<K>, Full>
    where
        K: Clone,
    {
        let mut taken = self.lock();
        let has = taken.own.get(&key).copied().unwrap_or_default();
        if has >= own {
            return Err(Full::Own);
        }
        if taken.all >= all {
            return Err(Full::All);
        }
        taken.all += 1;
        taken.own.insert(key.clone(), has + 1);
        drop(taken);
        Ok(Share { shares: self.clone(), key })
    }

    /// Returns the number of slots in use.
    pub fn taken(&self) -> usize {
        self.lock().all
    }

    fn lock(&self) -> MutexGuard<'_, Taken<K>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Eq + Hash> Drop for Share<K> {
    fn drop(&mut self) {
        let mut taken = self.shares.lock();
        taken.all = taken.all.saturating_sub(1);
        if let Some(own) = taken.own.get_mut(&self.key) {
            *own = own.saturating_sub(1);
            if *own == 0 {
                taken.own.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_of_all_and_of_each_and_given_back() {
        let shares = Shares::default();
        let first = shares.take("a", 3, 2).unwrap();
        let _second = shares.take("a", 3, 2).unwrap();
        assert_eq!(shares.take("a", 3, 2).unwrap_err(), Full::Own);
        let _third = shares.take("b", 3, 2).unwrap();
        assert_eq!(shares.take("c", 3, 2).unwrap_err(), Full::All);
        drop(first);
        let _again = shares.take("a", 3, 2).unwrap();
        assert_eq!((shares.taken(), shares.lock().own.len()), (3, 2), "a tenant without calls is removed");
    }
}
