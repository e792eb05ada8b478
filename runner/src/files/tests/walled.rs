//! Tests that file work has only the rights of the session's user. Files that this user cannot read or change cannot
//! be read or changed through the runner, and the refusal is reported.

use std::os::unix::fs::{MetadataExt, chown};

use super::*;

const SECRET: &[u8] = b"of root alone";

/// Creates a workspace with a file of root, and with a file and a directory that the session's user has closed.
fn closed() -> Fixture {
    let fixture = Fixture::new();
    assert!(fixture.session.owner().is_some(), "only a runner with root has a user per session");
    fixture.write("open", "read me");
    fixture.write("closed", "read me not");
    fixture.write("folder/file", "nor me");
    fixture.write("of-root", SECRET);
    chown(fixture.path("of-root"), Some(0), Some(0)).unwrap();
    set_mode(&fixture, "of-root", 0o600);
    set_mode(&fixture, "closed", 0);
    set_mode(&fixture, "folder", 0);
    fixture
}

fn set_mode(fixture: &Fixture, path: &str, mode: u32) {
    fs::set_permissions(fixture.path(path), fs::Permissions::from_mode(mode)).unwrap();
}

#[tokio::test]
async fn a_download_leaves_out_what_the_session_cannot_read_and_says_so() {
    let fixture = closed();
    // The control: the runner itself can read it.
    assert_eq!(fs::read(fixture.path("of-root")).unwrap(), SECRET);
    assert_eq!(fs::read(fixture.path("folder/file")).unwrap(), b"nor me");
    let got = fixture.download(fixture.download_order("t", "")).await.unwrap();
    let skipped: Vec<_> =
        got.done.skipped.iter().map(|it| (it.path.as_slice(), it.reason.as_str())).collect();
    let expected = ["closed", "folder", "of-root"].map(|name| format!("/workspace/{name}").into_bytes());
    let expected: Vec<_> = expected.iter().map(|path| (path.as_slice(), "it cannot be read")).collect();
    assert_eq!((skipped, got.done.files), (expected, 1));
    assert!(!got.bytes.windows(SECRET.len()).any(|part| part == SECRET));
    for path in ["of-root", "closed", "folder", "folder/file"] {
        let failed = fixture.download(fixture.download_order("one", path)).await.unwrap_err();
        assert_eq!(failed.reason, "NOT_READABLE", "{path}");
        assert!(failed.message.contains("change them with chmod"), "{}", failed.message);
    }
}

#[tokio::test]
async fn what_cannot_be_read_is_listed_and_compared_as_far_as_it_can_be_seen() {
    let fixture = closed();
    let listed = fixture.list(fixture.list_order("")).await.unwrap().0;
    assert_eq!(names(&listed), ["closed", "folder", "of-root", "open"]);
    let all = || ListOrder { recursive: true, ..fixture.list_order("") };
    assert_eq!(reason(fixture.list(all()).await), "NOT_READABLE");
    let patches = || DiffOrder { patch: true, ..fixture.diff_order("") };
    assert_eq!(reason(fixture.diff(patches()).await), "NOT_READABLE");
    let exclude =
        FileFilter { exclude: vec!["folder/*".to_owned(), "folder".to_owned()], ..Default::default() };
    let order = ListOrder { filter: exclude.clone(), ..all() };
    assert_eq!(names(&fixture.list(order).await.unwrap().0), ["closed", "of-root", "open"]);
    let (changes, _) = fixture.diff(DiffOrder { filter: exclude, ..patches() }).await.unwrap();
    let patched: Vec<_> = changes.iter().map(|it| (told(&it.kind), !it.patch.is_empty())).collect();
    let expected = [("A closed", false), ("A of-root", false), ("A open", true)];
    assert_eq!(patched, expected.map(|(told, patch)| (told.to_owned(), patch)));
}

#[tokio::test]
async fn an_upload_changes_nothing_that_the_session_cannot() {
    let fixture = closed();
    fixture.write("shut/file", "old");
    set_mode(&fixture, "shut", 0o555);
    for path in ["shut/file", "shut/new", "shut/new/folder/file", "folder/file"] {
        let order = fixture.upload_order(path, path, FileFormat::File);
        assert_eq!(reason(fixture.upload(order, b"new").await), "NOT_READABLE", "{path}");
    }
    assert_eq!(fs::read(fixture.path("shut/file")).unwrap(), b"old");
    assert_eq!(fs::read_dir(fixture.path("shut")).unwrap().count(), 1);
    // The directory belongs to the session, so the session may replace the name.
    fixture.upload(fixture.upload_order("t", "of-root", FileFormat::File), b"new").await.unwrap();
    let made = fs::metadata(fixture.path("of-root")).unwrap();
    assert_eq!(Some((made.uid(), made.gid())), fixture.session.owner());
    assert_eq!(fs::read(fixture.path("of-root")).unwrap(), b"new");
}

#[tokio::test]
async fn what_a_killed_process_left_is_removed_past_folders_that_are_closed() {
    let fixture = closed();
    let half = ExchangeOrder::Upload(fixture.upload_order("half", "x", FileFormat::File));
    fixture.order(half, chunks(0, b"half")).await;
    let temporary = format!("open-folder/{}0123456789abcdef", airlock_archive::TEMPORARY_PREFIX);
    fixture.write(&temporary, "half");
    let fixture = fixture.reopen();
    assert!(!fixture.path(&temporary).exists());
}

#[tokio::test]
async fn work_in_home_and_tmp_has_the_rights_of_the_sessions_user() {
    let fixture = Fixture::new();
    assert!(fixture.session.owner().is_some(), "only a runner with root has a user per session");
    let directories = fixture.session.directories();
    for (inside, host) in [("/home/agent", &directories.home), ("/tmp", &directories.tmp)] {
        fixture.write_in(host, "shut/file", "old");
        fixture.write_in(host, "of-root", SECRET);
        chown(host.join("of-root"), Some(0), Some(0)).unwrap();
        for (path, mode) in [("of-root", 0o600), ("shut", 0o555)] {
            fs::set_permissions(host.join(path), fs::Permissions::from_mode(mode)).unwrap();
        }
        // The control: the runner itself can read it.
        assert_eq!(fs::read(host.join("of-root")).unwrap(), SECRET);
        let secret = format!("{inside}/of-root");
        let got = fixture.download(fixture.download_order(&secret, &secret)).await;
        assert_eq!(reason(got), "NOT_READABLE", "{secret}");
        let got = fixture.download(fixture.download_order(inside, inside)).await.unwrap();
        assert_eq!(got.done.skipped[0].path, secret.as_bytes());
        assert!(!got.bytes.windows(SECRET.len()).any(|part| part == SECRET));
        for path in ["shut/file", "shut/new/file"].map(|path| format!("{inside}/{path}")) {
            let order = fixture.upload_order(&path, &path, FileFormat::File);
            assert_eq!(reason(fixture.upload(order, b"new").await), "NOT_READABLE", "{path}");
        }
        assert_eq!(fs::read(host.join("shut/file")).unwrap(), b"old");
    }
}
