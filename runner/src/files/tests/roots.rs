//! Tests of HOME and `/tmp` of a session: operations that work there as in the workspace, and operations that do not.

use std::os::unix::fs::{MetadataExt, symlink};

use airlock_sandbox::protect::{Found, Writer};

use super::*;
use crate::guard::Guarded;

/// A directory of the session other than the workspace.
struct Root {
    inside: &'static str,
    host: PathBuf,
}

impl Root {
    fn all(fixture: &Fixture) -> [Self; 2] {
        let directories = fixture.session.directories();
        [
            Self { inside: "/home/agent", host: directories.home.clone() },
            Self { inside: "/tmp", host: directories.tmp.clone() },
        ]
    }

    fn path(&self, below: &str) -> String {
        format!("{}/{below}", self.inside)
    }
}

fn paths(files: &[FileInfo]) -> Vec<String> {
    files.iter().map(|info| String::from_utf8_lossy(&info.path).into_owned()).collect()
}

async fn put(fixture: &Fixture, path: &str, content: &[u8]) {
    fixture.upload(fixture.upload_order(path, path, FileFormat::File), content).await.unwrap();
}

#[tokio::test]
async fn files_and_folders_go_to_home_and_tmp_and_come_back() {
    let fixture = Fixture::new();
    let source = tempfile::tempdir().unwrap();
    project(source.path());
    for root in Root::all(&fixture) {
        let path = root.path("a/b/run");
        let order = UploadOrder { mode: 0o750, ..fixture.upload_order(&path, &path, FileFormat::File) };
        fixture.upload(order, root.inside.as_bytes()).await.unwrap();
        let made = fs::metadata(root.host.join("a/b/run")).unwrap();
        assert_eq!(made.mode() & 0o7777, 0o750);
        assert!(fixture.session.owner().is_none_or(|owner| owner == (made.uid(), made.gid())));
        let info = fixture.stat(&path).await.unwrap();
        assert_eq!((info.path.as_slice(), info.mode), (path.as_bytes(), 0o750));
        let got = fixture.download(fixture.download_order(&path, &path)).await.unwrap();
        assert_eq!((got.bytes.as_slice(), got.started.info), (root.inside.as_bytes(), info));

        let copy = root.path("copy");
        let order = fixture.upload_order(&copy, &copy, FileFormat::Tar);
        assert_eq!(fixture.upload(order, &tar(source.path())).await.unwrap().files, 4);
        assert!(tree(&root.host.join("copy")) == tree(source.path()));
        let got = fixture.download(fixture.download_order(&copy, &copy)).await.unwrap();
        assert!(got.bytes == tar(&root.host.join("copy")));
        let whole = fixture.download(fixture.download_order(root.inside, root.inside)).await.unwrap();
        assert!(whole.bytes == tar(&root.host));
    }
    assert_eq!(fs::read_dir(fixture.session.workspace()).unwrap().count(), 0);
}

#[tokio::test]
async fn a_listing_names_the_root_and_goes_on_page_by_page() {
    let fixture = Fixture::new();
    for root in Root::all(&fixture) {
        for name in ["b", "a/x", "a/y", "c"] {
            put(&fixture, &root.path(name), b"").await;
        }
        let mut found: Vec<String> = Vec::new();
        loop {
            let after = found.last().cloned().unwrap_or_default().into_bytes();
            let order = fixture.list_order(root.inside);
            let order = ListOrder { recursive: true, page_size: 1, after, ..order };
            let (page, more) = fixture.list(order).await.unwrap();
            found.extend(paths(&page));
            if !more {
                break;
            }
        }
        assert_eq!(found, ["a", "a/x", "a/y", "b", "c"].map(|name| root.path(name)));
        // A page token of one root is invalid for another.
        for other in ["", "/home/agent", "/tmp"].into_iter().filter(|other| *other != root.inside) {
            let after = root.path("a").into_bytes();
            let listed = fixture.list(ListOrder { after, ..fixture.list_order(other) }).await;
            assert_eq!(reason(listed), "PAGE_TOKEN_INVALID", "{other}");
        }
    }
}

#[tokio::test]
async fn one_name_in_three_roots_is_three_files() {
    let fixture = Fixture::new();
    let places = ["same", "/home/agent/same", "/tmp/same"];
    for place in places {
        put(&fixture, place, place.as_bytes()).await;
    }
    for place in places {
        let got = fixture.download(fixture.download_order(place, place)).await.unwrap();
        assert_eq!(got.bytes, place.as_bytes());
    }
    let reads = |path: PathBuf| fs::read(path.join("same")).unwrap();
    let directories = fixture.session.directories();
    let found = [&directories.workspace, &directories.home, &directories.tmp]
        .map(|directory| reads(directory.clone()));
    assert_eq!(found, places.map(|place| place.as_bytes().to_vec()));
}

#[tokio::test]
async fn what_is_outside_of_the_three_roots_is_refused() {
    let fixture = Fixture::new();
    for path in [
        "/",
        "/home",
        "/home/other",
        "/home/agent2",
        "/home/agent/..",
        "/home/agent/../other",
        "/tmp/..",
        "/tmp/../etc/passwd",
        "/tmpx",
        "/var/tmp/x",
        "/run/airlock",
    ] {
        assert_eq!(reason(fixture.stat(path).await), "PATH_INVALID", "{path}");
        assert_eq!(reason(fixture.list(fixture.list_order(path)).await), "PATH_INVALID", "{path}");
        let got = fixture.download(fixture.download_order("d", path)).await;
        assert_eq!(reason(got), "PATH_INVALID", "{path}");
        for format in [FileFormat::File, FileFormat::Tar] {
            let sent = fixture.upload(fixture.upload_order("u", path, format), b"").await.unwrap_err();
            assert_eq!(sent.reason, "PATH_INVALID", "{path}");
            assert!(sent.message.contains("/workspace, /home/agent or /tmp"), "{}", sent.message);
        }
    }
}

#[tokio::test]
async fn only_the_workspace_is_compared_with_how_it_began() {
    let base = tempfile::tempdir().unwrap();
    project(base.path());
    let fixture = Fixture::with(|_| {}, Some(base.path()));
    for root in Root::all(&fixture) {
        put(&fixture, &root.path("README"), b"another").await;
        put(&fixture, &root.path("src/new"), b"new").await;
        for path in [root.inside.to_owned(), root.path("README")] {
            let failed = fixture.diff(fixture.diff_order(&path)).await.unwrap_err();
            assert_eq!(failed.reason, "PATH_INVALID", "{path}");
            assert!(failed.message.contains("only /workspace is compared"), "{}", failed.message);
        }
    }
    assert_eq!(fixture.changes().await, [""; 0], "an upload elsewhere does not change the workspace");
    put(&fixture, "README", b"another").await;
    assert_eq!(fixture.changes().await, [""; 0], "an upload into the workspace is part of its initial state");
}

#[tokio::test]
async fn what_a_killed_process_left_in_any_root_is_removed() {
    let fixture = Fixture::new();
    let temporary = format!("{}0123456789abcdef", airlock_archive::TEMPORARY_PREFIX);
    for root in Root::all(&fixture) {
        let path = root.path("x");
        let half = ExchangeOrder::Upload(fixture.upload_order(&path, &path, FileFormat::File));
        fixture.order(half, chunks(0, b"half")).await;
        fixture.write_in(&root.host, &format!("deep/{temporary}"), "half");
    }
    // No upload writes there, so the directory is not scanned.
    fixture.write(&temporary, "of somebody");
    let fixture = fixture.reopen();
    for root in Root::all(&fixture) {
        assert_eq!(fs::read_dir(root.host.join("deep")).unwrap().count(), 0, "{}", root.inside);
    }
    assert!(fixture.path(&temporary).exists());
}

/// Returns the changes that are found at the end of a command that calls `act`.
fn command(guarded: &Guarded, act: impl FnOnce()) -> Vec<Found> {
    let writer = Writer { writes: true, ..Writer::default() };
    let begun = guarded.with(|guard, directory| guard.begin(directory, writer)).unwrap();
    act();
    guarded.with(|guard, directory| Ok(guard.end(directory, begun.id, &[]))).unwrap()
}

#[tokio::test]
async fn protected_names_that_are_uploaded_into_home_belong_there_and_stay_as_they_were_sent() {
    const NAMES: [&str; 6] = [
        ".bashrc",
        ".bash_aliases",
        ".gitconfig",
        ".config/git/config",
        ".ssh/config",
        ".git/hooks/pre-push",
    ];
    let fixture = Fixture::new();
    let (home, host) = (&fixture.session.guard().home, fixture.session.directories().home.clone());
    let running = Writer { writes: true, ..Writer::default() };
    let begun = home.with(|guard, directory| guard.begin(directory, running)).unwrap();
    for name in NAMES {
        put(&fixture, &format!("/home/agent/{name}"), b"[alias]\nx = !mine\n").await;
    }
    // The control: a file that a command creates while it runs is a violation.
    fixture.write_in(&host, ".zshenv", "evil");
    let found = home.with(|guard, directory| Ok(guard.end(directory, begun.id, &[]))).unwrap();
    let told: Vec<_> = found.iter().map(|found| (found.path.as_deref().unwrap(), found.kind)).collect();
    assert_eq!(told, [(&b".zshenv"[..], "created")]);

    let change = |name: &str| fs::write(host.join(name), "[alias]\nx = !evil\n").unwrap();
    let found = command(home, || NAMES.into_iter().for_each(change));
    assert_eq!(found.len(), NAMES.len(), "{found:?}");
    for name in NAMES {
        assert_eq!(fs::read(host.join(name)).unwrap(), b"[alias]\nx = !mine\n", "{name}");
    }
}

#[tokio::test]
async fn an_archive_for_home_is_taken_with_the_protected_names_in_it() {
    let fixture = Fixture::new();
    let (home, host) = (&fixture.session.guard().home, fixture.session.directories().home.clone());
    assert_eq!(command(home, || {}), [], "from now on HOME is watched");
    let source = tempfile::tempdir().unwrap();
    fs::create_dir_all(source.path().join(".config/git")).unwrap();
    fs::create_dir(source.path().join("dotfiles")).unwrap();
    fs::write(source.path().join(".profile"), "mine").unwrap();
    fs::write(source.path().join(".config/git/attributes"), "mine").unwrap();
    symlink("dotfiles", source.path().join(".ssh")).unwrap();
    let order = fixture.upload_order("t", "/home/agent", FileFormat::Tar);
    fixture.upload(order, &tar(source.path())).await.unwrap();
    assert_eq!(command(home, || {}), [], "no command made the change");
    let found = command(home, || fs::write(host.join(".profile"), "evil").unwrap());
    assert_eq!((found.len(), fs::read(host.join(".profile")).unwrap()), (1, b"mine".to_vec()));
}

#[tokio::test]
async fn an_upload_into_any_root_ends_what_was_known_of_the_session_s_folders() {
    let fixture = Fixture::new();
    let workspace = &fixture.session.guard().workspace;
    let still = || workspace.with(|guard, _| Ok(guard.still())).unwrap();
    let mut before = still().expect("nothing is at work");
    for path in ["x", "/home/agent/x", "/tmp/x"] {
        put(&fixture, path, b"").await;
        let after = still().expect("nothing is at work");
        // Path rules are cached by this number, and links may have changed.
        assert!(after > before, "{path}");
        before = after;
    }
}
