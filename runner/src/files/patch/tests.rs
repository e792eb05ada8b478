//! Tests that apply patches with git.

use std::{
    ffi::OsStr,
    fs,
    io::Write,
    os::unix::ffi::OsStrExt,
    path::Path,
    process::{Command, Stdio},
};

use proptest::prelude::*;

use super::*;

fn side(content: &[u8]) -> Side {
    Side { mode: 0o644, content: Ok(content.to_vec()) }
}

fn apply(directory: &Path, patch: &[u8]) {
    let mut git = Command::new("git")
        .args(["apply", "--unidiff-zero", "--whitespace=nowarn", "-"])
        .current_dir(directory)
        .env("GIT_CEILING_DIRECTORIES", directory.parent().unwrap())
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    git.stdin.take().unwrap().write_all(patch).unwrap();
    let done = git.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.success(), "{said}\n{}", String::from_utf8_lossy(patch));
}

fn round(name: &[u8], old: Option<&[u8]>, new: Option<&[u8]>) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(OsStr::from_bytes(name));
    if let Some(old) = old {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, old).unwrap();
    }
    let patch = patch(name, old.map(side).as_ref(), new.map(side).as_ref()).unwrap();
    apply(dir.path(), &patch);
    assert_eq!(fs::read(&path).ok().as_deref(), new, "{}", String::from_utf8_lossy(&patch));
}

#[test]
fn git_applies_changes_additions_and_deletions_of_any_name() {
    for name in [
        &b"a"[..],
        b"deep/er/b c",
        b"quote\"d",
        b"back\\slash",
        b"new\nline\t",
        b"\xff\xfe",
        "gr\u{fc}n".as_bytes(),
    ] {
        round(name, Some(b"one\ntwo\n"), Some(b"one\n2\n"));
        round(name, None, Some(b"one\n"));
        round(name, Some(b"one\n"), None);
    }
    round(b"a", None, Some(b""));
    round(b"a", Some(b""), None);
    round(b"a", Some(b"no end"), Some(b"no end\n"));
    round(b"a", Some(b"lone\rreturns\rin\r\nit"), Some(b"lone\rReturns\rin\r\nit"));
    round(b"a", Some(b"\xfe not utf-8\n"), Some(b"\xff not utf-8\n"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn git_makes_the_new_text_of_the_old_one(
        old in prop::collection::vec("[ab\r]{0,2}\n?", 0..30),
        new in prop::collection::vec("[ab\r]{0,2}\n?", 0..30),
    ) {
        let (old, new) = (old.concat(), new.concat());
        prop_assume!(old != new);
        round(b"file", Some(old.as_bytes()), Some(new.as_bytes()));
    }
}

#[test]
fn what_cannot_be_shown_says_why() {
    let of = |old: &[u8], new: &[u8]| patch(b"a", Some(&side(old)), Some(&side(new)));
    assert_eq!(of(b"\0", b"text"), Err(Omitted::Binary));
    assert_eq!(of(b"text", b"\0"), Err(Omitted::Binary));
    assert_eq!(of(b"", &b"x\n".repeat(PATCH_BYTES)), Err(Omitted::TooLarge));
    let missing = Side { mode: 0o644, content: Err(Omitted::NotKept) };
    assert_eq!(patch(b"a", Some(&missing), Some(&side(b"text"))), Err(Omitted::NotKept));
    assert_eq!(patch(b"a", Some(&missing), Some(&side(b"\0"))), Err(Omitted::NotKept));
}

/// The hardest input of its size: all lines are unique, and all are moved.
#[test]
fn a_hard_comparison_ends_in_time() {
    let lines = |step: usize| -> Vec<u8> {
        (0..40_000usize).map(|index| format!("{}\n", index * step % 40_009)).collect::<String>().into_bytes()
    };
    let _ = patch(b"a", Some(&side(&lines(1))), Some(&side(&lines(7919))));
}
