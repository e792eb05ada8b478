//! Tests of the effects of unpacking and writing on a directory: entries that are created, kept or replaced, and
//! entries that remain after errors.

use std::{
    fs,
    io::{self, Cursor, Read},
    os::unix::fs::{MetadataExt, symlink},
    path::Path,
};

use airlock_archive::{
    Cancel, Cause, Counts, Entry, Format, Kind, Limits, Obstacle, Rule, Unpack, conflicts,
    hostile::{Block, Tar, gzip},
    unpack, write_file,
};

use crate::tree::{Fixture, LIMITS, content};

const HELLO: [u8; 32] = [
    0x2c, 0xf2, 0x4d, 0xba, 0x5f, 0xb0, 0xa3, 0x0e, 0x26, 0xe8, 0x3b, 0x2a, 0xc5, 0xb9, 0xe2, 0x9e, 0x1b,
    0x16, 0x1e, 0x5c, 0x1f, 0xa7, 0x42, 0x5e, 0x73, 0x04, 0x33, 0x62, 0x93, 0x8b, 0x98, 0x24,
];

fn sample() -> Vec<u8> {
    Tar::default()
        .header(Block::directory(b"./").mode(0o700))
        .header(Block::directory(b"./src/").mode(0o555))
        .with(Block::new(b"./src/run").mode(0o755), b"hello")
        .header(Block::symlink(b"./src/link", b"../docs/a/b"))
        .header(Block::hard_link(b"./src/hard", b"./src/run"))
        .file(b"docs/a/b", b"")
        .end()
}

#[test]
fn an_archive_is_unpacked_with_modes_times_and_links() {
    let place = Fixture::new();
    let root_before = fs::metadata(place.target()).unwrap().mode();
    let counts = place.unpack(Cursor::new(sample()), Format::Tar).unwrap();
    assert_eq!(counts, Counts { files: 2, directories: 3, links: 2, bytes: 5 });
    let seen = place.inside();
    assert_eq!(content(&seen, b"src/run"), b"hello");
    assert_eq!(content(&seen, b"src/link"), b"../docs/a/b");
    let meta = |path: &str| fs::symlink_metadata(place.target().join(path)).unwrap();
    assert_eq!(meta("src").mode() & 0o7777, 0o555, "a read-only directory was filled");
    assert_eq!(meta("src/run").mode() & 0o7777, 0o755);
    assert_eq!(meta("docs").mode() & 0o7777, 0o755, "a directory that occurs only in a path");
    assert_eq!(meta("src/run").ino(), meta("src/hard").ino());
    for path in ["src", "src/run"] {
        assert_eq!(meta(path).mtime(), 0o14_000_000_000, "{path}");
    }
    assert_eq!(
        fs::metadata(place.target()).unwrap().mode(),
        root_before,
        "the directory itself is unchanged"
    );
}

#[test]
fn the_umask_takes_its_bits_from_files_and_folders() {
    let place = Fixture::new();
    let (cancel, mut told) = (Cancel::new(), Vec::new());
    let options = Unpack { limits: &LIMITS, umask: 0o027, cancel: &cancel };
    let archive = Tar::default()
        .header(Block::directory(b"open/").mode(0o777))
        .with(Block::new(b"open/run").mode(0o777), b"hello")
        .file(b"docs/a", b"")
        .end();
    let on_entry = |entry: &Entry<'_>| told.push(entry.mode);
    unpack(Cursor::new(archive), Format::Tar, &place.dir(), &options, on_entry).unwrap();
    let mode = |path: &str| fs::metadata(place.target().join(path)).unwrap().mode() & 0o7777;
    assert_eq!([mode("open"), mode("open/run"), mode("docs")], [0o750; 3]);
    assert_eq!(told, [0o750, 0o750, 0o750, mode("docs/a")], "the report matches the created entries");
    assert_eq!(mode("docs/a") & 0o027, 0);
}

#[test]
fn each_thing_that_is_put_there_is_told_in_order() {
    let place = Fixture::new();
    let (cancel, mut told) = (Cancel::new(), Vec::new());
    let options = Unpack { limits: &LIMITS, umask: 0, cancel: &cancel };
    let on_entry = |entry: &Entry<'_>| {
        let target = entry.link_target.map(|target| target.escape_ascii().to_string());
        let path = entry.path.escape_ascii().to_string();
        told.push((path, entry.kind, entry.size, entry.mode, target, entry.sha256));
    };
    unpack(Cursor::new(gzip(&sample())), Format::TarGzip, &place.dir(), &options, on_entry).unwrap();
    let empty = told.last().unwrap().5.unwrap();
    assert_eq!(empty[..4], [0xe3, 0xb0, 0xc4, 0x42]);
    let text = str::to_owned;
    assert_eq!(
        told,
        [
            (text("src"), Kind::Directory, 0, 0o555, None, None),
            (text("src/run"), Kind::File, 5, 0o755, None, Some(HELLO)),
            (text("src/link"), Kind::Symlink, 0, 0o777, Some(text("../docs/a/b")), None),
            (text("src/hard"), Kind::HardLink, 0, 0, Some(text("src/run")), None),
            (text("docs"), Kind::Directory, 0, 0o755, None, None),
            (text("docs/a"), Kind::Directory, 0, 0o755, None, None),
            (text("docs/a/b"), Kind::File, 0, 0o644, None, Some(empty)),
        ]
    );
}

/// The archive's owners are ignored: a process that runs as root could otherwise change the owner.
#[test]
fn unpacked_files_belong_to_the_unpacking_user() {
    let place = Fixture::new();
    let owned = Block::new(b"theirs").owner(54_321);
    let archive = Tar::default().with(owned, b"x").end();
    let cancel = Cancel::new();
    let options = Unpack { limits: &LIMITS, umask: 0, cancel: &cancel };
    unpack(Cursor::new(archive), Format::Tar, &place.dir(), &options, |_| {}).unwrap();
    write_file(&place.dir(), Path::new("new/f"), Cursor::new("x"), 0o640, &cancel).unwrap();
    let mine = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    for path in ["theirs", "new", "new/f"] {
        let meta = fs::symlink_metadata(place.target().join(path)).unwrap();
        assert_eq!((meta.uid(), meta.gid()), mine, "{path}");
    }
    assert_eq!(fs::metadata(place.target().join("new/f")).unwrap().mode() & 0o7777, 0o640);
}

#[test]
fn unpacking_again_replaces_files_and_keeps_folders() {
    let place = Fixture::new();
    place.unpack(Cursor::new(sample()), Format::Tar).unwrap();
    fs::write(place.target().join("docs/mine"), "mine").unwrap();
    let inode = fs::metadata(place.target().join("src")).unwrap().ino();
    place.unpack(Cursor::new(sample()), Format::Tar).unwrap();
    assert_eq!(fs::metadata(place.target().join("src")).unwrap().ino(), inode);
    assert_eq!(content(&place.inside(), b"docs/mine"), b"mine");
    assert_eq!(place.inside().len(), 1 + 8, "and no temporary file remains");
}

#[test]
fn a_link_in_the_place_of_a_file_is_replaced_and_its_target_left_alone() {
    let place = Fixture::new();
    symlink(place.canary(), place.target().join("first")).unwrap();
    symlink(place.canary(), place.target().join("second")).unwrap();
    let before = place.outside();
    place.unpack(Cursor::new(Tar::new().end()), Format::Tar).unwrap();
    write_file(&place.dir(), Path::new("second"), Cursor::new("new"), 0o644, &Cancel::new()).unwrap();
    assert_eq!(place.outside(), before);
    assert_eq!(content(&place.inside(), b"first"), b"first");
    assert_eq!(content(&place.inside(), b"second"), b"new");
}

#[test]
fn existing_entries_are_reported_and_links_are_not_followed() {
    let nested = Tar::new().file(b"d/x", b"evil").end();
    let directory = Tar::new().header(Block::directory(b"d/").mode(0o700)).end();
    let plain = Tar::new().file(b"d", b"evil").end();
    let put_link = |path: &Path, place: &Fixture| symlink(place.root().join("canary"), path).unwrap();
    let put_file = |path: &Path, _: &Fixture| fs::write(path, "kept").unwrap();
    let put_directory = |path: &Path, _: &Fixture| fs::create_dir(path).unwrap();
    type Put<'a> = &'a dyn Fn(&Path, &Fixture);
    let cases: [(&[u8], Put<'_>, Obstacle); 5] = [
        (&nested, &put_link, Obstacle::NotADirectory),
        (&nested, &put_file, Obstacle::NotADirectory),
        (&directory, &put_link, Obstacle::NotADirectory),
        (&directory, &put_file, Obstacle::NotADirectory),
        (&plain, &put_directory, Obstacle::ADirectory),
    ];
    for (archive, put, wanted) in cases {
        let place = Fixture::new();
        put(&place.target().join("d"), &place);
        let (before, inside) = (place.outside(), place.inside());
        let found = conflicts(archive, Format::Tar, &place.dir(), &LIMITS, &Cancel::new()).unwrap_err();
        assert_eq!(place.inside(), inside, "a check changes no file");
        let error = place.unpack(archive, Format::Tar).unwrap_err();
        for error in [&found, &error] {
            assert!(
                matches!(&error.cause, Cause::InTheWay { obstacle, .. } if *obstacle == wanted),
                "{error}"
            );
        }
        assert_eq!((found.put, error.put), (0, 1));
        assert_eq!(place.outside(), before);
        assert_eq!(place.inside().len(), 3, "the directory, `first`, and `d` unchanged");
    }
}

#[test]
fn an_error_leaves_what_was_put_and_no_temporary_file() {
    let place = Fixture::new();
    let cut: Vec<u8> = Tar::new().file(b"d/big", &[b'x'; 200_000]).end().into_iter().take(150_000).collect();
    let error = place.unpack(Cursor::new(cut), Format::Tar).unwrap_err();
    assert!(matches!(error.cause, Cause::Truncated { .. }), "{error}");
    assert_eq!(error.put, 2);
    let paths: Vec<_> = place.inside().into_keys().map(|path| path.display().to_string()).collect();
    assert_eq!(paths, ["", "d", "first"]);
}

#[test]
fn limits_hold_to_the_byte() {
    let archive = || Cursor::new(Tar::new().file(b"d/x", b"12345").end());
    let with = |entries, bytes| {
        let limits = Limits { entries, bytes, ..LIMITS };
        airlock_archive::check(archive(), Format::Tar, &limits, &Cancel::new())
    };
    with(3, 10).unwrap();
    for (entries, bytes, limit) in [(2, 10, "entries"), (3, 9, "bytes")] {
        match with(entries, bytes).unwrap_err().cause {
            Cause::Limit { limit: found, value, .. } => {
                assert_eq!((found, value), (limit, if limit == "entries" { entries } else { bytes }));
            }
            other => panic!("{other}"),
        }
    }
}

/// A reader that cancels at its second read, and never ends.
struct Endless(Cancel, bool);

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.1 {
            self.0.cancel();
        }
        self.1 = true;
        buffer.fill(b'x');
        Ok(buffer.len())
    }
}

#[test]
fn a_cancelled_call_ends_and_leaves_nothing_half_done() {
    let place = Fixture::new();
    let cancel = Cancel::new();
    let options = Unpack { limits: &LIMITS, umask: 0, cancel: &cancel };
    let begins = Tar::new().header(Block::new(b"big").size(60 << 20)).open_end();
    let archive = Cursor::new(begins).chain(Endless(cancel.clone(), false));
    let error = unpack(archive, Format::Tar, &place.dir(), &options, |_| {}).unwrap_err();
    assert!(matches!(error.cause, Cause::Cancelled), "{error}");
    let cancel = Cancel::new();
    let error =
        write_file(&place.dir(), Path::new("f"), Endless(cancel.clone(), false), 0o644, &cancel).unwrap_err();
    assert!(matches!(error.cause, Cause::Cancelled), "{error}");
    assert_eq!(place.inside().len(), 2, "only `first` exists");
}

#[test]
fn a_file_is_written_whole_with_folders_mode_and_digest() {
    let place = Fixture::new();
    let write = |path: &str, mode| {
        write_file(&place.dir(), Path::new(path), Cursor::new("hello"), mode, &Cancel::new())
    };
    assert_eq!(write("./a/b/c", 0o751).unwrap(), (5, HELLO));
    assert_eq!(content(&place.inside(), b"a/b/c"), b"hello");
    assert_eq!(fs::metadata(place.target().join("a/b/c")).unwrap().mode() & 0o7777, 0o751);
    let refused = [
        ("", Rule::EmptyName),
        (".", Rule::NotNormalName),
        ("a/", Rule::NotNormalName),
        ("/tmp/x", Rule::AbsoluteName),
        ("../canary/file", Rule::ParentInName),
    ];
    for (path, wanted) in refused {
        match write(path, 0o644).unwrap_err().cause {
            Cause::Refused { rule, .. } => assert_eq!(rule, wanted, "{path}"),
            other => panic!("{path}: {other}"),
        }
    }
    let error = write("a/s", 0o4755).unwrap_err();
    assert!(matches!(error.cause, Cause::Refused { rule: Rule::SetId, .. }), "{error}");
    let error = write("a/b", 0o644).unwrap_err();
    assert!(matches!(error.cause, Cause::InTheWay { obstacle: Obstacle::ADirectory, .. }), "{error}");
    assert_eq!(place.inside().len(), 4, "and no other entry");
}

struct Broken;

impl Read for Broken {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(io::Error::other("the disk is on fire"))
    }
}

#[test]
fn a_source_that_fails_is_not_taken_for_a_bad_archive() {
    let place = Fixture::new();
    let whole = Tar::new().end();
    for (format, bytes) in [(Format::Tar, whole.clone()), (Format::TarGzip, gzip(&whole))] {
        let archive = Cursor::new(&bytes[..bytes.len() / 2]).chain(Broken);
        let error = place.unpack(archive, format).unwrap_err();
        assert!(matches!(error.cause, Cause::Read { .. }), "{error}");
        assert!(error.to_string().contains("the disk is on fire"), "{error}");
    }
    let error = write_file(&place.dir(), Path::new("f"), Broken, 0o644, &Cancel::new()).unwrap_err();
    assert!(matches!(error.cause, Cause::Read { .. }), "{error}");
}
