//! Tests of the entries that packing includes, excludes and reports.

use std::{
    collections::BTreeMap,
    fs,
    io::{self, Cursor, Write},
    os::unix::{
        ffi::OsStrExt,
        fs::{PermissionsExt, symlink},
        net::UnixListener,
    },
    time::{Duration, SystemTime},
};

use airlock_archive::{
    Cancel, Cause, Counts, Format, Limits, Pack, Packed, SKIPPED_FILES, check, globs, pack,
};
use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::tree::{Fixture, LIMITS, content};

fn pack_with(place: &Fixture, exclude: &[&str], limits: &Limits) -> Result<(Vec<u8>, Packed), Cause> {
    let exclude: Vec<String> = exclude.iter().map(|pattern| (*pattern).to_owned()).collect();
    let (cancel, exclude) = (Cancel::new(), globs(&exclude).unwrap());
    let options = Pack { exclude: &exclude, left_out: &BTreeMap::new(), limits, cancel: &cancel };
    let mut out = Vec::new();
    let packed = pack(&place.dir(), Format::Tar, &mut out, &options).map_err(|error| error.cause)?;
    Ok((out, packed))
}

fn paths(archive: &[u8]) -> Vec<String> {
    let mut archive = tar::Archive::new(archive);
    let entries = archive.entries().unwrap();
    entries.map(|entry| entry.unwrap().path_bytes().escape_ascii().to_string()).collect()
}

fn skipped(packed: &Packed) -> Vec<(String, &'static str)> {
    packed.skipped.iter().map(|file| (file.path.escape_ascii().to_string(), file.reason)).collect()
}

fn sample() -> Fixture {
    let place = Fixture::new();
    let target = place.target();
    for directory in ["b/c", "node_modules/x", ".git"] {
        fs::create_dir_all(target.join(directory)).unwrap();
    }
    for file in ["a", "b.txt", "b/c/d", "b/c/e.pyc", "node_modules/x/y", ".git/config"] {
        fs::write(target.join(file), file).unwrap();
    }
    symlink("../a", target.join("b/link")).unwrap();
    place
}

#[test]
fn a_folder_is_packed_sorted_and_the_same_each_time() {
    let place = sample();
    let (first, packed) = pack_with(&place, &[], &LIMITS).unwrap();
    assert_eq!(
        paths(&first),
        [
            ".git/",
            ".git/config",
            "a",
            "b/",
            "b/c/",
            "b/c/d",
            "b/c/e.pyc",
            "b/link",
            "b.txt",
            "node_modules/",
            "node_modules/x/",
            "node_modules/x/y"
        ]
    );
    assert_eq!(packed.counts, Counts { files: 6, directories: 5, links: 1, bytes: 47 });
    assert_eq!((packed.skipped_total, packed.skipped), (0, vec![]));
    assert_eq!(check(Cursor::new(&first), Format::Tar, &LIMITS, &Cancel::new()).unwrap(), packed.counts);
    assert_eq!(pack_with(&place, &[], &LIMITS).unwrap().0, first);
    let header = tar::Header::from_byte_slice(&first[..512]);
    assert_eq!((header.uid().unwrap(), header.gid().unwrap()), (0, 0));
    assert_eq!((header.username().unwrap(), header.groupname().unwrap()), (Some(""), Some("")));
}

#[test]
fn an_excluded_directory_is_omitted_with_its_contents() {
    let place = sample();
    let (archive, packed) = pack_with(&place, &["node_modules", "**/*.pyc", ".git/"], &LIMITS).unwrap();
    assert_eq!(paths(&archive), ["a", "b/", "b/c/", "b/c/d", "b/link", "b.txt"]);
    assert_eq!(packed.skipped_total, 0, "excluded files are not reported as skipped");
    let limits = Limits { entries: 6, ..LIMITS };
    pack_with(&place, &["node_modules", "**/*.pyc", ".git/"], &limits).unwrap();
}

#[test]
fn unsupported_entries_are_skipped_with_a_reason() {
    let place = Fixture::new();
    let target = place.target();
    mknodat(CWD, target.join("pipe"), FileType::Fifo, Mode::RUSR, 0).unwrap();
    let _socket = UnixListener::bind(target.join("socket")).unwrap();
    symlink("/etc/passwd", target.join("absolute")).unwrap();
    symlink("../canary/file", target.join("leaves")).unwrap();
    symlink("a/../b", target.join("may")).unwrap();
    fs::write(target.join("setuid"), "x").unwrap();
    fs::set_permissions(target.join("setuid"), fs::Permissions::from_mode(0o4755)).unwrap();
    fs::create_dir_all(target.join("one/two/three")).unwrap();
    fs::write(target.join(std::ffi::OsStr::from_bytes(b"\xff\n")), "x").unwrap();
    let limits = Limits { depth: 2, path_bytes: 8, ..LIMITS };
    fs::write(target.join("long-name"), "x").unwrap();
    let (archive, packed) = pack_with(&place, &[], &limits).unwrap();
    assert_eq!(
        skipped(&packed),
        [
            ("absolute".to_owned(), "it is a link that leaves the directory, or may leave it"),
            ("leaves".to_owned(), "it is a link that leaves the directory, or may leave it"),
            ("long-name".to_owned(), "its path is too long"),
            ("may".to_owned(), "it is a link that leaves the directory, or may leave it"),
            ("one/two/three".to_owned(), "its path is too long"),
            ("pipe".to_owned(), "it is a named pipe"),
            ("socket".to_owned(), "it is a socket"),
        ]
    );
    assert_eq!(paths(&archive), ["one/", "one/two/", "setuid", r"\xff\n"]);
    check(Cursor::new(&archive), Format::Tar, &LIMITS, &Cancel::new()).expect("the setuid bit was left out");
}

#[test]
fn the_skipped_are_counted_beyond_those_that_are_named() {
    let place = Fixture::new();
    for number in 0..150 {
        symlink("/etc", place.target().join(number.to_string())).unwrap();
    }
    let (_, packed) = pack_with(&place, &[], &LIMITS).unwrap();
    assert_eq!((packed.skipped.len(), packed.skipped_total), (SKIPPED_FILES, 150));
}

#[test]
fn a_folder_deeper_than_the_limit_is_skipped_and_deeper_than_the_stack_harmless() {
    let place = Fixture::new();
    let mut directory = place.dir();
    for _ in 0..2000 {
        directory.create_dir("d").unwrap();
        directory = directory.open_dir("d").unwrap();
    }
    let (_, packed) = pack_with(&place, &[], &LIMITS).unwrap();
    assert_eq!(packed.counts.directories, 255);
    assert_eq!(packed.skipped[0].reason, "it is nested too deeply");
    assert_eq!(packed.skipped_total, 1);
}

#[test]
fn packing_stops_at_its_limits_and_leaves_no_end_marker() {
    let place = sample();
    for (limits, named) in [
        (Limits { entries: 11, ..LIMITS }, "more than 11 entries"),
        (Limits { bytes: 46, ..LIMITS }, "more than 46 bytes"),
    ] {
        let (cancel, exclude) = (Cancel::new(), globs(&[]).unwrap());
        let options =
            Pack { exclude: &exclude, left_out: &BTreeMap::new(), limits: &limits, cancel: &cancel };
        let mut out = Vec::new();
        let error = pack(&place.dir(), Format::Tar, &mut out, &options).unwrap_err();
        assert!(error.to_string().contains(named), "{error}");
        assert!(matches!(error.cause, Cause::Limit { .. }));
        let error = check(Cursor::new(out), Format::Tar, &LIMITS, &Cancel::new()).unwrap_err();
        assert!(matches!(error.cause, Cause::Truncated { .. }), "{error}");
    }
}

/// A writer that changes a file as soon as a part of it was written to the archive.
struct Meddles<'a> {
    out: Vec<u8>,
    meddle: Option<&'a dyn Fn()>,
}

impl Write for Meddles<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(meddle) = self.meddle.take() {
            meddle();
        }
        self.out.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn pack_meddled(place: &Fixture, meddle: &dyn Fn()) -> (Vec<u8>, Packed) {
    let (cancel, exclude) = (Cancel::new(), globs(&[]).unwrap());
    let options = Pack { exclude: &exclude, left_out: &BTreeMap::new(), limits: &LIMITS, cancel: &cancel };
    let mut out = Meddles { out: Vec::new(), meddle: Some(meddle) };
    let packed = pack(&place.dir(), Format::Tar, &mut out, &options).unwrap();
    (out.out, packed)
}

#[test]
fn a_file_that_changes_while_it_is_read_leaves_the_archive_whole_and_is_told() {
    let size = 300_000;
    for (now, rest) in [(200_000, 0), (400_000, b'x')] {
        let place = Fixture::new();
        let file = place.target().join("file");
        fs::write(&file, vec![b'x'; size]).unwrap();
        fs::write(place.target().join("next"), "next").unwrap();
        let meddle = || fs::OpenOptions::new().write(true).open(&file).unwrap().set_len(now).unwrap();
        let (archive, packed) = pack_meddled(&place, &meddle);
        assert_eq!(skipped(&packed), [("file".to_owned(), "it was changed while it was read")]);
        assert_eq!(packed.counts, Counts { files: 2, directories: 0, links: 0, bytes: 300_004 });
        let other = Fixture::new();
        other.unpack(Cursor::new(archive), Format::Tar).unwrap();
        let seen = other.inside();
        assert_eq!((content(&seen, b"file").len(), content(&seen, b"next")), (size, &b"next"[..]));
        assert_eq!(content(&seen, b"file").last(), Some(&rest));
    }
}

#[test]
fn a_folder_that_goes_away_is_told() {
    let place = Fixture::new();
    fs::write(place.target().join("a"), vec![b'x'; 300_000]).unwrap();
    fs::create_dir(place.target().join("b")).unwrap();
    let meddle = || fs::remove_dir(place.target().join("b")).unwrap();
    let (_, packed) = pack_meddled(&place, &meddle);
    assert_eq!(skipped(&packed), [("b".to_owned(), "it was removed while the archive was created")]);
}

#[test]
fn a_cancelled_pack_ends_without_an_end_marker() {
    let place = sample();
    fs::write(place.target().join("a"), vec![b'x'; 300_000]).unwrap();
    let (cancel, exclude) = (Cancel::new(), globs(&[]).unwrap());
    let options = Pack { exclude: &exclude, left_out: &BTreeMap::new(), limits: &LIMITS, cancel: &cancel };
    let meddle = || cancel.cancel();
    let mut out = Meddles { out: Vec::new(), meddle: Some(&meddle) };
    let error = pack(&place.dir(), Format::Tar, &mut out, &options).unwrap_err();
    assert!(matches!(error.cause, Cause::Cancelled), "{error}");
    let error = check(Cursor::new(out.out), Format::Tar, &LIMITS, &Cancel::new()).unwrap_err();
    assert!(matches!(error.cause, Cause::Truncated { .. }), "{error}");
}

/// A writer that accepts at most this number of bytes.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_writer_that_fails_is_told_with_its_cause() {
    let place = sample();
    let (cancel, exclude) = (Cancel::new(), globs(&[]).unwrap());
    let options = Pack { exclude: &exclude, left_out: &BTreeMap::new(), limits: &LIMITS, cancel: &cancel };
    for format in [Format::Tar, Format::TarGzip] {
        match pack(&place.dir(), format, Full(10), &options).unwrap_err().cause {
            Cause::Write { source } => assert_eq!(source.kind(), io::ErrorKind::StorageFull),
            other => panic!("{other}"),
        }
    }
}

#[test]
fn times_before_1970_are_cut_and_large_files_described() {
    let place = Fixture::new();
    let file = fs::File::create(place.target().join("old")).unwrap();
    file.set_modified(SystemTime::UNIX_EPOCH - Duration::from_secs(5000)).unwrap();
    let (archive, _) = pack_with(&place, &[], &LIMITS).unwrap();
    assert_eq!(tar::Header::from_byte_slice(&archive[..512]).mtime().unwrap(), 0);
    let large = fs::File::create(place.target().join("large")).unwrap();
    large.set_len(20 << 30).unwrap();
    match pack_with(&place, &[], &LIMITS).unwrap_err() {
        Cause::Limit { limit, .. } => assert_eq!(limit, "bytes"),
        other => panic!("{other}"),
    }
}
