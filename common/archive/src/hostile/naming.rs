//! Names that lead outside, and invalid names. Also entries that are neither file, directory nor link, and permission
//! bits that grant other users' rights.

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

const DEVICE: &str = "it is a device or a named pipe";
const SPARSE: &str = "it is a sparse file";
const VOLUME: &str = "part of a multi-volume archive";
const UNKNOWN: &str = "its type is not known";
const SET_ID: &str = "it has the setuid or setgid bit";
const CONTENT: &str = "a directory or a link, but has content";

pub(super) fn kind_cases() -> Vec<Hostile> {
    let kind = |flag: u8| Tar::new().header(Block::new(b"evil").kind(flag)).end();
    let mode = |mode: u32| Tar::new().with(Block::new(b"evil").mode(mode), b"#!/bin/sh").end();
    let pax = |records: &[(&str, &[u8])]| Tar::new().pax(records).file(b"evil", b"").end();
    vec![
        refused("character device", DEVICE, kind(b'3')),
        refused("block device", DEVICE, kind(b'4')),
        refused("named pipe", DEVICE, kind(b'6')),
        refused("contiguous file", UNKNOWN, kind(b'7')),
        refused("dumped folder", UNKNOWN, kind(b'D')),
        refused("a Solaris extension", UNKNOWN, kind(b'X')),
        refused("a type of no format", UNKNOWN, kind(b'Z')),
        refused("a type beyond ASCII", UNKNOWN, kind(0xff)),
        refused("sparse as GNU had it", SPARSE, kind(b'S')),
        refused(
            "sparse as PAX 0.1",
            SPARSE,
            pax(&[("GNU.sparse.map", b"0,1"), ("GNU.sparse.size", b"999999999")]),
        ),
        refused(
            "sparse as PAX 1.0, with a name",
            SPARSE,
            pax(&[("GNU.sparse.major", b"1"), ("GNU.sparse.name", b"../canary/file")]),
        ),
        refused("a later volume", VOLUME, kind(b'M')),
        refused("a volume's label", VOLUME, kind(b'V')),
        refused("a volume as PAX", VOLUME, pax(&[("GNU.volume.filename", b"../canary/file")])),
        refused("setuid", SET_ID, mode(0o4755)),
        refused("setgid", SET_ID, mode(0o2755)),
        refused("setuid with a type above it", SET_ID, mode(0o104_755)),
        refused("folder with content", CONTENT, Tar::new().with(Block::directory(b"d/"), &[b'x'; 600]).end()),
        refused(
            "folder as V7 writes it, with content",
            CONTENT,
            Tar::new().with(Block::new(b"d/").kind(0), &[b'x'; 600]).end(),
        ),
        refused("link with content", CONTENT, Tar::new().with(Block::symlink(b"l", b"first"), b"evil").end()),
        taken("setgid and sticky folder", Tar::new().header(Block::directory(b"d/").mode(0o3777)).end()),
        taken("sticky file", mode(0o1644)),
        taken("a file without rights", mode(0)),
        taken(
            "a folder without rights, and a file in it",
            Tar::new().header(Block::directory(b"d/").mode(0)).file(b"d/x", b"in").end(),
        ),
        taken("a time before 1970", Tar::new().header(Block::new(b"t").time_field(&[0xff; 12])).end()),
        taken(
            "a time after all times",
            Tar::new()
                .header(Block::new(b"t").time_field(b"\x80\0\0\0\x7f\xff\xff\xff\xff\xff\xff\xff"))
                .end(),
        ),
        taken(
            "attributes and owners are left alone",
            pax(&[("SCHILY.xattr.security.capability", b"\x01\0\0\x02"), ("uid", b"0"), ("uname", b"root")]),
        ),
    ]
}
