//! Names that lead outside, and invalid names.

use super::case::{Hostile, refused, taken};
use super::raw::{Block, Tar, longer};

const ABSOLUTE: &str = "its name is absolute";
const PARENT: &str = "its name contains `..`";
const NOT_NORMAL: &str = "its name contains `//` or `/./`";

pub(super) fn cases() -> Vec<Hostile> {
    let mut cases = refused_names();
    cases.extend(taken_names());
    cases
}

fn file(name: &[u8]) -> Vec<u8> {
    Tar::new().file(name, b"evil").end()
}

fn directory(name: &[u8]) -> Vec<u8> {
    Tar::new().header(Block::directory(name)).end()
}

fn long_name(name: &[u8]) -> Vec<u8> {
    Tar::new().gnu(b'L', name).file(b"short", b"evil").end()
}

fn with_prefix(prefix: &[u8], name: &[u8]) -> Vec<u8> {
    Tar::new().with(Block::new(name).prefix(prefix), b"evil").end()
}

fn refused_names() -> Vec<Hostile> {
    vec![
        refused("absolute name", ABSOLUTE, file(b"/tmp/airlock-canary")),
        refused("absolute name with two slashes", ABSOLUTE, file(b"//tmp/airlock-canary")),
        refused("absolute folder", ABSOLUTE, directory(b"/")),
        refused("absolute ustar prefix", ABSOLUTE, with_prefix(b"/tmp", b"airlock-canary")),
        refused("absolute GNU long name", ABSOLUTE, long_name(b"/tmp/airlock-canary")),
        refused("parent first", PARENT, file(b"../canary/file")),
        refused("parent after dot", PARENT, file(b"./../canary/file")),
        refused("parent in the middle", PARENT, file(b"a/../../canary/file")),
        refused("parent that stays inside", PARENT, file(b"a/../b")),
        refused("parent last", PARENT, directory(b"a/..")),
        refused("parent last with slash", PARENT, directory(b"a/../")),
        refused("parent alone", PARENT, directory(b"..")),
        refused("parent as a file", PARENT, file(b"..")),
        refused("ustar prefix is parent", PARENT, with_prefix(b"..", b"canary")),
        refused("ustar prefix ends in parent", PARENT, with_prefix(b"a/../..", b"canary")),
        refused("GNU long name with parent", PARENT, long_name(&[b"../", &longer(150)[..]].concat())),
        refused("empty name", "its name is empty", file(b"")),
        refused("empty GNU long name", "its name is empty", long_name(b"")),
        refused("NUL in a GNU long name", "contains a NUL byte", long_name(b"a\0/../../canary/file")),
        refused("long path", "longer than the limit", long_name(&longer(5000))),
        refused("long component", "more than 255 bytes", long_name(&[b'n'; 256])),
        refused("ten thousand folders deep", "longer than the limit", long_name(&b"d/".repeat(10_000))),
        refused("three hundred folders deep", "nested deeper than the limit", long_name(&b"d/".repeat(300))),
        refused("two slashes", NOT_NORMAL, file(b"a//b")),
        refused("two slashes after dot", NOT_NORMAL, file(b".//tmp/b")),
        refused("dot in the middle", NOT_NORMAL, file(b"a/./b")),
        refused(
            "slash after a link's name",
            NOT_NORMAL,
            Tar::new().header(Block::symlink(b"l/", b"a")).end(),
        ),
        refused("dot as a file", "a directory and something else", file(b".")),
        refused(
            "dot as a link",
            "a directory and something else",
            Tar::new().header(Block::symlink(b".", b"a")).end(),
        ),
    ]
}

fn taken_names() -> Vec<Hostile> {
    vec![
        taken("backslashes are no slashes", file(br"..\..\canary\file")),
        taken("a drive's letter", file(br"C:\canary")),
        taken("names like parents", Tar::new().file(b"...", b"").file(b"..a", b"").file(b"a..", b"").end()),
        taken("a home that is none", file(b"~/.ssh/authorized_keys")),
        taken("a name like an option", file(b"--checkpoint-action=exec=sh")),
        taken("control characters", file(b"a\x1b]0;evil\x07\r\n\x08b")),
        taken(
            "a line feed in a PAX name",
            Tar::new().pax(&[("path", b"a\n20 path=../b")]).file(b"c", b"").end(),
        ),
        taken("not UTF-8", file(b"\xff\xfe\xc0\xaf")),
        taken("a slash in overlong UTF-8", file(b"..\xc0\xaf..\xc0\xafcanary")),
        taken("dot and slash before names", file(b"./././a/b")),
        taken(
            "dot as a folder",
            Tar::new().header(Block::directory(b".").mode(0)).header(Block::directory(b"./")).end(),
        ),
        taken("a folder as V7 writes it", Tar::new().header(Block::new(b"old/").kind(0).v7()).end()),
        taken("a file of V7", Tar::new().with(Block::new(b"old").kind(0).v7(), b"text").end()),
        taken("bytes after a name's NUL", file(b"a\0/../../canary/file")),
        taken("names that differ in case", Tar::new().file(b"Dir/x", b"1").file(b"dir", b"2").end()),
        taken("nearly as long as it may be", long_name(&longer(3500))),
        taken("as deep as it may be", long_name(&[&b"d/".repeat(254)[..], b"f"].concat())),
    ]
}
