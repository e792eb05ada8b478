//! Small archives that expand to a large size. They consist of repeated gzip members, so they are also
//! cheap to create.

use std::{
    io::{self, Read},
    sync::Arc,
};

use super::case::Hostile;
use super::raw::{Block, Tar, gzip, pax_record};
use crate::Format;

const ENTRIES: &str = " entries; leave something out";
const BYTES: &str = " bytes; leave something out";
const LONG: &str = "its extension header has more than 65536 bytes";
const MIB: usize = 1 << 20;

pub(super) fn cases() -> Vec<Hostile> {
    let of_zeros =
        |name, refusal, block: Block, mib| bomb(name, refusal, move || claim(block.clone()), zeros, mib);
    let block = |kind: u8| Block::new(b"bomb").kind(kind);
    vec![
        of_zeros("a gzip bomb of one file", BYTES, block(b'0').size_field(b"777777777777"), 1 << 10),
        of_zeros("a PAX header of 1 GiB", LONG, block(b'x').size(1 << 30), 1 << 10),
        of_zeros("a global header of 1 GiB", LONG, block(b'g').size(1 << 30), 1 << 10),
        of_zeros("a GNU name of 1 GiB", LONG, block(b'L').size(1 << 30), 1 << 10),
        of_zeros("a GNU target of 1 GiB", LONG, block(b'K').size(1 << 30), 1 << 10),
        of_zeros("an extension of 8 EiB", LONG, block(b'x').size_field(b"\x80\0\0\0\x80\0\0\0\0\0\0\0"), 1),
        bomb("a gzip bomb of many files", BYTES, Vec::new, || gzip(&file_of_zeros()), 1 << 9),
        bomb("a million entries", ENTRIES, Vec::new, || gzip(&files(10_000)), 100),
        bomb("a million global headers", ENTRIES, Vec::new, || gzip(&global_headers()), 100),
        bomb("many large PAX headers", BYTES, Vec::new, || gzip(&large_headers()), 1 << 12),
        bomb("a million folders in a few names", ENTRIES, || gzip(&deep(5000)), Vec::new, 1),
    ]
}

fn zeros() -> Vec<u8> {
    gzip(&vec![0; MIB])
}

fn claim(block: Block) -> Vec<u8> {
    gzip(&Tar::new().header(block).open_end())
}

fn file_of_zeros() -> Vec<u8> {
    Tar::default().file(b"bomb", &vec![0; 8 * MIB]).open_end()
}

fn global_headers() -> Vec<u8> {
    Tar::default().header(Block::new(b"g").kind(b'g')).open_end().repeat(10_000)
}

/// Returns one mebibyte of large headers.
fn large_headers() -> Vec<u8> {
    let comment = pax_record("comment", &vec![b'c'; 65_000]);
    let one = Tar::default().with(Block::new(b"x").kind(b'x'), &comment).file(b"f", b"").open_end();
    one.repeat(16)
}

fn files(number: usize) -> Vec<u8> {
    (0..number).fold(Tar::default(), |tar, at| tar.file(format!("f{at}").as_bytes(), b"")).open_end()
}

/// Returns files that are each in 250 directories of their own.
fn deep(number: usize) -> Vec<u8> {
    (0..number)
        .fold(Tar::default(), |tar, at| {
            tar.gnu(b'L', &[format!("{at}/").as_bytes(), &b"d/".repeat(250), b"f"].concat()).file(b"f", b"")
        })
        .end()
}

/// Creates a case from a first part, and a part that is repeated.
fn bomb(
    name: &'static str,
    refusal: &'static str,
    first: impl Fn() -> Vec<u8> + Send + Sync + 'static,
    part: impl Fn() -> Vec<u8> + Send + Sync + 'static,
    times: u64,
) -> Hostile {
    let bytes = move || -> Box<dyn Read + Send> {
        let part = Arc::new(part());
        Box::new(io::Cursor::new(first()).chain(Repeated { part, at: 0, times }))
    };
    Hostile { name, format: Format::TarGzip, bytes: Box::new(bytes), refusal: Some(refusal) }
}

/// A reader that repeats the same bytes.
struct Repeated {
    part: Arc<Vec<u8>>,
    at: usize,
    times: u64,
}

impl Read for Repeated {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.times == 0 || self.part.is_empty() {
            return Ok(0);
        }
        let read = self.part.get(self.at..).unwrap_or_default().read(buffer)?;
        self.at += read;
        if self.at == self.part.len() {
            self.at = 0;
            self.times -= 1;
        }
        Ok(read)
    }
}
