//! Tests with a hostile program that changes the directory during unpacking, packing and writing. Each
//! attack has a control that shows that it succeeds against a program that opens paths.

use std::{
    collections::BTreeMap,
    fs,
    io::{self, Cursor, Read},
    os::unix::fs::symlink,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use airlock_archive::{
    Cancel, Cause, Format, Obstacle, Pack, TEMPORARY_PREFIX, globs,
    hostile::{Block, Tar},
    pack, write_file,
};
use rustix::fs::{CWD, FileType, Mode, RenameFlags, mknodat, renameat_with};

use crate::tree::{Fixture, LIMITS, content};

/// The smallest number of rounds. Each test continues until the race has occurred.
const ROUNDS: usize = 400;
/// A larger number, because the time between the check of a file and its opening is short.
const ROUNDS_OF_FILES: usize = 10_000;

/// Exchanges two names repeatedly while `work` runs.
fn while_swapping<T>(one: &Path, two: &Path, work: impl FnOnce() -> T) -> T {
    struct Stop<'a>(&'a AtomicBool);
    impl Drop for Stop<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Release);
        }
    }
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Acquire) {
                // One of the names may not exist for a moment.
                let _ = renameat_with(CWD, one, CWD, two, RenameFlags::EXCHANGE);
            }
        });
        let _stop = Stop(&stop);
        work()
    })
}

/// Creates `a/b`, and `a/swap`, a link to the canary's directory that is exchanged with it.
fn trap() -> Fixture {
    let place = Fixture::fast();
    let target = place.target();
    fs::create_dir_all(target.join("a/b")).unwrap();
    symlink(place.root().join("canary"), target.join("a/swap")).unwrap();
    place
}

fn assert_alive(place: &Fixture) {
    assert_eq!(fs::read(place.canary()).unwrap(), b"alive");
    let beside = fs::read_dir(place.root().join("canary")).unwrap().count();
    assert_eq!(beside, 1, "no file was created next to the canary");
}

#[test]
fn no_swap_of_folders_and_links_gets_an_unpacker_out() {
    let place = trap();
    let target = place.target();
    let archive = Tar::new()
        .file(b"a/b/file", b"evil")
        .header(Block::directory(b"a/b/").mode(0o700))
        .header(Block::symlink(b"a/b/link", b"file"))
        .header(Block::hard_link(b"a/b/hard", b"first"))
        .file(b"a/b/c/d/file", b"evil")
        .end();
    let (mut done, mut stopped) = (0, 0);
    while_swapping(&target.join("a/b"), &target.join("a/swap"), || {
        while stopped == 0 || done + stopped < ROUNDS {
            match place.unpack(Cursor::new(&archive), Format::Tar) {
                Ok(_) => done += 1,
                Err(error) => {
                    assert!(
                        matches!(&error.cause, Cause::InTheWay { obstacle: Obstacle::NotADirectory, .. }),
                        "{error}"
                    );
                    stopped += 1;
                }
            }
        }
    });
    assert_alive(&place);
    let left =
        place.inside().into_keys().filter(|path| path.to_string_lossy().contains(TEMPORARY_PREFIX)).count();
    assert_eq!(left, 0, "no temporary file remains");
}

#[test]
fn no_swap_gets_a_written_file_out() {
    let place = trap();
    let target = place.target();
    let dir = place.dir();
    let (mut done, mut stopped) = (0, 0);
    while_swapping(&target.join("a/b"), &target.join("a/swap"), || {
        while stopped == 0 || done + stopped < ROUNDS {
            let content = Cursor::new(b"evil");
            let result = write_file(&dir, Path::new("a/b/file"), content, 0o644, &Cancel::new());
            if result.is_ok() { done += 1 } else { stopped += 1 }
        }
    });
    assert_alive(&place);
}

/// The control.
#[test]
fn the_same_swap_gets_whoever_writes_by_path_out() {
    let place = trap();
    let target = place.target();
    while_swapping(&target.join("a/b"), &target.join("a/swap"), || {
        while fs::read(place.canary()).unwrap() == b"alive" {
            let _ = fs::write(target.join("a/b/file"), "evil");
        }
    });
}

fn packed(place: &Fixture) -> Vec<u8> {
    let (cancel, exclude) = (Cancel::new(), globs(&[]).unwrap());
    let options = Pack { exclude: &exclude, left_out: &BTreeMap::new(), limits: &LIMITS, cancel: &cancel };
    let mut out = Vec::new();
    pack(&place.dir(), Format::Tar, &mut out, &options).unwrap();
    out
}

fn holds(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

#[test]
fn no_swap_of_folders_gets_a_packer_out() {
    let place = trap();
    let target = place.target();
    fs::write(target.join("a/b/file"), "inside").unwrap();
    let (mut met, mut missed) = (0, 0);
    while_swapping(&target.join("a/b"), &target.join("a/swap"), || {
        while met == 0 || missed == 0 || met + missed < ROUNDS {
            let archive = packed(&place);
            assert!(!holds(&archive, b"alive"), "the canary's content was packed");
            if holds(&archive, b"inside") { met += 1 } else { missed += 1 }
        }
    });
}

#[test]
fn no_swap_of_files_gets_a_packer_out() {
    let place = Fixture::fast();
    let target = place.target();
    fs::write(target.join("file"), "inside").unwrap();
    symlink(place.canary(), target.join("swap")).unwrap();
    while_swapping(&target.join("file"), &target.join("swap"), || {
        for _ in 0..ROUNDS_OF_FILES {
            assert!(!holds(&packed(&place), b"alive"), "the canary's content was packed");
        }
    });
}

/// The control.
#[test]
fn the_same_swap_gets_whoever_reads_by_path_out() {
    let place = trap();
    let target = place.target();
    fs::write(target.join("a/b/file"), "inside").unwrap();
    while_swapping(&target.join("a/b"), &target.join("a/swap"), || {
        while fs::read(target.join("a/b/file")).unwrap_or_default() != b"alive" {}
    });
}

/// Opening a named pipe for reading waits for a writer.
#[test]
fn a_pipe_in_the_place_of_a_file_does_not_stop_a_packer() {
    let place = Fixture::fast();
    let target = place.target();
    fs::write(target.join("file"), "inside").unwrap();
    let pipe = target.join("pipe");
    mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    while_swapping(&target.join("file"), &pipe, || {
        for _ in 0..ROUNDS_OF_FILES {
            packed(&place);
        }
    });
}

/// A reader that places a link between the check of an archive and its content.
struct Springs<'a> {
    archive: Cursor<Vec<u8>>,
    at: u64,
    spring: &'a dyn Fn(),
}

impl Read for Springs<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.archive.position() >= self.at {
            (self.spring)();
            self.at = u64::MAX;
        }
        (&mut self.archive).take(512).read(buffer)
    }
}

#[test]
fn a_link_that_is_put_in_the_way_between_two_entries_is_not_followed() {
    let place = Fixture::new();
    let target = place.target();
    let archive = Tar::default().file(b"d/one", b"1").file(b"e/two", b"2").file(b"d/three", b"evil").end();
    let spring = || {
        fs::remove_dir_all(target.join("d")).unwrap();
        symlink(place.root().join("canary"), target.join("d")).unwrap();
    };
    let springs = Springs { archive: Cursor::new(archive), at: 4 * 512, spring: &spring };
    let error = place.unpack(springs, Format::Tar).unwrap_err();
    assert!(matches!(&error.cause, Cause::InTheWay { obstacle: Obstacle::NotADirectory, .. }), "{error}");
    assert!(error.to_string().starts_with("`d` is a link or a file where a directory is needed"), "{error}");
    assert_eq!(error.put, 4, "two directories and two files");
    assert_alive(&place);
}

#[test]
fn a_link_in_the_place_of_a_finished_folder_does_not_get_its_mode() {
    let place = Fixture::new();
    let target = place.target();
    let archive = Tar::default().header(Block::directory(b"d/").mode(0o500)).file(b"e", b"1").end();
    let spring = || {
        fs::remove_dir(target.join("d")).unwrap();
        symlink(place.root().join("canary"), target.join("d")).unwrap();
    };
    let before = place.outside();
    let springs = Springs { archive: Cursor::new(archive), at: 1024, spring: &spring };
    place.unpack(springs, Format::Tar).unwrap_err();
    assert_eq!(place.outside(), before);
    assert_eq!(content(&place.inside(), b"e"), b"1");
}
