//! Programs that change files: where their paths are, and how they use them. Needed
//! for the path checks and for the mode that accepts edits.

use crate::decision::Access;

/// What the operands are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// All the same.
    All(Access),
    /// All but the last are one, the last is the other.
    LastIs(Access, Access),
    /// The first is no path (a mode, an owner), the rest is.
    SkipFirst(Access),
    /// `if=` and `of=`.
    Dd,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Writer {
    pub(crate) name: &'static str,
    pub(crate) short: &'static str,
    pub(crate) long: &'static str,
    pub(crate) shape: Shape,
    /// Whether the mode `accept_edits` covers it.
    pub(crate) edit: bool,
    pub(crate) reason: &'static str,
}

const fn writer(
    name: &'static str,
    short: &'static str,
    long: &'static str,
    shape: Shape,
    edit: bool,
    reason: &'static str,
) -> Writer {
    Writer { name, short, long, shape, edit, reason }
}

use Access::{Create, Delete, Read, Write};

pub(crate) const WRITERS: &[Writer] = &[
    writer(
        "mkdir",
        "pvm:Z",
        "parents verbose mode= context=?",
        Shape::All(Create),
        true,
        "makes directories",
    ),
    writer(
        "touch",
        "achmfd:r@t:",
        "no-create date= no-dereference reference=@ time=",
        Shape::All(Create),
        true,
        "makes files or sets their time",
    ),
    writer(
        "rm",
        "fiIrRdv",
        "force interactive=? one-file-system no-preserve-root preserve-root=? recursive dir verbose",
        Shape::All(Delete),
        true,
        "removes",
    ),
    writer(
        "rmdir",
        "pv",
        "parents verbose ignore-fail-on-non-empty",
        Shape::All(Delete),
        true,
        "removes directories",
    ),
    writer(
        "mv",
        "bfinTuvS:t@Z",
        "backup=? force interactive no-clobber no-target-directory update=? verbose suffix= target-directory=@ strip-trailing-slashes exchange no-copy",
        Shape::LastIs(Delete, Create),
        true,
        "moves",
    ),
    writer(
        "cp",
        "abdfiHlLnPpRrsS:t@TuvxZ",
        "archive attributes-only backup=? copy-contents force interactive link dereference no-clobber no-dereference preserve=? no-preserve= parents recursive reflink=? remove-destination sparse= strip-trailing-slashes symbolic-link suffix= target-directory=@ no-target-directory update=? verbose one-file-system debug",
        Shape::LastIs(Read, Create),
        true,
        "copies",
    ),
    writer(
        "ln",
        "bdfFiLnPrsS:t@Tv",
        "backup=? directory force interactive logical no-dereference physical relative symbolic suffix= target-directory=@ no-target-directory verbose",
        Shape::LastIs(Read, Create),
        false,
        "makes links",
    ),
    writer(
        "chmod",
        "cfvRhHLP",
        "changes no-preserve-root preserve-root quiet silent verbose reference=@ recursive",
        Shape::SkipFirst(Write),
        false,
        "changes modes",
    ),
    writer(
        "chown",
        "cfvRhHLP",
        "changes dereference no-dereference from= no-preserve-root preserve-root quiet silent verbose reference=@ recursive",
        Shape::SkipFirst(Write),
        false,
        "changes owners",
    ),
    writer(
        "chgrp",
        "cfvRhHLP",
        "changes dereference no-dereference no-preserve-root preserve-root quiet silent verbose reference=@ recursive",
        Shape::SkipFirst(Write),
        false,
        "changes groups",
    ),
    writer(
        "tee",
        "aip",
        "append ignore-interrupts output-error=?",
        Shape::All(Write),
        false,
        "writes what it reads",
    ),
    writer(
        "truncate",
        "cor@s:",
        "no-create io-blocks reference=@ size=",
        Shape::All(Write),
        false,
        "changes sizes",
    ),
    writer(
        "install",
        "bcCdDg:m:o:psS:t@Tv",
        "backup=? compare directory group= mode= owner= preserve-timestamps strip suffix= target-directory=@ no-target-directory verbose",
        Shape::LastIs(Read, Create),
        false,
        "copies",
    ),
    writer("unlink", "", "", Shape::All(Delete), false, "removes"),
    writer("link", "", "", Shape::LastIs(Read, Create), false, "makes a link"),
    writer(
        "shred",
        "fn:s:uvxz",
        "force iterations= random-source=@ size= remove=? verbose exact zero",
        Shape::All(Delete),
        false,
        "overwrites",
    ),
    writer("dd", "", "", Shape::Dd, false, "copies bytes"),
    writer(
        "split",
        "a:b:C:d?ex?l:n:t:u",
        "suffix-length= additional-suffix= bytes= line-bytes= numeric-suffixes=? hex-suffixes=? elide-empty-files filter= lines= number= separator= unbuffered verbose",
        Shape::LastIs(Read, Create),
        false,
        "writes pieces",
    ),
    writer(
        "gzip",
        "123456789cdfhklnNqrS:tvV",
        "stdout decompress force keep list name no-name quiet recursive suffix= test verbose fast best",
        Shape::All(Write),
        false,
        "replaces files",
    ),
    writer(
        "gunzip",
        "cfhklnNqrS:tvV",
        "stdout force keep list name no-name quiet recursive suffix= test verbose",
        Shape::All(Write),
        false,
        "replaces files",
    ),
    writer(
        "bzip2",
        "123456789cdfhkqstvVz",
        "stdout decompress compress force keep test quiet verbose small fast best",
        Shape::All(Write),
        false,
        "replaces files",
    ),
    writer(
        "xz",
        "0123456789cdefhklqtTvVzM:",
        "stdout decompress compress force keep list test quiet verbose extreme",
        Shape::All(Write),
        false,
        "replaces files",
    ),
    writer(
        "patch",
        "bcd@eEfi@lnNo@p:r@RstTuvY:z:Z",
        "strip= input=@ output=@ dry-run directory=@ reverse forward force batch backup",
        Shape::All(Write),
        false,
        "changes files",
    ),
    writer(
        "rsync",
        "avrlptgoDzunhPe:xHAXSI",
        "archive verbose recursive delete dry-run progress exclude= include= rsh= compress partial times links perms",
        Shape::LastIs(Read, Create),
        false,
        "copies",
    ),
    writer("tar", "", "", Shape::All(Write), false, "packs and unpacks"),
    writer("zip", "", "", Shape::All(Write), false, "packs"),
    writer("unzip", "", "", Shape::All(Write), false, "unpacks"),
];

pub(crate) fn writer_named(name: &[u8]) -> Option<&'static Writer> {
    WRITERS.iter().find(|writer| writer.name.as_bytes() == name)
}
