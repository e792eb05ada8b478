//! Archives that contradict themselves or are truncated, and data that is not an archive.

use super::case::{Hostile, as_gzip, refused, taken};
use super::raw::{Block, Tar, gzip, pax, pax_record};

const NO_NUMBER: &str = "its size is not a number";
const TWICE: &str = "contain a field twice";
const GLOBAL: &str = "a global header sets";
const SIZES: &str = "contradict each other on its size";
const RECORDS: &str = "is not a list of records";
const NO_ENTRY: &str = "an extension header without its entry";
const LIMIT: &str = " bytes; leave something out";

pub(super) fn cases() -> Vec<Hostile> {
    [extensions(), numbers(), cut(), none(), compressed(), harmless()].into_iter().flatten().collect()
}

fn with_pax(content: &[u8]) -> Vec<u8> {
    Tar::new().with(Block::new(b"x").kind(b'x'), content).file(b"evil", b"evil").end()
}

fn global(records: &[(&str, &[u8])]) -> Vec<u8> {
    Tar::new().with(Block::new(b"g").kind(b'g'), &pax(records)).file(b"evil", b"evil").end()
}

fn extensions() -> Vec<Hostile> {
    let path = |path: &[u8]| with_pax(&pax_record("path", path));
    vec![
        refused("PAX sets a parent", "its name contains `..`", path(b"../canary/file")),
        refused("PAX sets an absolute name", "its name is absolute", path(b"/tmp/airlock-canary")),
        refused("PAX sets a name with NUL", "contains a NUL byte", path(b"a\0b")),
        refused(
            "PAX takes a name back",
            "its name contains `..`",
            Tar::new().pax(&[("path", b"good"), ("path", b"")]).file(b"../canary/file", b"evil").end(),
        ),
        refused("PAX makes a file larger", SIZES, with_pax(&pax_record("size", b"512"))),
        refused("PAX makes a file empty", SIZES, with_pax(&pax_record("size", b"0"))),
        refused(
            "PAX hides an entry in a content",
            SIZES,
            Tar::new().pax(&[("size", b"0")]).file(b"f", &Block::new(b"../canary/file").bytes()).end(),
        ),
        refused("PAX size is negative", "is not a number", with_pax(&pax_record("size", b"-1"))),
        refused("PAX size is beyond all", "is not a number", with_pax(&pax_record("size", &[b'9'; 40]))),
        refused("PAX record without an end", RECORDS, with_pax(b"13 path=evil!")),
        refused("PAX record longer than the header", RECORDS, with_pax(b"999999 path=evil\n")),
        refused("PAX record of length 0", RECORDS, with_pax(b"0 path=evil\n")),
        refused("PAX record without a key", RECORDS, with_pax(b"8 path!\n")),
        refused("two PAX headers", TWICE, Tar::new().pax(&[("path", b"a")]).pax(&[]).file(b"b", b"").end()),
        refused("two GNU names", TWICE, Tar::new().gnu(b'L', b"a").gnu(b'L', b"b").file(b"c", b"").end()),
        refused(
            "a PAX and a GNU name",
            TWICE,
            Tar::new().pax(&[("path", b"a")]).gnu(b'L', b"../b").file(b"c", b"").end(),
        ),
        refused("a global name", GLOBAL, global(&[("path", b"../canary/file")])),
        refused("a global target", GLOBAL, global(&[("linkpath", b"../canary")])),
        refused("a global size", GLOBAL, global(&[("size", b"0")])),
        refused("globally sparse", "it is a sparse file", global(&[("GNU.sparse.major", b"1")])),
        refused("an extension, and the end", NO_ENTRY, Tar::new().pax(&[("path", b"a")]).end()),
        refused(
            "an extension, and a global one",
            NO_ENTRY,
            Tar::new().gnu(b'L', b"a").with(Block::new(b"g").kind(b'g'), b"").file(b"b", b"").end(),
        ),
    ]
}

fn numbers() -> Vec<Hostile> {
    let size = |field: &[u8]| Tar::new().header(Block::new(b"evil").size_field(field)).end();
    let one_off = |mut block: [u8; 512]| {
        if let Some(byte) = block.first_mut() {
            *byte ^= 1;
        }
        Tar::new().raw(&block).end()
    };
    vec![
        refused("a negative size", NO_NUMBER, size(&[0xff; 12])),
        refused("a size in base 256 over 64 bits", NO_NUMBER, size(b"\x80\0\x01\0\0\0\0\0\0\0\0\0")),
        refused("a size that is 0 in its low 64 bits", NO_NUMBER, size(b"\x80\0\0\x01\0\0\0\0\0\0\0\0")),
        refused("a size of letters", NO_NUMBER, size(b"0000000009z\0")),
        refused("a size with a sign", NO_NUMBER, size(b"-0000000001\0")),
        refused("a size of 8 EiB", LIMIT, size(b"\x80\0\0\0\x80\0\0\0\0\0\0\0")),
        refused("a size of 16 EiB less one", LIMIT, size(b"\x80\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff")),
        refused("a size of 8 TiB by PAX", LIMIT, {
            Tar::new().pax(&[("size", b"8796093022208")]).header(Block::new(b"evil")).end()
        }),
        refused("a mode of letters", "its mode is not a number", {
            Tar::new().header(Block::new(b"evil").mode_field(b"rw-r--r-")).end()
        }),
        refused("a time of letters", "its time is not a number", {
            Tar::new().header(Block::new(b"evil").time_field(b"yesterday")).end()
        }),
        refused("a wrong check sum", "its checksum is wrong", one_off(Block::new(b"evil").bytes())),
    ]
}

fn cut() -> Vec<Hostile> {
    let whole = || Tar::new().file(b"second", &[b'x'; 700]);
    let until = |length: usize| whole().open_end().into_iter().take(length).collect::<Vec<u8>>();
    vec![
        refused("nothing", "the end marker is missing", Vec::new()),
        refused("cut in a header", "its header is short", until(1024 + 300)),
        refused("cut in the content of an entry", "its content has no end", until(1024 + 512 + 600)),
        refused("cut in the padding of a block", "its last block is short", until(1024 + 512 + 800)),
        refused("cut after an entry", "the end marker is missing", whole().open_end()),
        refused("cut in the end marker", "the end marker is short", whole().raw(&[0; 512]).open_end()),
        refused("cut in an extension", "its extension header is short", {
            Tar::new().header(Block::new(b"x").kind(b'x').size(600)).raw(b"30 path=").open_end()
        }),
        refused("cut after an extension", "the end marker is missing", Tar::new().pax(&[]).open_end()),
    ]
}

fn none() -> Vec<Hostile> {
    let noise: Vec<u8> = (0..4096_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let two = [Tar::new().end(), Tar::new().file(b"../canary/file", b"evil").end()].concat();
    let zeros = "more than 16 MiB of zeros";
    vec![
        refused("noise", "it is not a tar archive", noise.clone()),
        refused(
            "gzip as tar",
            "it is compressed with gzip",
            gzip(&[Tar::new().end(), noise.clone()].concat()),
        ),
        refused("zip as tar", "it is a zip file", [b"PK\x03\x04", &noise[..]].concat()),
        refused("xz as tar", "it is compressed with xz", [b"\xfd7zXZ\0", &noise[..]].concat()),
        refused("noise after the end", "data follows its end marker", [Tar::new().end(), noise].concat()),
        refused("an archive after the end", "data follows its end marker", two),
        refused("an entry after half an end marker", "data follows a block of zeros", {
            Tar::new().raw(&[0; 512]).file(b"../canary/file", b"evil").end()
        }),
        as_gzip(refused("zeros without an end", zeros, {
            let zeros = gzip(&vec![0; 1 << 20]);
            [gzip(&Tar::new().end()), zeros.repeat(32)].concat()
        })),
    ]
}

fn compressed() -> Vec<Hostile> {
    let whole = gzip(&Tar::new().file(b"second", &[b'x'; 7000]).end());
    let until =
        |less: usize| whole.iter().copied().take(whole.len().saturating_sub(less)).collect::<Vec<u8>>();
    let mut flipped = whole.clone();
    let at = flipped.len() - 6;
    if let Some(byte) = flipped.get_mut(at) {
        *byte ^= 1;
    }
    let no_gzip = "it is not valid gzip data";
    let no_end = "its gzip data is truncated";
    [
        refused("tar as gzip", no_gzip, Tar::new().end()),
        refused("noise in gzip", "it is not a tar archive", gzip(&[b'n'; 4096])),
        refused("nothing as gzip", no_end, Vec::new()),
        refused("gzip cut in its data", no_end, until(30)),
        refused("gzip cut in its trailer", no_end, until(4)),
        refused("gzip with a wrong check sum", no_gzip, flipped),
        refused("gzip with data after it", no_gzip, [&whole[..], b"#!/bin/sh\necho evil\n"].concat()),
        taken("an archive in many gzip members", {
            let tar = Tar::new().file(b"second", &[b'x'; 700]).end();
            tar.chunks(100).flat_map(gzip).collect::<Vec<u8>>()
        }),
        taken("a bomb in a file is a file", {
            gzip(&Tar::new().file(b"bomb.gz", &gzip(&gzip(&vec![0; 1 << 20]))).end())
        }),
    ]
    .into_iter()
    .map(as_gzip)
    .collect()
}

fn harmless() -> Vec<Hostile> {
    vec![
        taken("a global comment, as git writes it", global(&[("comment", b"0123456789abcdef")])),
        taken("a megabyte of zeros after the end", [Tar::new().end(), vec![0; 1 << 20]].concat()),
        taken("nothing but an end", Tar::default().end()),
    ]
}
