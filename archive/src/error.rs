//! Why an archive was not taken or not made. It must not hold a name longer than a line of a terminal can
//! show, nor one that does something to that terminal.

use std::{fmt, io};

/// Of a name in an error, escaped.
const SHOWN_BYTES: usize = 200;

/// A call that did not do what it was asked to.
#[derive(Debug)]
pub struct ArchiveError {
    /// Why.
    pub cause: Cause,
    /// Files, folders and links that were put into the folder before, and stay there. 0 where nothing
    /// was touched.
    pub put: u64,
}

/// Why a call did not do what it was asked to.
#[derive(Debug, thiserror::Error)]
pub enum Cause {
    /// The archive holds something that it must not.
    #[error("entry {number} `{entry}`: {rule}")]
    Refused {
        /// From 1, in the order of the archive.
        number: u64,
        /// Its name, escaped, at most 200 bytes of it.
        entry: String,
        /// What it breaks, and the cure.
        rule: Rule,
    },
    /// The bytes are not an archive of the format that was said.
    #[error("the archive is malformed {place}: {what}")]
    Malformed {
        /// Where.
        place: Place,
        /// What is wrong, and the cure.
        what: &'static str,
    },
    /// The bytes end before the archive does.
    #[error("the archive is truncated {place}: {what}; send it again, whole")]
    Truncated {
        /// Where.
        place: Place,
        /// What is missing.
        what: &'static str,
    },
    /// More than a limit allows.
    #[error("{place}: more than {value} {limit}; leave something out, or have the limit raised")]
    Limit {
        /// Where.
        place: Place,
        /// Which: `entries`, `bytes` or `bytes of folder names`.
        limit: &'static str,
        /// Its value.
        value: u64,
    },
    /// Something in the folder is not what the archive needs it to be. It was not followed or replaced.
    #[error("`{path}` {obstacle}")]
    InTheWay {
        /// Relative to the folder, escaped, at most 200 bytes of it.
        path: String,
        /// What it is.
        obstacle: Obstacle,
    },
    /// The folder could not be read or changed.
    #[error("cannot {doing} `{path}`: {source}")]
    Folder {
        /// A verb.
        doing: &'static str,
        /// Relative to the folder, escaped, at most 200 bytes of it.
        path: String,
        /// The cause.
        source: io::Error,
    },
    /// The archive's bytes, or those of a file to be written, could not be read.
    #[error("cannot read what is to be put there: {source}")]
    Read {
        /// The cause.
        source: io::Error,
    },
    /// The archive's bytes could not be written.
    #[error("cannot write the archive: {source}")]
    Write {
        /// The cause.
        source: io::Error,
    },
    /// It was cancelled.
    #[error("cancelled")]
    Cancelled,
}

/// Where in an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// In or before the header of this entry, counted from 1.
    Header(u64),
    /// At an entry whose name is known.
    Entry {
        /// From 1.
        number: u64,
        /// Its name, escaped, at most 200 bytes of it.
        entry: String,
    },
    /// After the last entry.
    End,
    /// At a file, of a folder that is packed.
    File(String),
}

/// What an entry of an archive breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Rule {
    /// No name.
    #[error("its name is empty; give it one")]
    EmptyName,
    /// A name from the root.
    #[error("its name is absolute; make the archive with relative names, as `tar -C folder -cf - .` does")]
    AbsoluteName,
    /// `..` in a name.
    #[error(
        "its name has a `..` in it; make the archive from the folder itself, as `tar -C folder -cf - .` does"
    )]
    ParentInName,
    /// `a//b`, `a/./b`, or a slash at the end of a file's name.
    #[error("its name is not normal (`//`, `/./`, or a slash at its end); write it without")]
    NotNormalName,
    /// A NUL in a name or link target.
    #[error("its name or link target has a NUL in it; rename it")]
    NulInName,
    /// More than [`Limits::path_bytes`](crate::Limits::path_bytes).
    #[error("its name is longer than the limit; shorten it")]
    LongName,
    /// A component of more than 255 bytes.
    #[error("a component of its name has more than 255 bytes; shorten it")]
    LongComponent,
    /// More than [`Limits::depth`](crate::Limits::depth).
    #[error("it is in more folders than the limit of their depth; move it up")]
    TooDeep,
    /// A device, a named pipe.
    #[error("it is a device or a named pipe; only files, folders and links are taken: leave it out")]
    Device,
    /// Sparse, by type or by PAX record.
    #[error("it is a sparse file; make the archive without `--sparse`")]
    Sparse,
    /// One of several volumes, or a volume's label.
    #[error("it is of an archive in several volumes, or a volume's label; make one archive without a label")]
    Volume,
    /// Any other type.
    #[error("its type is not known; only files, folders and links are taken: leave it out")]
    UnknownType,
    /// A file that gives its user's or group's rights away.
    #[error("it has the setuid or setgid bit; take it off (`chmod ug-s`)")]
    SetId,
    /// A folder or link with content.
    #[error("it is a folder or a link, and has content; make the archive anew with a current tar")]
    ContentOfNone,
    /// A symbolic link without a target.
    #[error("it is a link that leads nowhere: its target is empty; leave it out")]
    EmptyTarget,
    /// A symbolic link from the root.
    #[error("it is a link with an absolute target; make it relative, or leave it out")]
    AbsoluteTarget,
    /// A symbolic link with more `..` than there are folders above it.
    #[error("it is a link that leaves the folder; make it lead to something inside, or leave it out")]
    LeavingTarget,
    /// A `..` after a name. The name may be another link, and then `..` is not the way back.
    #[error("it is a link with a `..` after a name in its target; write the target without, or leave it out")]
    ParentInTarget,
    /// A symbolic link's target of more than 4095 bytes, or with a component of more than 255.
    #[error("it is a link whose target is too long; shorten it")]
    LongTarget,
    /// A hard link to something that is not a normal relative name.
    #[error("it is a hard link whose target is not a normal relative name; leave it out")]
    HardLinkTarget,
    /// A hard link to what is not, or not yet, a regular file of this archive.
    #[error("it is a hard link to what is no file that came earlier in the archive; leave it out")]
    HardLinkToNone,
    /// Below something that is not a folder in this archive.
    #[error("what should be its folder is a file or a link earlier in the archive; leave one out")]
    ParentNoFolder,
    /// A folder that was something else, or something else that was a folder.
    #[error("the same name is a folder and something else in the archive; leave one out")]
    FolderAndOther,
    /// A PAX header or long name of more than [`EXTENSION_BYTES`](crate::EXTENSION_BYTES).
    #[error("its extension header has more than 65536 bytes; make the archive without extended attributes")]
    LongExtension,
    /// Twice the same kind of extension, or a PAX and a GNU one that say the same thing.
    #[error("its extension headers say the same thing twice; make the archive anew with a current tar")]
    ContradictingExtensions,
    /// A global PAX header that names every entry alike.
    #[error("a global header sets the name, target or size of all entries; make the archive anew without it")]
    GlobalOverride,
    /// A PAX size that contradicts the header.
    #[error("its header and its extension header contradict each other on its size; make the archive anew")]
    ContradictingSize,
}

/// What stands in the way in the folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Obstacle {
    /// A link or a file where a folder is needed.
    #[error("is a link or a file where a folder is needed; remove it, or choose another folder")]
    NotAFolder,
    /// A folder where something else is to be put.
    #[error("is a folder where a file or a link is to be put; remove it, or choose another folder")]
    AFolder,
    /// It is not what was just put there.
    #[error("was changed by another program at the same time; try again when nothing else writes there")]
    Changed,
}

impl fmt::Display for Place {
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
            1 => f.write_str("; 1 entry was put there before"),
            put => write!(f, "; {put} entries were put there before"),
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

    pub(crate) fn folder(doing: &'static str, path: &[u8], source: impl Into<io::Error>) -> Self {
        Cause::Folder { doing, path: shown(path), source: source.into() }.into()
    }

    pub(crate) fn in_the_way(path: &[u8], obstacle: Obstacle) -> Self {
        Cause::InTheWay { path: shown(path), obstacle }.into()
    }
}

/// A name as it can be shown: on one line, without control or invisible characters or backticks, cut.
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
