//! Round trips of random directories: with this crate only, from it to GNU tar, and from GNU tar to
//! it.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs,
    io::{Cursor, Write},
    os::unix::{
        ffi::OsStrExt,
        fs::{PermissionsExt, symlink},
    },
    path::PathBuf,
    process::{Command, Stdio},
    time::{Duration, SystemTime},
};

use airlock_archive::{Cancel, Format, Pack, Packed, check, globs, pack};
use proptest::{collection, prelude::*, sample::select};

use crate::tree::{Fixture, LIMITS, Seen};

/// An entry to create.
#[derive(Debug, Clone)]
enum Thing {
    File(Vec<u8>, u32),
    Directory(u32),
    /// A link: the number of directories to go up, and the name to go down to.
    Link(usize, Vec<u8>),
}

/// Generates any name that the kernel accepts.
fn name() -> impl Strategy<Value = Vec<u8>> {
    let byte = (1..=255_u8).prop_filter("no slash", |byte| *byte != b'/');
    let odd = collection::vec(byte, 1..20);
    let long = (90..255_usize).prop_map(|length| vec![b'l'; length]);
    let few = select(vec![b"a".to_vec(), b"b".to_vec(), b"\\".to_vec(), b"-".to_vec(), b"...".to_vec()]);
    prop_oneof![3 => few, 3 => odd, 1 => long].prop_filter("no dots", |name| name != b"." && name != b"..")
}

fn thing() -> impl Strategy<Value = Thing> {
    // The owner must be able to read the entry, because the test may not run as root.
    let mode = (0..0o1000_u32).prop_map(|mode| mode | 0o400);
    let size = prop_oneof![0..20_usize, 500..530_usize, Just(70_000_usize)];
    let content = (size, any::<u8>()).prop_map(|(size, byte)| vec![byte; size]);
    prop_oneof![
        3 => (content, mode.clone()).prop_map(|(content, mode)| Thing::File(content, mode)),
        1 => mode.prop_map(|mode| Thing::Directory(mode | 0o100)),
        1 => (0..3_usize, name()).prop_map(|(up, name)| Thing::Link(up, name)),
    ]
}

fn trees() -> impl Strategy<Value = Vec<(Vec<Vec<u8>>, Thing, u32)>> {
    collection::vec((collection::vec(name(), 1..5), thing(), any::<u32>()), 0..25)
}

/// Creates the entries that can be created. A name that exists, or that is below a file, is
/// skipped.
fn make(place: &Fixture, tree: &[(Vec<Vec<u8>>, Thing, u32)]) {
    let mut directories: BTreeMap<PathBuf, (u32, u32)> = BTreeMap::new();
    for (names, thing, seconds) in tree {
        let (last, above) = names.split_last().unwrap();
        let above: PathBuf = above.iter().map(|name| OsStr::from_bytes(name)).collect();
        let directory = place.target().join(above);
        // Nothing is created through a link, which may lead anywhere.
        let through_link = directory.ancestors().any(|directory| directory.is_symlink());
        if through_link || fs::create_dir_all(&directory).is_err() {
            continue;
        }
        let path = directory.join(OsStr::from_bytes(last));
        if fs::symlink_metadata(&path).is_ok() {
            continue;
        }
        match thing {
            Thing::File(content, mode) => {
                fs::write(&path, content).unwrap();
                let file = fs::File::open(&path).unwrap();
                file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(u64::from(*seconds))).unwrap();
                file.set_permissions(fs::Permissions::from_mode(*mode)).unwrap();
            }
            Thing::Directory(mode) => {
                fs::create_dir(&path).unwrap();
                directories.insert(path, (*mode, *seconds));
            }
            Thing::Link(up, name) => {
                let up = (*up).min(names.len() - 1);
                symlink(OsStr::from_bytes(&[&b"../".repeat(up)[..], name].concat()), &path).unwrap();
            }
        }
    }
    for (path, (mode, seconds)) in directories.iter().rev() {
        let directory = fs::File::open(path).unwrap();
        directory.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(u64::from(*seconds))).unwrap();
        directory.set_permissions(fs::Permissions::from_mode(*mode)).unwrap();
    }
}

/// Removes the attributes that are not preserved: fractions of a second, times of links, and the
/// directory itself.
fn kept(place: &Fixture) -> BTreeMap<PathBuf, Seen> {
    let mut seen = place.inside();
    seen.remove(&PathBuf::new());
    for (mode, _, seconds, nanos, _) in seen.values_mut() {
        *nanos = 0;
        if *mode & 0o170_000 == 0o120_000 {
            *seconds = 0;
        }
    }
    seen
}

fn packed(place: &Fixture, format: Format) -> (Vec<u8>, Packed) {
    let (cancel, exclude) = (Cancel::new(), globs(&[]).unwrap());
    let options = Pack { exclude: &exclude, left_out: &BTreeMap::new(), limits: &LIMITS, cancel: &cancel };
    let mut out = Vec::new();
    let packed = pack(&place.dir(), format, &mut out, &options).unwrap();
    (out, packed)
}

fn gnu_tar(place: &Fixture, arguments: &[&str], input: &[u8]) -> Vec<u8> {
    let mut child = Command::new("tar")
        .args(arguments)
        .arg("-C")
        .arg(place.target())
        .args(["-f", "-"])
        .args(arguments.contains(&"-c").then_some("."))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    output.stdout
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, ..ProptestConfig::default() })]

    #[test]
    fn any_folder_comes_back_as_it_was(tree in trees(), gzip in any::<bool>()) {
        let (from, to) = (Fixture::new(), Fixture::new());
        make(&from, &tree);
        let format = if gzip { Format::TarGzip } else { Format::Tar };
        let (archive, packed) = packed(&from, format);
        prop_assert_eq!(packed.skipped_total, 0);
        let counts = check(Cursor::new(&archive), format, &LIMITS, &Cancel::new()).unwrap();
        prop_assert_eq!(counts, packed.counts);
        prop_assert_eq!(to.unpack(Cursor::new(&archive), format).unwrap(), counts);
        prop_assert_eq!(kept(&to), kept(&from));
    }

    #[test]
    fn any_bytes_are_answered(bytes in collection::vec(any::<u8>(), 0..3000), gzip in any::<bool>()) {
        let format = if gzip { Format::TarGzip } else { Format::Tar };
        let place = Fixture::new();
        let before = place.outside();
        prop_assert!(place.unpack(Cursor::new(bytes), format).is_err());
        prop_assert_eq!(place.outside(), before);
    }
}

#[test]
fn gnu_tar_reads_what_is_packed_and_its_archives_are_read() {
    let from = Fixture::new();
    let tree: Vec<(Vec<Vec<u8>>, Thing, u32)> = vec![
        (vec![vec![b'l'; 200], vec![b'n'; 200]], Thing::File(vec![b'x'; 1000], 0o640), 1_700_000_000),
        (vec![b"a".to_vec(), b"link".to_vec()], Thing::Link(1, vec![b'l'; 200]), 0),
        (vec![b"a".to_vec(), b"\xff\nx".to_vec()], Thing::File(vec![], 0o444), 5),
        (vec![b"closed".to_vec()], Thing::Directory(0o500), 7),
    ];
    make(&from, &tree);
    let (archive, _) = packed(&from, Format::Tar);
    let theirs = Fixture::new();
    gnu_tar(&theirs, &["-x", "-p"], &archive);
    assert_eq!(kept(&theirs), kept(&from));
    for format in ["gnu", "pax"] {
        let archive = gnu_tar(&from, &["-c", &format!("--format={format}")], b"");
        let ours = Fixture::new();
        ours.unpack(Cursor::new(archive), Format::Tar).unwrap();
        assert_eq!(kept(&ours), kept(&from), "{format}");
    }
}
