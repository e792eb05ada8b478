//! The errors of packing and unpacking. Names in errors are short enough for one line and contain no
//! characters that affect a terminal.

use std::{fmt, io};

/// The longest name in an error, escaped, in bytes.
const SHOWN_BYTES: usize = 200;

/// The error of a call.
#[derive(Debug)]
pub struct ArchiveError {
    /// The cause.
    pub cause: Cause,
    /// The number of files, directories and links that were created before the error, and remain. 0 if there are none.
    pub put: u64,
}

/// The cause of an error.
#[derive(Debug, thiserror::Error)]
pub enum Cause {
    /// The archive contains an entry that is not permitted.
    #[error("entry {number} `{entry}`: {rule}")]
    Refused {
        /// The number of the entry in the archive, from 1.
        number: u64,
        /// The escaped name, at most 200 bytes.
        entry: String,
        /// The violated rule, with a remedy.
        rule: Rule,
    },
    /// The bytes are not an archive of the given format.
    #[error("the archive is malformed {place}: {what}")]
    Malformed {
        /// The position.
        place: Position,
        /// The problem, with a remedy.
        what: &'static str,
    },
    /// The bytes end before the archive does.
    #[error("the archive is truncated {place}: {what}; send the whole archive again")]
    Truncated {
        /// The position.
        place: Position,
        /// The missing part.
        what: &'static str,
    },
    /// A limit was exceeded.
    #[error("{place}: more than {value} {limit}; leave something out, or ask an operator to raise the limit")]
    Limit {
        /// The position.
        place: Position,
        /// The limit: `entries`, `bytes` or `bytes of directory names`.
        limit: &'static str,
        /// The value of the limit.
        value: u64,
    },
    /// An existing file in the directory conflicts with the archive. It was not followed or replaced.
    #[error("`{path}` {obstacle}")]
    InTheWay {
        /// The escaped path relative to the directory, at most 200 bytes.
        path: String,
        /// The conflict.
        obstacle: Obstacle,
    },
    /// The directory could not be read or changed.
    #[error("cannot {doing} `{path}`: {source}")]
    Directory {
        /// The operation, as a verb.
        doing: &'static str,
        /// The escaped path relative to the directory, at most 200 bytes.
        path: String,
        /// The cause.
        source: io::Error,
    },
    /// The bytes of the archive, or of a file to write, could not be read.
    #[error("cannot read the data to be written: {source}")]
    Read {
        /// The cause.
        source: io::Error,
    },
    /// The bytes of the archive could not be written.
    #[error("cannot write the archive: {source}")]
    Write {
        /// The cause.
        source: io::Error,
    },
    /// The call was cancelled.
    #[error("cancelled")]
    Cancelled,
}

/// A position in an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Position {
    /// In or before the header of this entry, counted from 1.
    Header(u64),
    /// At an entry with a known name.
    Entry {
        /// The number of the entry, from 1.
        number: u64,
        /// The escaped name, at most 200 bytes.
        entry: String,
    },
    /// After the last entry.
    End,
    /// At a file of a directory that is packed.
    File(String),
}

/// A rule that an entry of an archive violates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Rule {
    /// The name is empty.
    #[error("its name is empty; name it")]
    EmptyName,
    /// The name is absolute.
    #[error("its name is absolute; make the archive with relative names, as `tar -C directory -cf - .` does")]
    AbsoluteName,
    /// The name contains `..`.
    #[error(
        "its name contains `..`; make the archive from the directory itself, as `tar -C directory -cf - .` \
         does"
    )]
    ParentInName,
    /// The name contains `//` or `/./`, or is a file's name that ends with a slash.
    #[error("its name contains `//` or `/./`, or ends with a slash; write the name without them")]
    NotNormalName,
    /// A name or link target contains a NUL.
    #[error("its name or link target contains a NUL byte; rename it")]
    NulInName,
    /// The name exceeds [`Limits::path_bytes`](crate::Limits::path_bytes).
    #[error("its name is longer than the limit; shorten it")]
    LongName,
    /// A component exceeds 255 bytes.
    #[error("a component of its name has more than 255 bytes; shorten it")]
    LongComponent,
    /// The depth exceeds [`Limits::depth`](crate::Limits::depth).
    #[error("it is nested deeper than the limit; move it up")]
    TooDeep,
    /// A device or a named pipe.
    #[error("it is a device or a named pipe; only files, directories and links are accepted: leave it out")]
    Device,
    /// A sparse file, by its type or by a PAX record.
    #[error("it is a sparse file; make the archive without `--sparse`")]
    Sparse,
    /// A part of a multi-volume archive, or a volume label.
    #[error("it is part of a multi-volume archive, or a volume label; make one archive without a label")]
    Volume,
    /// Any other type.
    #[error("its type is not known; only files, directories and links are accepted: leave it out")]
    UnknownType,
    /// A file with the setuid or setgid bit.
    #[error("it has the setuid or setgid bit; remove it (`chmod ug-s`)")]
    SetId,
    /// A directory or link with content.
    #[error("it is a directory or a link, but has content; recreate the archive with a current tar")]
    ContentOfNone,
    /// A symbolic link without a target.
    #[error("it is a link with an empty target; leave it out")]
    EmptyTarget,
    /// A symbolic link with an absolute target.
    #[error("it is a link with an absolute target; make it relative, or leave it out")]
    AbsoluteTarget,
    /// A symbolic link with more `..` than it has parent directories.
    #[error("it is a link that leaves the directory; point it to a path inside, or leave it out")]
    LeavingTarget,
    /// A `..` after a name. The name may be another link, and then `..` does not return to the same
    /// directory.
    #[error(
        "it is a link with a `..` after a name in its target; write the target without `..`, or leave it out"
    )]
    ParentInTarget,
    /// A symbolic link's target of more than 4095 bytes, or with a component of more than 255.
    #[error("it is a link whose target is too long; shorten it")]
    LongTarget,
    /// A hard link to a name that is not normal and relative.
    #[error("it is a hard link whose target is not a normal relative name; leave it out")]
    HardLinkTarget,
    /// A hard link to something other than an earlier regular file of the archive.
    #[error("it is a hard link to something other than an earlier file of the archive; leave it out")]
    HardLinkToNone,
    /// An entry below a file or link of the archive.
    #[error(
        "an earlier entry of the archive is a file or a link with the name of its directory; leave one of the two out"
    )]
    ParentNotDirectory,
    /// A name that is both a directory and something else in the archive.
    #[error("the same name is a directory and something else in the archive; leave one out")]
    DirectoryAndOther,
    /// A PAX header or long name that exceeds [`EXTENSION_BYTES`](crate::EXTENSION_BYTES).
    #[error("its extension header has more than 65536 bytes; make the archive without extended attributes")]
    LongExtension,
    /// Two extension headers of the same kind, or a PAX and a GNU header for the same field.
    #[error("its extension headers contain a field twice; recreate the archive with a current tar")]
    ContradictingExtensions,
    /// A global PAX header that sets the name, target or size of every entry.
    #[error("a global header sets the name, target or size of all entries; recreate the archive without it")]
    GlobalOverride,
    /// A PAX size that contradicts the header.
    #[error("its header and its extension header contradict each other on its size; recreate the archive")]
    ContradictingSize,
}

/// An existing file that conflicts with an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Obstacle {
    /// A link or a file in the position of a directory.
    #[error("is a link or a file where a directory is needed; remove it, or choose another directory")]
    NotADirectory,
    /// A directory in the position of a file or link.
    #[error("is a directory where a file or a link is to be written; remove it, or choose another directory")]
    ADirectory,
    /// The file was replaced after it was created.
    #[error("was changed by another program at the same time; try again when no other program writes there")]
    Changed,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Header(number) => write!(f, "at the header of entry {number}"),
            Self::Entry { number, entry } => write!(f, "at entry {number} `{entry}`"),
            Self::End => f.write_str("after its last entry"),
            Self::File(path) => write!(f, "at `{path}`"),
        }
    }
}

impl fmt::Display for ArchiveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cause.fmt(f)?;
        match self.put {
            0 => Ok(()),
            1 => f.write_str("; 1 entry was already written"),
            put => write!(f, "; {put} entries were already written"),
        }
    }
}

impl std::error::Error for ArchiveError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.cause.source()
    }
}

impl From<Cause> for ArchiveError {
    fn from(cause: Cause) -> Self {
        Self { cause, put: 0 }
    }
}

impl ArchiveError {
    pub(crate) fn having_put(self, put: u64) -> Self {
        Self { put, ..self }
    }

    pub(crate) fn directory(doing: &'static str, path: &[u8], source: impl Into<io::Error>) -> Self {
        Cause::Directory { doing, path: shown(path), source: source.into() }.into()
    }

    pub(crate) fn in_the_way(path: &[u8], obstacle: Obstacle) -> Self {
        Cause::InTheWay { path: shown(path), obstacle }.into()
    }
}

/// Returns a name in printable form: on one line, truncated, without control characters, invisible
/// characters and backticks.
pub(crate) fn shown(name: &[u8]) -> String {
    let mut text = String::new();
    for chunk in name.utf8_chunks() {
        for char in chunk.valid().chars() {
            match char {
                '`' => push(&mut text, "\\x60"),
                '\'' | '"' => push(&mut text, char.encode_utf8(&mut [0; 4])),
                _ => push(&mut text, &char.escape_debug().to_string()),
            }
        }
        push(&mut text, &chunk.invalid().escape_ascii().to_string());
        if text.len() > SHOWN_BYTES {
            text.truncate(text.floor_char_boundary(SHOWN_BYTES));
            text.push_str("...");
            break;
        }
    }
    text
}

fn push(text: &mut String, more: &str) {
    if text.len() <= SHOWN_BYTES {
        text.push_str(more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_shown_on_one_line_and_does_nothing_to_a_terminal() {
        assert_eq!(shown(b"a/b c"), "a/b c");
        assert_eq!(shown("gr\u{fc}n".as_bytes()), "gr\u{fc}n");
        assert_eq!(shown(b"a\n\x1b[31m`b`"), r"a\n\u{1b}[31m\x60b\x60");
        assert_eq!(shown("a\u{202e}b".as_bytes()), r"a\u{202e}b");
        assert_eq!(shown(b"\xff\xfe"), r"\xff\xfe");
        let long = shown(&[b'x'; 5000]);
        assert_eq!(long.len(), SHOWN_BYTES + 3);
        assert!(shown("\u{fc}".repeat(5000).as_bytes()).len() <= SHOWN_BYTES + 3);
    }
}
