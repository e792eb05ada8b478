//! Tests of a walk against a sorted list, with minimal memory.

use std::{collections::BTreeSet, fs, os::fd::OwnedFd, path::Path};

use airlock_domain::FileFilter;
use proptest::prelude::*;

use super::*;

fn open(path: &Path) -> OwnedFd {
    fs::File::open(path).unwrap().into()
}

fn paths(root: &Path, after: &[u8], exclude: &[&str], share: usize) -> Vec<Vec<u8>> {
    let exclude = exclude.iter().map(ToString::to_string).collect();
    let selection = Selection::new(&FileFilter { exclude, ..FileFilter::default() }).unwrap();
    let (at, cancel) = (Inside::parse(b"").unwrap(), Cancel::new());
    let route = Route { at: &at, recursive: true, after, selection: &selection, skip_closed: false };
    let mut walk = Walk::with_share(open(root), route, &cancel, share).unwrap();
    let mut found = Vec::new();
    while let Some(seen) = walk.next().unwrap() {
        found.push(seen.path);
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Uses names that sort around the slash, in nested directories.
    #[test]
    fn it_is_the_sorted_list_from_anywhere_with_any_memory(
        files in prop::collection::btree_set("[a+./0]{1,3}(/[a+.0]{1,3}){0,3}", 1..40),
        share in 1usize..400,
    ) {
        let dir = tempfile::tempdir().unwrap();
        let mut all = BTreeSet::new();
        for file in &files {
            let parts: Vec<&str> = file.split('/').filter(|part| !part.trim_matches('.').is_empty()).collect();
            let path = dir.path().join(parts.join("/"));
            if parts.is_empty() || fs::create_dir_all(path.parent().unwrap()).is_err() || path.is_dir() {
                continue;
            }
            fs::write(&path, "").unwrap();
        }
        let mut directories = vec![dir.path().to_owned()];
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(directory).unwrap() {
                let entry = entry.unwrap();
                let below = entry.path().strip_prefix(dir.path()).unwrap().to_owned();
                all.insert(below.into_os_string().into_encoded_bytes());
                if entry.file_type().unwrap().is_dir() {
                    directories.push(entry.path());
                }
            }
        }
        let all: Vec<Vec<u8>> = all.into_iter().collect();
        prop_assert_eq!(&paths(dir.path(), b"", &[], share), &all);
        for (index, after) in all.iter().enumerate() {
            prop_assert_eq!(&paths(dir.path(), after, &[], share), &all[index + 1..]);
        }
        let without: Vec<_> = all.iter().filter(|path| !path.starts_with(b"a/") && *path != b"a").cloned().collect();
        prop_assert_eq!(&paths(dir.path(), b"", &["a"], share), &without);
    }
}

#[test]
fn a_large_folder_is_read_with_a_bounded_number_of_names() {
    let dir = tempfile::tempdir().unwrap();
    for index in 0..5000 {
        fs::write(dir.path().join(format!("{index:05}")), "").unwrap();
    }
    assert_eq!(paths(dir.path(), b"", &[], 100 * NAME_COST).len(), 5000);
}

#[test]
fn what_is_nested_too_deep_is_said_and_can_be_left_out() {
    let dir = tempfile::tempdir().unwrap();
    let deep = vec!["d"; MAX_DEPTH + 2].join("/");
    fs::create_dir_all(dir.path().join(&deep)).unwrap();
    let selection = Selection::new(&FileFilter::default()).unwrap();
    let (at, cancel) = (Inside::parse(b"").unwrap(), Cancel::new());
    let route = Route { at: &at, recursive: true, after: b"", selection: &selection, skip_closed: false };
    let mut walk = Walk::new(open(dir.path()), route, &cancel).unwrap();
    let failed = loop {
        match walk.next() {
            Ok(found) => assert!(found.is_some()),
            Err(failed) => break failed,
        }
    };
    assert_eq!(failed.reason, "TOO_DEEP");
    assert!(failed.message.contains("200 directories; name a directory closer to it"), "{}", failed.message);
    assert_eq!(paths(dir.path(), b"", &["d/d"], 1000), [b"d"]);
    cancel.cancel();
    assert_eq!(walk.next().unwrap_err().reason, "CANCELLED");
}

fn open_files() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Places files after each directory, so that the walk returns to all of them.
#[test]
fn a_deep_walk_holds_few_folders_open_and_finds_what_comes_after_them() {
    let dir = tempfile::tempdir().unwrap();
    let depth = MAX_DEPTH - 1;
    let mut directory = dir.path().to_owned();
    for _ in 0..depth {
        fs::write(directory.join("z"), "").unwrap();
        directory.push("d");
        fs::create_dir(&directory).unwrap();
    }
    let selection = Selection::new(&FileFilter::default()).unwrap();
    let (at, cancel) = (Inside::parse(b"").unwrap(), Cancel::new());
    let route = Route { at: &at, recursive: true, after: b"", selection: &selection, skip_closed: false };
    let before = open_files();
    let mut walk = Walk::new(open(dir.path()), route, &cancel).unwrap();
    let (mut files, mut directories, mut most) = (0, 0, 0);
    while let Some(seen) = walk.next().unwrap() {
        *(if seen.path.ends_with(b"z") { &mut files } else { &mut directories }) += 1;
        most = most.max(open_files() - before);
    }
    assert_eq!((files, directories), (depth, depth));
    assert!((OPEN_DIRECTORIES..OPEN_DIRECTORIES + 4).contains(&most), "{most} open at once");
}

#[test]
fn a_walk_leaves_out_the_rest_of_folders_that_were_moved_away_above_it() {
    let dir = tempfile::tempdir().unwrap();
    let deep = dir.path().join(vec!["d"; 2 * OPEN_DIRECTORIES].join("/"));
    fs::create_dir_all(&deep).unwrap();
    fs::write(deep.join("last"), "").unwrap();
    fs::write(dir.path().join("d/d/z"), "moved with it").unwrap();
    fs::write(dir.path().join("z"), "").unwrap();
    let selection = Selection::new(&FileFilter::default()).unwrap();
    let (at, cancel) = (Inside::parse(b"").unwrap(), Cancel::new());
    let route = Route { at: &at, recursive: true, after: b"", selection: &selection, skip_closed: false };
    let mut walk = Walk::new(open(dir.path()), route, &cancel).unwrap();
    while !walk.next().unwrap().unwrap().path.ends_with(b"last") {}
    fs::rename(dir.path().join("d"), dir.path().join("elsewhere")).unwrap();
    std::os::unix::fs::symlink("elsewhere", dir.path().join("d")).unwrap();
    assert_eq!(walk.next().unwrap().unwrap().path, b"z");
    assert!(walk.next().unwrap().is_none());
}
