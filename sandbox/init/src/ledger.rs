//! The count of refused system calls, in a file in memory that the runner and process 1 share.
//!
//! The runner can read it after process 1 was killed, and a write to it never waits. The command does not inherit it.
//! It contains numbers only: first the state, and then one count for each watched call.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;

use rustix::fs::{MemfdFlags, memfd_create};

/// The value of the state if the refusals are counted.
const COUNTS: u64 = 1;
/// The size of a number in bytes.
const SIZE: usize = size_of::<u64>();

/// One end of the ledger.
#[derive(Debug)]
pub struct Ledger(File);

impl Ledger {
    /// Creates an empty ledger.
    ///
    /// # Errors
    ///
    /// The system call's error.
    pub fn create() -> io::Result<Self> {
        Ok(Self(memfd_create("airlock-ledger", MemfdFlags::CLOEXEC)?.into()))
    }

    /// Returns the ledger that was received from the other process.
    #[must_use]
    pub fn received(fd: OwnedFd) -> Self {
        Self(fd.into())
    }

    /// Returns its descriptor, to send it.
    #[must_use]
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    /// States that refusals are counted from now on.
    ///
    /// # Errors
    ///
    /// The error of the write.
    pub fn begin(&self) -> io::Result<()> {
        self.0.write_all_at(&COUNTS.to_ne_bytes(), 0)
    }

    /// Sets the count of a call, which has this position in the list of watched calls.
    ///
    /// # Errors
    ///
    /// The error of the write.
    pub fn set(&self, position: usize, count: u64) -> io::Result<()> {
        self.0.write_all_at(&count.to_ne_bytes(), offset(position))
    }

    /// Reports whether refusals are counted.
    #[must_use]
    pub fn counts_refusals(&self) -> bool {
        self.number(0) == COUNTS
    }

    /// Returns the count of a call.
    #[must_use]
    pub fn count(&self, position: usize) -> u64 {
        self.number(offset(position))
    }

    /// Returns a number. One that was not written is 0.
    fn number(&self, at: u64) -> u64 {
        let mut bytes = [0; SIZE];
        match self.0.read_exact_at(&mut bytes, at) {
            Ok(()) => u64::from_ne_bytes(bytes),
            Err(_) => 0,
        }
    }
}

fn offset(position: usize) -> u64 {
    u64::try_from(position.saturating_add(1).saturating_mul(SIZE)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_other_end_reads_what_was_written_and_zero_otherwise() {
        let ours = Ledger::create().unwrap();
        let theirs = Ledger::received(ours.as_fd().try_clone_to_owned().unwrap());
        assert!(!ours.counts_refusals());
        theirs.begin().unwrap();
        theirs.set(2, 7).unwrap();
        theirs.set(2, 8).unwrap();
        assert!(ours.counts_refusals());
        assert_eq!([0, 1, 2, 3, usize::MAX].map(|position| ours.count(position)), [0, 0, 8, 0, 0]);
    }
}
