//! The format of an archive, its entries and their number.

/// The format of an archive's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// POSIX (ustar, PAX), GNU or V7 tar.
    Tar,
    /// The same, compressed with gzip, with one or several members.
    TarGzip,
}

/// The type of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
    /// Another name for an earlier regular file.
    HardLink,
}

/// An entry that [`crate::unpack()`] created in the directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry<'a> {
    /// The path relative to the directory: no `.`, no `..`, no empty component, no trailing slash.
    pub path: &'a [u8],
    /// The type.
    pub kind: Kind,
    /// The size of a file's content in bytes; otherwise 0.
    pub size: u64,
    /// The permission bits without setuid, setgid and sticky. A directory gets them at the end. 0o777 for a
    /// symbolic link, 0 for a hard link, which has the bits of its file.
    pub mode: u32,
    /// The target of a link: as written for a symbolic link, in the form of `path` for a hard link.
    pub link_target: Option<&'a [u8]>,
    /// The SHA-256 of a file's content as it was written.
    pub sha256: Option<[u8; 32]>,
}

/// The contents of an archive, or the entries that were created from it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Regular files. A file that occurs twice counts twice.
    pub files: u64,
    /// Directories, each counted once, including those that are only part of a path.
    pub directories: u64,
    /// Symbolic and hard links.
    pub links: u64,
    /// The size of the files' contents.
    pub bytes: u64,
}
