//! Checks, compares and unpacks every hostile archive next to a canary.

use std::{collections::BTreeSet, fs, io::Read, path::Path};

use airlock_archive::{
    ArchiveError, Cancel, Cause, Format, TEMPORARY_PREFIX, check, conflicts,
    hostile::{Hostile, cases},
};

use crate::tree::{Fixture, LIMITS, all};

/// Asserts that the result is the expected one, and that an error has a name and a remedy.
fn assert_answer(case: &Hostile, doing: &str, result: Result<(), ArchiveError>) {
    let name = case.name;
    match (result, case.refusal) {
        (Ok(()), None) => {}
        (Ok(()), Some(refusal)) => {
            panic!("{doing} accepted `{name}` instead of refusing it with `{refusal}`")
        }
        (Err(error), None) => panic!("`{name}` was refused by {doing}: {error}"),
        (Err(error), Some(refusal)) => {
            let message = error.to_string();
            assert!(message.contains(refusal), "`{name}`, {doing}: `{message}` does not contain `{refusal}`");
            assert!(message.len() < 600 && !message.contains(char::is_control), "`{name}`: {message:?}");
            let is_of_bytes = matches!(error.cause, Cause::Malformed { .. } | Cause::Truncated { .. });
            assert!(is_of_bytes || message.contains("entry "), "`{name}`: no entry in `{message}`");
        }
    }
}

#[test]
fn there_are_enough_hostile_archives_and_each_is_another() {
    let cases = cases();
    let names: BTreeSet<&str> = cases.iter().map(|case| case.name).collect();
    assert_eq!(names.len(), cases.len(), "each case has a unique name");
    let refused = cases.iter().filter(|case| case.refusal.is_some()).count();
    assert!(refused >= 100 && cases.len() - refused >= 25, "{refused} of {}", cases.len());
}

#[test]
fn checking_answers_every_hostile_archive() {
    for case in cases() {
        let result = check((case.bytes)(), case.format, &LIMITS, &Cancel::new());
        assert_answer(&case, "check", result.map(drop));
    }
}

#[test]
fn comparing_answers_every_hostile_archive_and_touches_nothing() {
    for case in cases() {
        let place = Fixture::new();
        let before = all(place.root());
        let result = conflicts((case.bytes)(), case.format, &place.dir(), &LIMITS, &Cancel::new());
        assert_answer(&case, "conflicts", result.map(drop));
        assert_eq!(all(place.root()), before, "`{}` touched something", case.name);
    }
}

#[test]
fn unpacking_hostile_archives_changes_nothing_outside_of_the_folder() {
    for case in cases() {
        let place = Fixture::new();
        let before = place.outside();
        let result = place.unpack((case.bytes)(), case.format);
        assert_eq!(place.outside(), before, "`{}` got out", case.name);
        assert_answer(&case, "unpack", result.map(drop));
        for (path, (mode, ..)) in place.inside() {
            let name = path.to_string_lossy();
            assert!(!name.contains(TEMPORARY_PREFIX), "`{}` left `{name}`", case.name);
            let kind = mode & 0o170_000;
            assert!([0o100_000, 0o040_000, 0o120_000].contains(&kind), "`{}` made `{name}`", case.name);
            assert_eq!(mode & 0o7000, 0, "`{}` set bits on `{name}`", case.name);
        }
        assert!(!Path::new("/tmp/airlock-canary").exists(), "`{}` got to /tmp", case.name);
    }
}

#[test]
fn no_link_of_a_hostile_archive_leads_out() {
    for case in cases() {
        let place = Fixture::new();
        let _ = place.unpack((case.bytes)(), case.format);
        let root = place.target().canonicalize().unwrap();
        let seen = place.inside();
        for path in seen.iter().filter(|(_, (mode, ..))| mode & 0o170_000 == 0o120_000).map(|(path, _)| path)
        {
            if let Ok(real) = root.join(path).canonicalize() {
                assert!(
                    real.starts_with(&root),
                    "`{}`: {} leads to {}",
                    case.name,
                    path.display(),
                    real.display()
                );
            }
        }
    }
}

/// The control: these archives escape from a program that joins and opens paths.
#[test]
fn a_naive_unpacker_is_beaten_by_the_same_archives() {
    for name in ["parent first", "parent after dot", "PAX sets a parent"] {
        let place = Fixture::new();
        let case = cases().into_iter().find(|case| case.name == name).unwrap();
        let mut archive = tar::Archive::new((case.bytes)());
        for entry in archive.entries().unwrap() {
            let mut entry = entry.unwrap();
            let path = place.target().join(entry.path().unwrap());
            let mut content = Vec::new();
            entry.read_to_end(&mut content).unwrap();
            fs::write(path, content).unwrap();
        }
        assert_eq!(fs::read(place.canary()).unwrap(), b"evil", "{name}");
    }
    let place = Fixture::new();
    std::os::unix::fs::symlink("here/../canary", place.target().join("out")).unwrap();
    std::os::unix::fs::symlink(".", place.target().join("here")).unwrap();
    assert_eq!(
        fs::read(place.target().join("out/file")).unwrap(),
        b"alive",
        "the chain of links leads outside"
    );
}

#[test]
fn a_refusal_names_entry_rule_and_cure() {
    let case = cases().into_iter().find(|case| case.name == "parent in the middle").unwrap();
    let error = check((case.bytes)(), Format::Tar, &LIMITS, &Cancel::new()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "entry 2 `a/../../canary/file`: its name contains `..`; make the archive from the directory itself, \
         as \
         `tar -C directory -cf - .` does"
    );
    let error = Fixture::new().unpack((case.bytes)(), Format::Tar).unwrap_err();
    assert_eq!(error.put, 1);
    assert!(error.to_string().ends_with("; 1 entry was already written"), "{error}");
}
