//! Tests of the second guard alone: the steps of a removal without the preceding check of the mount table. Each test
//! uses private mounts.

use rustix::fs::Mode;

use super::*;
use crate::{PrivateMounts, ScratchDir};

/// Creates `tree` with directories and files, and `kept` next to it.
fn made() -> (ScratchDir, PathBuf, PathBuf) {
    let dir = ScratchDir::new();
    let (tree, kept) = (dir.path().join("tree"), dir.path().join("kept"));
    fs::create_dir_all(tree.join("a/b/c/d")).unwrap();
    fs::write(tree.join("a/file"), "").unwrap();
    fs::create_dir_all(kept.join("deep")).unwrap();
    fs::write(kept.join("deep/precious"), "kept").unwrap();
    (dir, tree, kept)
}

/// Removes the tree, and calls `meanwhile` between opening its root and the first step.
fn remove_after(tree: &Path, meanwhile: impl FnOnce()) -> Result<(), RemoveError> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let parent = openat(CWD, tree.parent().unwrap(), flags, Mode::empty()).unwrap();
    let root = open_directory(parent.as_fd(), c"tree").unwrap();
    meanwhile();
    remove_all(parent.as_fd(), c"tree", root)
}

#[test]
fn no_step_passes_a_mount_that_appeared_after_the_look() {
    for place in ["a", "a/b", "a/b/c", "a/b/c/d"] {
        let (_dir, tree, kept) = made();
        PrivateMounts::run(|private| {
            private.assert();
            let mut mounted = None;
            let error =
                remove_after(&tree, || mounted = Some(private.bind(&kept, tree.join(place)))).unwrap_err();
            assert!(matches!(error, RemoveError::Mounted(_)), "{place}: {error}");
            // The directory may have been moved, with the mount on it.
            let mounts = table::mounts_below(&tree).unwrap();
            assert_eq!(mounts.len(), 1, "{place}");
            assert_eq!(fs::read(mounts[0].join("deep/precious")).unwrap(), b"kept", "{place}");
            std::mem::forget(mounted.unwrap());
            private.unmount(&mounts[0]);
        });
        assert_eq!(fs::read(kept.join("deep/precious")).unwrap(), b"kept", "{place}");
        remove_tree(&tree).unwrap();
        assert!(!tree.exists(), "control: without the mount, the tree is removed");
    }
}

#[test]
fn a_mount_that_covers_the_root_is_not_entered() {
    let (_dir, tree, kept) = made();
    PrivateMounts::run(|private| {
        private.assert();
        let mut mounted = None;
        let error = remove_after(&tree, || mounted = Some(private.bind(&kept, &tree))).unwrap_err();
        assert!(matches!(&error, RemoveError::Mounted(path) if *path == tree), "{error}");
        assert_eq!(fs::read(tree.join("deep/precious")).unwrap(), b"kept");
    });
    assert_eq!(fs::read(kept.join("deep/precious")).unwrap(), b"kept");
}

#[test]
fn a_file_that_is_a_mount_point_stays() {
    let (_dir, tree, kept) = made();
    PrivateMounts::run(|private| {
        private.assert();
        let mut mounted = None;
        let file = tree.join("a/file");
        let bind = || mounted = Some(private.bind(kept.join("deep/precious"), &file));
        let error = remove_after(&tree, bind).unwrap_err();
        assert!(matches!(&error, RemoveError::Mounted(path) if *path == file), "{error}");
        assert_eq!(fs::read(file).unwrap(), b"kept");
    });
    assert_eq!(fs::read(kept.join("deep/precious")).unwrap(), b"kept");
}
