//! Entries that are neither file, directory nor link, and permission bits that grant other users'
//! rights.

use super::case::{Hostile, refused, taken};
use super::raw::{Block, Tar};

const DEVICE: &str = "it is a device or a named pipe";
const SPARSE: &str = "it is a sparse file";
const VOLUME: &str = "part of a multi-volume archive";
const UNKNOWN: &str = "its type is not known";
const SET_ID: &str = "it has the setuid or setgid bit";
const CONTENT: &str = "a directory or a link, but has content";

pub(super) fn cases() -> Vec<Hostile> {
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
