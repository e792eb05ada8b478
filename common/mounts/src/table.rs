//! The mount table of the calling thread, `/proc/thread-self/mountinfo`. Read-only.

use std::{
    ffi::OsString,
    fs, io,
    os::unix::ffi::OsStringExt,
    path::{Path, PathBuf},
};

const TABLE: &str = "/proc/thread-self/mountinfo";
/// The index of the mount point in a line, from 0.
const MOUNT_POINT: usize = 4;

/// Returns the mount points at `path` or below it, in the mount namespace of the calling thread. `path` must be
/// absolute and contain no links.
///
/// # Errors
///
/// The table cannot be read, or has a line without a mount point.
pub fn mounts_below(path: &Path) -> io::Result<Vec<PathBuf>> {
    below(&fs::read(TABLE)?, path)
}

fn below(table: &[u8], path: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for line in table.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let field = line.split(|byte| *byte == b' ').nth(MOUNT_POINT);
        let field = field.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, TABLE))?;
        let mount = PathBuf::from(OsString::from_vec(plain(field)));
        // The comparison is by component: `/a/bc` is not below `/a/b`.
        if mount.starts_with(path) {
            found.push(mount);
        }
    }
    Ok(found)
}

/// Decodes a field, in which the kernel writes spaces, tabs, line feeds and backslashes as three octal digits.
fn plain(field: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, after)) = rest.split_first() {
        let digits = match (first, after) {
            (b'\\', [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', ..]) => Some([a, b, c]),
            _ => None,
        };
        match digits {
            Some(digits) => {
                plain.push(digits.iter().fold(0, |byte, digit| byte << 3 | (*digit - b'0')));
                rest = after.get(digits.len()..).unwrap_or_default();
            }
            None => {
                plain.push(*first);
                rest = after;
            }
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt};

    use super::*;

    const LINES: &[u8] = b"21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n\
        40 21 8:1 /x /tmp/tree/bound rw - ext4 /dev/sda1 rw\n\
        41 21 0:40 / /tmp/tree rw - tmpfs tmpfs rw\n\
        42 21 0:41 / /tmp/treetop rw - tmpfs tmpfs rw\n\
        43 21 0:42 / /tmp/a\\040b\\011c\\134040 rw - tmpfs tmpfs rw\n\
        44 21 0:43 / /tmp/\xff\\012 rw - tmpfs tmpfs rw\n";

    fn found(path: &[u8]) -> Vec<PathBuf> {
        below(LINES, Path::new(OsStr::from_bytes(path))).unwrap()
    }

    #[test]
    fn a_mount_is_below_its_own_path_and_those_above() {
        assert_eq!(found(b"/tmp/tree"), [Path::new("/tmp/tree/bound"), Path::new("/tmp/tree")]);
        assert_eq!(found(b"/tmp/tree/bound"), [Path::new("/tmp/tree/bound")]);
        assert_eq!(found(b"/tmp/tree/bound/deeper"), [] as [&Path; 0]);
        assert_eq!(found(b"/tmp/tre"), [] as [&Path; 0]);
        assert_eq!(found(b"/").len(), 6);
    }

    #[test]
    fn names_are_compared_as_they_are_and_not_as_they_are_written() {
        assert_eq!(found(b"/tmp/a b\tc\\040").len(), 1);
        assert_eq!(found(b"/tmp/a\\040b\\011c\\134040").len(), 0);
        assert_eq!(found(b"/tmp/\xff\n").len(), 1);
    }

    #[test]
    fn a_line_without_a_mount_point_is_no_table() {
        assert_eq!(below(b"21 1 8:1 /\n", Path::new("/")).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
