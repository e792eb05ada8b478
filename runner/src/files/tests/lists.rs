//! Tests of stat and list: order, pages, filters, and missing files.

use std::{
    ffi::OsStr,
    os::unix::{ffi::OsStrExt, fs::symlink},
};

use airlock_domain::limits::MESSAGE_BYTES;
use rustix::fs::{CWD, FileType as RawType, Mode, mknodat};

use super::*;

/// Returns all entries. Each page is requested after the last entry of the previous one.
async fn pages(fixture: &Fixture, order: ListOrder) -> Vec<FileInfo> {
    let mut all: Vec<FileInfo> = Vec::new();
    loop {
        let after = all.last().map_or(Vec::new(), |last| last.path.clone());
        let (page, more) = fixture.list(ListOrder { after, ..order.clone() }).await.unwrap();
        assert!(page.len() <= order.page_size as usize && (!page.is_empty() || !more));
        all.extend(page);
        if !more {
            return all;
        }
    }
}

#[tokio::test]
async fn every_page_size_gives_the_same_files_in_the_order_of_their_paths() {
    let fixture = Fixture::new();
    for path in ["a/b/c", "a-b/x", "a.b", "a0", "a/b-c", "z/0", "b", "a/b/d/e"] {
        fixture.write(path, path);
    }
    fs::write(fixture.path("").join(OsStr::from_bytes(b"\xff\n")), "").unwrap();
    let mut expected: Vec<Vec<u8>> = tree(fixture.session.workspace())
        .into_keys()
        .map(|path| [b"/workspace/", path.as_os_str().as_bytes()].concat())
        .collect();
    expected.sort();
    for page_size in [1, 2, 3, 5, 100] {
        let order = ListOrder { recursive: true, page_size, ..fixture.list_order("") };
        let found: Vec<_> = pages(&fixture, order).await.into_iter().map(|info| info.path).collect();
        assert_eq!(found, expected, "{page_size} a page");
    }
    let flat = pages(&fixture, ListOrder { page_size: 2, ..fixture.list_order("/workspace/a") }).await;
    assert_eq!(names(&flat), ["a/b", "a/b-c"]);
}

#[tokio::test]
async fn files_are_described_and_links_are_not_followed() {
    let fixture = Fixture::new();
    project(fixture.session.workspace());
    symlink("/etc/shadow", fixture.path("out")).unwrap();
    mknodat(CWD, fixture.path("pipe"), RawType::Fifo, Mode::RUSR, 0).unwrap();
    let info = fixture.stat("run").await.unwrap();
    assert_eq!((info.path.as_slice(), info.file_type), (&b"/workspace/run"[..], FileType::Regular));
    assert_eq!((info.size, info.mode), (10, 0o755));
    assert!((info.modified_micros / 1_000_000).abs_diff(now_seconds()) < 1000);
    let info = fixture.stat("/workspace").await.unwrap();
    assert_eq!(
        (info.path.as_slice(), info.file_type, info.size),
        (&b"/workspace"[..], FileType::Directory, 0)
    );
    let info = fixture.stat("out").await.unwrap();
    assert_eq!((info.file_type, info.link_target.as_slice()), (FileType::Symlink, &b"/etc/shadow"[..]));
    assert_eq!(fixture.stat("pipe").await.unwrap().file_type, FileType::Other);
    for (path, expected) in [
        ("nothing", "NO_SUCH_FILE"),
        ("out/x", "LINK_LEAVES"),
        ("run/x", "NOT_A_DIRECTORY"),
        ("..", "PATH_INVALID"),
        ("/etc/shadow", "PATH_INVALID"),
    ] {
        assert_eq!(reason(fixture.stat(path).await), expected, "{path}");
    }
    assert_eq!(reason(fixture.stat(&"x".repeat(300)).await), "PATH_INVALID");
}

fn now_seconds() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    i64::try_from(now.as_secs()).unwrap()
}

#[tokio::test]
async fn filters_choose_by_type_and_pattern() {
    let fixture = Fixture::new();
    project(fixture.session.workspace());
    let listed = async |filter: FileFilter| {
        let order = ListOrder { recursive: true, filter, ..fixture.list_order("") };
        names(&fixture.list(order).await.unwrap().0)
    };
    assert_eq!(listed(of_type(FileType::Directory)).await, ["empty", "src", "src/deep"]);
    assert_eq!(listed(of_type(FileType::Symlink)).await, ["link"]);
    let patterns = |include: &[&str], exclude: &[&str]| FileFilter {
        types: Vec::new(),
        include: include.iter().map(ToString::to_string).collect(),
        exclude: exclude.iter().map(ToString::to_string).collect(),
    };
    assert_eq!(listed(patterns(&["**/*.rs"], &[])).await, ["src/main.rs"]);
    assert_eq!(listed(patterns(&["src/**"], &["src/deep"])).await, ["src/main.rs"]);
    assert_eq!(listed(patterns(&[], &["src", "r*", "R*"])).await, ["empty", "link"]);
    let bad = ListOrder { filter: patterns(&["a[", ""], &[]), ..fixture.list_order("") };
    assert_eq!(reason(fixture.list(bad).await), "PATTERN_INVALID");
}

#[tokio::test]
async fn only_folders_of_the_workspace_are_listed() {
    let fixture = Fixture::new();
    fixture.write("folder/file", "");
    symlink("folder", fixture.path("in")).unwrap();
    symlink("../home", fixture.path("up")).unwrap();
    let other = open_session(&fixture.sessions, None);
    symlink(other.workspace(), fixture.path("other")).unwrap();
    for (path, expected) in [
        ("folder/file", "NOT_A_DIRECTORY"),
        ("nothing", "NO_SUCH_FILE"),
        ("up", "LINK_LEAVES"),
        ("other", "LINK_LEAVES"),
        ("/var", "PATH_INVALID"),
    ] {
        assert_eq!(reason(fixture.list(fixture.list_order(path)).await), expected, "{path}");
    }
    assert_eq!(names(&fixture.list(fixture.list_order("in")).await.unwrap().0), ["in/file"]);
    let recursive = ListOrder { recursive: true, ..fixture.list_order("") };
    let all = names(&fixture.list(recursive).await.unwrap().0);
    assert_eq!(all, ["folder", "folder/file", "in", "other", "up"]);
    let foreign = ListOrder { after: b"/workspace/other".to_vec(), ..fixture.list_order("folder") };
    assert_eq!(reason(fixture.list(foreign).await), "PAGE_TOKEN_INVALID");
}

#[tokio::test]
async fn a_page_fits_a_message_whatever_its_names_are() {
    let fixture = Fixture::new();
    let deep = vec!["d".repeat(255); 14].join("/");
    for index in 0..300 {
        fixture.write(&format!("{deep}/{index:0>200}"), "");
    }
    let order = ListOrder { recursive: true, ..fixture.list_order("") };
    let (page, more) = fixture.list(order.clone()).await.unwrap();
    let bytes: usize = page.iter().map(|info| info.path.len()).sum();
    assert!(more && bytes < MESSAGE_BYTES, "{bytes}");
    assert_eq!(pages(&fixture, order).await.len(), 314);
}
