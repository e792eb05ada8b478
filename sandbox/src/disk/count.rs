//! Counts the disk usage of a session's directories entry by entry.
//!
//! Reads only names and attributes, through directory handles. Follows no link and opens no file. Commands can change
//! the directories meanwhile, so a count does not describe a single moment.

use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, openat, statat};
use rustix::io::Errno;

use crate::session::SessionDirectories;

/// The maximum nesting of directories that is counted.
const MAX_DEPTH: usize = 256;
/// The unit of `st_blocks`, independent of the file system.
const BLOCK: u64 = 512;
const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::CLOEXEC);

/// A usage or a limit of disk space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskUse {
    /// The bytes of allocated blocks. A file with several names counts once per name.
    pub bytes: u64,
    /// The number of files, directories, links and other entries.
    pub inodes: u64,
}

impl DiskUse {
    /// Reports whether either value exceeds that of `most`.
    #[must_use]
    pub fn exceeds(self, most: Self) -> bool {
        self.bytes > most.bytes || self.inodes > most.inodes
    }
}

/// Counts a session's workspace, HOME and `/tmp` together. Stops when they exceed `most`. `None` means that directories
/// are nested too deeply. Requires the right to read all directories whatever their modes. Blocks.
///
/// # Errors
///
/// If a directory cannot be read.
pub fn disk_use(directories: &SessionDirectories, most: DiskUse) -> io::Result<Option<DiskUse>> {
    let mut count = DiskUse { bytes: 0, inodes: 0 };
    for directory in [&directories.workspace, &directories.home, &directories.tmp] {
        let root = openat(CWD, directory, DIRECTORY, Mode::empty())?;
        if !count_tree(&root, &mut count, most)? {
            return Ok(None);
        }
    }
    Ok(Some(count))
}

fn count_tree(root: &OwnedFd, count: &mut DiskUse, most: DiskUse) -> io::Result<bool> {
    let mut open = vec![Dir::read_from(root)?];
    while let Some(directory) = open.last_mut() {
        let entry = match directory.next() {
            Some(Ok(entry)) => entry,
            // The end of the directory, or it was removed.
            None | Some(Err(Errno::NOENT)) => {
                open.pop();
                continue;
            }
            Some(Err(errno)) => return Err(errno.into()),
        };
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let handle = directory.fd()?;
        let Ok(found) = statat(handle, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
        let blocks = u64::try_from(found.st_blocks).unwrap_or(0);
        count.bytes = count.bytes.saturating_add(blocks.saturating_mul(BLOCK));
        count.inodes = count.inodes.saturating_add(1);
        if count.exceeds(most) {
            return Ok(true);
        }
        if FileType::from_raw_mode(found.st_mode) == FileType::Directory {
            match openat(handle, name, DIRECTORY, Mode::empty()).and_then(|below| Dir::read_from(&below)) {
                Ok(_) if open.len() >= MAX_DEPTH => return Ok(false),
                Ok(below) => open.push(below),
                // It was removed or replaced meanwhile.
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    const ALL: DiskUse = DiskUse { bytes: u64::MAX, inodes: u64::MAX };

    #[test]
    fn all_three_folders_count_and_links_are_not_followed() {
        let parent = tempfile::tempdir().unwrap();
        let directories = SessionDirectories::create(parent.path(), None).unwrap();
        assert_eq!(disk_use(&directories, ALL).unwrap(), Some(DiskUse { bytes: 0, inodes: 0 }));
        for directory in [&directories.workspace, &directories.home, &directories.tmp] {
            fs::write(directory.join("file"), vec![1; 1 << 20]).unwrap();
        }
        symlink("/usr", directories.tmp.join("link")).unwrap();
        let used = disk_use(&directories, ALL).unwrap().unwrap();
        assert_eq!(used.inodes, 4);
        assert!((3 << 20..4 << 20).contains(&used.bytes), "{used:?}");
        assert!(
            disk_use(&directories, DiskUse { inodes: 2, ..ALL }).unwrap().unwrap().inodes <= 3,
            "it stops"
        );
        fs::create_dir_all(directories.home.join("d/".repeat(300))).unwrap();
        assert_eq!(disk_use(&directories, ALL).unwrap(), None);
    }
}
