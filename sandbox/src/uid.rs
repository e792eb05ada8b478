//! Host uids for sessions.
//!
//! Pure: must not change IDs. The launch step does this.

use std::collections::BTreeSet;

use airlock_init::wire::HostIds;

/// The range of host uids, and of gids with the same numbers. Each session gets one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UidRange {
    first: u32,
    count: u32,
}

impl UidRange {
    /// Creates a range of `count` IDs from `first` on. `None` if it is empty, contains 0, or reaches the two highest
    /// IDs, which mean "nobody" and "no change".
    #[must_use]
    pub fn new(first: u32, count: u32) -> Option<Self> {
        let last = first.checked_add(count.checked_sub(1)?)?;
        (first > 0 && last < u32::MAX - 1).then_some(Self { first, count })
    }

    /// Returns the lowest IDs of the range that are not in `used`. `None` if all are used.
    #[must_use]
    pub fn allocate(&self, used: &BTreeSet<u32>) -> Option<HostIds> {
        (self.first..=self.last()).find(|id| !used.contains(id)).map(|id| HostIds { uid: id, gid: id })
    }

    /// Reports whether both `ids` are in this range.
    #[must_use]
    pub fn contains(&self, ids: HostIds) -> bool {
        let range = self.first..=self.last();
        range.contains(&ids.uid) && range.contains(&ids.gid)
    }

    /// Returns the last ID.
    #[must_use]
    pub fn last(self) -> u32 {
        self.first.saturating_add(self.count.saturating_sub(1))
    }
}

/// The host uids under which commands run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UidIsolation {
    /// Each session has its own uid.
    PerSession,
    /// The runner cannot change uids: commands run under its own.
    None,
}

impl UidIsolation {
    /// Returns the mode that this process supports: per session as root, otherwise no isolation.
    #[must_use]
    pub fn detect() -> Self {
        if nix::unistd::geteuid().is_root() { Self::PerSession } else { Self::None }
    }

    /// Returns the name used in reports: `per_session` or `none`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::PerSession => "per_session",
            Self::None => "none",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_gives_each_id_once_and_then_none() {
        let range = UidRange::new(100, 3).unwrap();
        let mut used = BTreeSet::new();
        for expected in [100, 101, 102] {
            let ids = range.allocate(&used).unwrap();
            assert_eq!(ids, HostIds { uid: expected, gid: expected });
            assert!(range.contains(ids));
            used.insert(ids.uid);
        }
        assert_eq!(range.allocate(&used), None);
        used.remove(&101);
        assert_eq!(range.allocate(&used).unwrap().uid, 101);
    }

    #[test]
    fn a_range_with_root_or_nobody_is_refused() {
        assert_eq!(UidRange::new(0, 10), None);
        assert_eq!(UidRange::new(10, 0), None);
        assert_eq!(UidRange::new(u32::MAX - 2, 2), None);
        assert_eq!(UidRange::new(u32::MAX, 2), None);
        assert!(UidRange::new(u32::MAX - 3, 2).is_some());
    }
}
