//! A block of host uids for the sessions of one `airlock dev`. Without separate blocks, two of them on one host would
//! end each other's processes.
//!
//! An abstract socket reserves the block. The kernel releases it when the process ends.

use std::{
    io,
    os::{
        linux::net::SocketAddrExt as _,
        unix::net::{SocketAddr, UnixListener},
    },
    path::Path,
};

use sha2::{Digest as _, Sha256};

use super::DevError;

/// The number of uids in a block.
pub(super) const COUNT: u32 = 1024;
/// The first uid of the first block.
const FIRST: u32 = 2_100_000;
/// The number of blocks. It is large, so that two state directories rarely prefer the same block. An instance that had
/// to take another block finds sessions with other uids after a restart.
const BLOCKS: u32 = 1 << 15;

/// The reservation of a block of uids; dropping it releases the block.
#[derive(Debug)]
pub struct UidBlock {
    index: u32,
    _held: UnixListener,
}

impl UidBlock {
    /// Reserves a block that no other instance uses. One state directory gets the same block each time, if it is free.
    /// Returns `None` if this process cannot assign uids because it is not root.
    pub fn reserve(directory: &Path) -> Result<Option<Self>, DevError> {
        if !nix::unistd::geteuid().is_root() {
            return Ok(None);
        }
        let digest = Sha256::digest(directory.as_os_str().as_encoded_bytes());
        let wanted = digest.iter().take(2).fold(0, |number, byte| number << 8 | u32::from(*byte));
        for step in 0..BLOCKS {
            let index = (wanted + step) % BLOCKS;
            if let Some(held) = hold(index).map_err(DevError::Uids)? {
                return Ok(Some(Self { index, _held: held }));
            }
        }
        Err(DevError::NoUids)
    }

    /// Returns the first uid of the block.
    pub fn first(&self) -> u32 {
        FIRST + self.index * COUNT
    }
}

fn hold(index: u32) -> io::Result<Option<UnixListener>> {
    let name = SocketAddr::from_abstract_name(format!("airlock-dev-uids-{index}"))?;
    match UnixListener::bind_addr(&name) {
        Ok(held) => Ok(Some(held)),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_held_by_one_and_free_after_it() {
        let held = hold(BLOCKS).unwrap().unwrap();
        assert!(hold(BLOCKS).unwrap().is_none());
        drop(held);
        assert!(hold(BLOCKS).unwrap().is_some());
    }
}
