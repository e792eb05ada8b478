//! Reads the protected names that a new repository tracks in its working tree. They came with the repository.
//!
//! Hostile commands control the index. An unreadable index tracks nothing, and only paths are read from it.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::os::fd::BorrowedFd;

use rustix::fs::{FileType, Mode, OFlags, fstat, openat};

use super::directory::{Need, descend, kind};
use super::mark::read;
use super::names::{Names, above, ancestors, join, last};
use crate::layout::WORKSPACE;

/// The maximum length of an index, in bytes.
const INDEX_MAX: u64 = 64 << 20;
/// The length of an entry's times, device, inode, mode, owner and size.
const STAT_BYTES: usize = 40;
/// The maximum length of a path, in bytes.
const PATH_MAX: usize = 4096;
const EXTENDED: u16 = 0x4000;
const NAME_LENGTH: u16 = 0x0fff;
/// The possible lengths of an object's hash in bytes: SHA-1 or SHA-256. The index does not state which it uses.
const HASHES: [usize; 2] = [20, 32];

/// Returns the protected names that the repository in `directory` tracks, and their parent directories.
pub(super) fn tracked(workspace: BorrowedFd<'_>, directory: &[u8], names: &Names) -> BTreeSet<Vec<u8>> {
    let mut found = BTreeSet::new();
    let Some(index) = own_directory(workspace, directory).and_then(|git| index(workspace, &git)) else {
        return found;
    };
    let is_ours = |path: &[u8]| names.meets(path);
    let paths = HASHES.iter().find_map(|hash| paths(&index, *hash, is_ours)).unwrap_or_default();
    for path in &paths {
        found.extend(ancestors(path).filter(|part| names.meets(part)).map(|part| join(directory, part)));
    }
    found
}

/// Returns the repository's own directory for this working tree, if it is in the workspace.
fn own_directory(workspace: BorrowedFd<'_>, directory: &[u8]) -> Option<Vec<u8>> {
    let git = join(directory, b".git");
    let directories = descend(workspace, directory, Need::Look).ok()??;
    let Some(file) = read(directories.last()?, b".git").ok()? else { return Some(git) };
    let target = gitdir(&file)?;
    let absolute = match target.strip_prefix(b"/") {
        Some(_) => target.strip_prefix(WORKSPACE.as_bytes())?.strip_prefix(b"/")?.to_vec(),
        None => join(directory, target),
    };
    let mut parts: Vec<&[u8]> = Vec::new();
    for part in absolute.split(|byte| *byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join(&b'/'))
}

/// Returns the target of a `.git` file, as written.
pub(super) fn gitdir(file: &[u8]) -> Option<&[u8]> {
    let target = file.strip_prefix(b"gitdir: ")?;
    let end = target.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r'))?;
    target.get(..=end)
}

fn index(workspace: BorrowedFd<'_>, git: &[u8]) -> Option<Vec<u8>> {
    let path = join(git, b"index");
    let directories = descend(workspace, above(&path), Need::Look).ok()??;
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = openat(directories.last()?, last(&path), flags, Mode::empty()).ok()?;
    let stat = fstat(&file).ok()?;
    let is_short = u64::try_from(stat.st_size).is_ok_and(|size| size <= INDEX_MAX);
    if kind(&stat) != FileType::RegularFile || !is_short {
        return None;
    }
    let mut index = Vec::new();
    File::from(file).take(INDEX_MAX).read_to_end(&mut index).ok()?;
    Some(index)
}

/// Returns the selected paths of an index of version 2, 3 or 4. `hash` is the length of its object hashes.
fn paths(index: &[u8], hash: usize, wanted: impl Fn(&[u8]) -> bool) -> Option<Vec<Vec<u8>>> {
    let version = number(index.strip_prefix(b"DIRC")?)?;
    let count = number(index.get(8..)?)?;
    let mut rest = index.get(12..)?;
    let (mut paths, mut before) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let fixed = STAT_BYTES + hash;
        let flags = rest.get(fixed..fixed + 2)?;
        let flags = u16::from_be_bytes(flags.try_into().ok()?);
        let mut head = fixed + 2;
        if flags & EXTENDED != 0 && version >= 3 {
            head += 2;
        }
        let name = rest.get(head..)?;
        let (path, length) = match version {
            2 | 3 => {
                let length = name.iter().position(|byte| *byte == 0)?;
                // Entries are padded with one to eight zero bytes to a multiple of eight.
                (name.get(..length)?.to_vec(), (head + length) / 8 * 8 + 8)
            }
            4 => {
                let (dropped, read) = offset(name)?;
                let name = name.get(read..)?;
                let length = name.iter().position(|byte| *byte == 0)?;
                let kept = before.get(..before.len().checked_sub(dropped)?)?;
                ([kept, name.get(..length)?].concat(), head + read + length + 1)
            }
            _ => return None,
        };
        rest = rest.get(length..)?;
        // A mismatch means that the hashes have another length.
        let says_its_length = usize::from(flags & NAME_LENGTH) == path.len().min(NAME_LENGTH.into());
        if path.len() > PATH_MAX || !says_its_length {
            return None;
        }
        if wanted(&path) {
            paths.push(path.clone());
        }
        before = path;
    }
    Some(paths)
}

fn number(bytes: &[u8]) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(..4)?.try_into().ok()?))
}

/// Decodes a number as in git's pack files: seven bits per byte, with the highest bit set in all but the last. Also
/// returns its length.
fn offset(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut value = 0_usize;
    for (at, byte) in bytes.iter().take(4).enumerate() {
        value = (value << 7) + usize::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Some((value, at + 1));
        }
        value += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::fd::AsFd;
    use std::process::Command;

    use super::*;

    fn git(at: &std::path::Path, words: &[&str]) {
        let done = Command::new("git").current_dir(at).args(words).output().unwrap();
        assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
    }

    #[test]
    fn the_protected_names_that_git_tracks_are_found_in_every_version_of_its_index() {
        for (format, version) in
            [("sha1", "2"), ("sha1", "3"), ("sha1", "4"), ("sha256", "2"), ("sha256", "4")]
        {
            let directory = tempfile::tempdir().unwrap();
            let tree = directory.path().join("a/tree");
            fs::create_dir_all(tree.join(".vscode/more")).unwrap();
            git(&tree, &["init", "-q", "--object-format", format]);
            for name in ["README", ".bashrc", ".vscode/a", ".vscode/more/b", ".vscode/more/untracked"] {
                fs::write(tree.join(name), "x").unwrap();
            }
            git(&tree, &["add", "README", ".bashrc", ".vscode/a", ".vscode/more/b"]);
            git(&tree, &["update-index", "--index-version", version]);
            let root = File::open(directory.path()).unwrap();
            let found = tracked(root.as_fd(), b"a/tree", &Names::default());
            let found: Vec<_> = found.iter().map(|path| str::from_utf8(path).unwrap()).collect();
            let expected = [
                "a/tree/.bashrc",
                "a/tree/.vscode",
                "a/tree/.vscode/a",
                "a/tree/.vscode/more",
                "a/tree/.vscode/more/b",
            ];
            assert_eq!(found, expected, "{format} {version}");
        }
    }

    #[test]
    fn an_index_that_is_none_tracks_nothing() {
        for index in
            [&b""[..], b"DIRC", b"DIRC\0\0\0\x02\xff\xff\xff\xff", b"DIRC\0\0\0\x09\0\0\0\x01", &[0xff; 4096]]
        {
            assert_eq!(
                HASHES.iter().find_map(|hash| paths(index, *hash, |_| true)).unwrap_or_default(),
                [b""; 0]
            );
        }
        assert_eq!(gitdir(b"gitdir: ../x y\r\n"), Some(&b"../x y"[..]));
        assert_eq!((gitdir(b"gitdir: "), gitdir(b"gitdir:x"), gitdir(b"")), (None, None, None));
    }
}
