//! Tests that `remove_tree` deletes a tree and no file outside it.

use std::{
    ffi::OsStr,
    fs,
    os::{
        fd::OwnedFd,
        unix::{
            ffi::OsStrExt,
            fs::{MetadataExt, PermissionsExt, symlink},
        },
    },
    path::{Path, PathBuf},
    thread,
};

use airlock_mounts::{PrivateMounts, RemoveError, ScratchDir, TemporaryDir, mounts_below, remove_tree};
use rustix::{
    fs::{CWD, Mode, OFlags, mkdirat, openat},
    process::{Resource, Rlimit, getrlimit, setrlimit},
    thread::{CapabilitySet, capabilities, set_capabilities},
};

/// Creates `tree` with directories and files, and `kept` next to it.
fn made() -> (ScratchDir, PathBuf, PathBuf) {
    let dir = ScratchDir::new();
    let (tree, kept) = (dir.path().join("tree"), dir.path().join("kept"));
    for path in ["a/b", "z"] {
        fs::create_dir_all(tree.join(path)).unwrap();
        fs::write(tree.join(path).join("own"), "own").unwrap();
    }
    fs::write(tree.join("top"), "own").unwrap();
    fs::create_dir_all(kept.join("deep")).unwrap();
    fs::write(kept.join("deep/precious"), "kept").unwrap();
    (dir, tree, kept)
}

/// Asserts that the removal is refused for the mount at `place`, and that the tree is unchanged.
fn assert_refused(tree: &Path, place: &Path) {
    let error = remove_tree(tree).unwrap_err();
    assert!(matches!(&error, RemoveError::Mounted(path) if path == place), "{error}");
    assert!(error.to_string().contains(&format!("`{}` is a mount point", place.display())), "{error}");
    assert_eq!(std::io::Error::from(error).kind(), std::io::ErrorKind::ResourceBusy);
    if place != tree {
        assert_eq!(fs::read(tree.join("top")).unwrap(), b"own", "no file was removed");
    }
}

#[test]
fn a_bind_mount_of_the_same_file_system_is_refused_and_its_content_survives() {
    let (_dir, tree, kept) = made();
    PrivateMounts::run(|private| {
        private.assert();
        let place = tree.join("a/b");
        let mounted = private.bind(&kept, &place);
        let device = |path: &Path| fs::metadata(path).unwrap().dev();
        assert_eq!(device(&place), device(&tree), "control: the device numbers are equal");
        assert_eq!(mounts_below(&tree).unwrap(), [place.as_path()]);
        assert_refused(&tree, &place);
        assert_refused(&place, &place);
        assert_eq!(fs::read(place.join("deep/precious")).unwrap(), b"kept");
        drop(mounted);
        assert_eq!(fs::read(place.join("own")).unwrap(), b"own", "the files below the mount");
    });
    remove_tree(&tree).unwrap();
    assert!(!tree.exists());
    assert_eq!(fs::read(kept.join("deep/precious")).unwrap(), b"kept");
}

#[test]
fn a_file_system_of_its_own_is_refused() {
    let (_dir, tree, _) = made();
    PrivateMounts::run(|private| {
        private.assert();
        for place in [tree.join("a/b"), tree.join("z"), tree.clone()] {
            let mounted = private.tmpfs(&place, "size=1m");
            fs::write(place.join("precious"), "kept").unwrap();
            assert_refused(&tree, &place);
            assert_eq!(fs::read(place.join("precious")).unwrap(), b"kept");
            drop(mounted);
        }
        remove_tree(&tree).unwrap();
        assert!(!tree.exists(), "the control");
    });
}

#[test]
fn a_name_that_the_table_of_mounts_writes_otherwise_is_recognized() {
    let (_dir, tree, kept) = made();
    let place = tree.join(OsStr::from_bytes(b"a b\t\\040\nc\xff"));
    fs::create_dir(&place).unwrap();
    PrivateMounts::run(|private| {
        private.assert();
        let _mounted = private.bind(&kept, &place);
        let error = remove_tree(&tree).unwrap_err();
        assert!(matches!(&error, RemoveError::Mounted(path) if *path == place), "{error}");
        assert_eq!(fs::read(place.join("deep/precious")).unwrap(), b"kept");
    });
}

#[test]
fn the_trees_parent_may_be_a_mount_or_be_reached_by_a_link() {
    let (dir, tree, kept) = made();
    PrivateMounts::run(|private| {
        private.assert();
        let _mounted = private.bind(&kept, tree.join("z"));
        let link = dir.path().join("link");
        symlink(tree.join("z"), &link).unwrap();
        remove_tree(link.join("deep")).unwrap();
    });
    assert_eq!(fs::read_dir(&kept).unwrap().count(), 0);
}

#[test]
fn a_link_is_removed_and_not_followed() {
    let (dir, tree, kept) = made();
    symlink(&kept, tree.join("a/link")).unwrap();
    symlink(kept.join("deep/precious"), tree.join("file")).unwrap();
    symlink("..", tree.join("up")).unwrap();
    remove_tree(&tree).unwrap();
    assert!(!tree.exists());
    let link = dir.path().join("link");
    symlink(&kept, &link).unwrap();
    remove_tree(&link).unwrap();
    assert!(fs::symlink_metadata(&link).is_err());
    assert_eq!(fs::read(kept.join("deep/precious")).unwrap(), b"kept");
}

#[test]
fn a_missing_path_is_no_error_and_a_path_without_a_name_is_one() {
    let (dir, tree, _) = made();
    remove_tree(tree.join("never")).unwrap();
    remove_tree(tree.join("never/there")).unwrap();
    remove_tree(tree.join("a/b/own")).unwrap();
    for path in ["/", "..", "", "/proc/.."] {
        let error = remove_tree(path).unwrap_err();
        assert!(error.to_string().contains("no name of its own"), "{path}: {error}");
    }
    assert!(tree.join("z/own").exists() && dir.path().exists());
}

/// Creates nested directories by handle, deeper than any path can be.
fn nest(at: &Path, levels: usize) {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut inner: OwnedFd = openat(CWD, at, flags, Mode::empty()).unwrap();
    for _ in 0..levels {
        mkdirat(&inner, "d", Mode::RWXU).unwrap();
        inner = openat(&inner, "d", flags, Mode::empty()).unwrap();
    }
    openat(&inner, "file", OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC, Mode::RUSR).unwrap();
}

#[test]
fn depth_costs_neither_stack_nor_descriptors() {
    let dir = ScratchDir::new();
    PrivateMounts::run(|private| {
        private.assert();
        // In memory, because creating many directories on a disk is slow.
        let _mounted = private.tmpfs(dir.path(), "size=64m");
        let tree = dir.path().join("tree");
        fs::create_dir(&tree).unwrap();
        nest(&tree, 10_000);
        // nextest runs each test in its own process.
        let limit = getrlimit(Resource::Nofile);
        setrlimit(Resource::Nofile, Rlimit { current: Some(32), maximum: limit.maximum }).unwrap();
        let removed = tree.clone();
        let small = thread::Builder::new().stack_size(128 << 10);
        small.spawn(move || remove_tree(removed)).unwrap().join().unwrap().unwrap();
        setrlimit(Resource::Nofile, limit).unwrap();
        assert!(!tree.exists());
    });
}

#[test]
fn directories_without_permissions_are_removed() {
    let (_dir, tree, _) = made();
    fs::create_dir_all(tree.join("shut/inner/empty")).unwrap();
    fs::write(tree.join("shut/inner/file"), "").unwrap();
    for (path, mode) in
        [("shut/inner/empty", 0o0), ("shut/inner", 0o0), ("shut", 0o0), ("a", 0o500), ("z", 0o300)]
    {
        fs::set_permissions(tree.join(path), PermissionsExt::from_mode(mode)).unwrap();
    }
    fs::set_permissions(&tree, PermissionsExt::from_mode(0o0)).unwrap();
    let removed = tree.clone();
    // Root without the capability to ignore modes.
    let ordinary = move || {
        let mut own = capabilities(None).unwrap();
        own.effective.remove(CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH);
        set_capabilities(None, own).unwrap();
        let refused = fs::read_dir(&removed).unwrap_err();
        assert_eq!(refused.kind(), std::io::ErrorKind::PermissionDenied, "the control");
        remove_tree(removed)
    };
    thread::spawn(ordinary).join().unwrap().unwrap();
    assert!(!tree.exists());
}

#[test]
fn any_names_and_any_number_of_entries_go() {
    let (_dir, tree, _) = made();
    fs::create_dir(tree.join("moved-1")).unwrap();
    fs::write(tree.join("moved-2"), "").unwrap();
    for name in [&b"-rf"[..], b"\xff\xfe", b" ", b"a\nb", &[b'n'; 255]] {
        let path = tree.join(OsStr::from_bytes(name));
        fs::create_dir_all(path.join("x/y")).unwrap();
        fs::write(path.join("x/y/inner"), "").unwrap();
    }
    for index in 0..5000 {
        fs::write(tree.join("a").join(index.to_string()), "").unwrap();
    }
    remove_tree(&tree).unwrap();
    assert!(!tree.exists());
}

#[test]
fn a_temporary_directory_stays_while_something_is_mounted_in_it() {
    let (_dir, _, kept) = made();
    let [dropped, closed] = ["one-", "two-"].map(|prefix| TemporaryDir::new(prefix).unwrap());
    let paths = [dropped.path().to_owned(), closed.path().to_owned()];
    PrivateMounts::run(|private| {
        private.assert();
        let _mounted = paths.each_ref().map(|path| {
            fs::create_dir(path.join("sub")).unwrap();
            private.bind(&kept, path.join("sub"))
        });
        drop(dropped);
        let error = closed.close().unwrap_err();
        assert!(matches!(error, RemoveError::Mounted(_)), "{error}");
    });
    for path in &paths {
        remove_tree(path).unwrap();
    }
    assert_eq!(fs::read(kept.join("deep/precious")).unwrap(), b"kept");
    let gone = TemporaryDir::new("three-").unwrap();
    let path = gone.path().to_owned();
    drop(gone);
    assert!(!path.exists(), "the control");
}
