//! Tests of `remove_tree` and `in_own_mounts` in `scripts/lib.sh`, with private mounts.

use std::{
    fs,
    os::unix::fs::symlink,
    path::Path,
    process::{Command, Output},
};

use airlock_mounts::{PrivateMounts, ScratchDir, mounts_below};
use airlock_tests::source;

/// Runs a script that sources the library, with these arguments.
fn bash(script: &str, words: &[&Path]) -> Output {
    let script = format!("set -euo pipefail; . scripts/lib.sh; {script}");
    let mut bash = Command::new("bash");
    bash.args(["-c", &script, "bash"]).args(words).current_dir(source::root()).output().unwrap()
}

fn made() -> ScratchDir {
    let dir = ScratchDir::new();
    for path in ["tree/a b/c", "tree/z", "kept"] {
        fs::create_dir_all(dir.path().join(path)).unwrap();
    }
    fs::write(dir.path().join("tree/own"), "").unwrap();
    fs::write(dir.path().join("kept/precious"), "kept").unwrap();
    dir
}

#[test]
fn a_script_does_not_remove_what_is_mounted() {
    let dir = made();
    let (tree, kept) = (dir.path().join("tree"), dir.path().join("kept"));
    PrivateMounts::run(|private| {
        private.assert();
        for place in [tree.join("a b/c"), tree.join("z"), tree.clone()] {
            let mounted = private.bind(&kept, &place);
            let output = bash("remove_tree \"$1\"; echo on", &[&tree]);
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(1), &b""[..]), "{said}");
            assert!(said.contains(&format!("`{}` is a mount point", place.display())), "{said}");
            assert_eq!(fs::read(place.join("precious")).unwrap(), b"kept");
            // The most frequent use.
            let output = bash("trap 'remove_tree \"$1\"' EXIT", &[&tree]);
            assert_eq!(output.status.code(), Some(1));
            drop(mounted);
            assert!(tree.join("own").exists() && kept.join("precious").exists(), "no file was removed");
        }
        // A mount next to the tree is not below it.
        let _mounted = private.bind(&kept, tree.join("z"));
        assert!(bash("remove_tree \"$1\"", &[&tree.join("a b")]).status.success());
        assert!(!tree.join("a b").exists() && tree.join("own").exists());
    });
    let output = bash("remove_tree \"$1\" \"$2\"; echo on", &[&tree, &dir.path().join("never")]);
    assert_eq!(output.stdout, b"on\n", "the control: {}", String::from_utf8_lossy(&output.stderr));
    assert!(!tree.exists() && kept.join("precious").exists());
}

#[test]
fn a_script_removes_no_links_files_or_the_root() {
    let dir = made();
    let (link, file) = (dir.path().join("link"), dir.path().join("kept/precious"));
    symlink("kept", &link).unwrap();
    for path in [&link, &file, Path::new("/"), Path::new("/proc/..")] {
        // The test uses the root only with a replaced `rm`, which removes nothing.
        let output = bash("rm() { echo \"rm $*\"; exit 0; }; remove_tree \"$1\"", &[path]);
        assert_eq!(
            (output.status.code(), output.stdout.as_slice()),
            (Some(1), &b""[..]),
            "{}",
            path.display()
        );
    }
    assert!(link.is_symlink() && file.exists());
}

#[test]
fn a_program_of_a_script_mounts_where_nobody_else_sees_it() {
    let dir = made();
    let script = "in_own_mounts sh -ec 'mount -t tmpfs none \"$1\"; : > \"$1/file\"; ls -A \"$1\"' sh \"$1\"";
    let output = bash(script, &[&dir.path().join("tree")]);
    assert_eq!(output.stdout, b"file\n", "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(mounts_below(dir.path()).unwrap(), [] as [&Path; 0]);
    assert!(dir.path().join("tree/own").exists());
}
