//! Tests with archives from a hostile server. No file outside the directory changes, and no partial directory appears.

use std::{
    collections::BTreeMap,
    io::Read as _,
    path::{Path, PathBuf},
};

use airlock_archive::{Format, Limits};
use tokio::task::JoinSet;

use super::fake::{Fake, Lie, serve};
use crate::{
    Client, ClientError, DirectoryDownloaded, DirectoryOptions, Progress,
    testing::{client, quick},
    v1::FileFormat,
};

/// Returns each file, directory and link, with its content or target.
fn tree(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut open = vec![directory.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(directory).unwrap().flatten() {
            let meta = entry.metadata().unwrap();
            let content = match (meta.is_symlink(), meta.is_file()) {
                (true, _) => std::fs::read_link(entry.path()).unwrap().into_os_string().into_encoded_bytes(),
                (false, true) => std::fs::read(entry.path()).unwrap(),
                (false, false) => Vec::new(),
            };
            if meta.is_dir() {
                open.push(entry.path());
            }
            all.insert(entry.path(), content);
        }
    }
    all
}

fn options(scratch: &Path) -> DirectoryOptions {
    let mut options = DirectoryOptions::new(scratch);
    options.limits = Limits { entries: 100_000, bytes: 1 << 30, ..Limits::PATHS };
    options
}

async fn fetch(client: &Client, into: &Path, scratch: &Path) -> Result<DirectoryDownloaded, ClientError> {
    client.download_directory("s", b"src", into, &options(scratch), &Progress::default()).await
}

#[tokio::test]
async fn no_archive_of_a_hostile_server_touches_anything() {
    let mut refused = 0;
    let cases = airlock_archive::hostile::cases();
    for case in cases.into_iter().filter(|case| case.format == Format::Tar) {
        let mut bytes = Vec::new();
        (case.bytes)().read_to_end(&mut bytes).unwrap();
        let mut tasks = JoinSet::new();
        let address = serve(Fake::new(bytes, FileFormat::Tar, Lie::None), &mut tasks).await;
        let client = client(address, quick());
        let (home, scratch) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let there = home.path().join("there");
        std::fs::create_dir(&there).unwrap();
        std::fs::write(home.path().join("victim"), "mine").unwrap();
        std::fs::write(there.join("mine"), "mine").unwrap();
        let before = tree(home.path());
        let is_refused = case.refusal.is_some();
        for into in [home.path().join("new"), there.clone()] {
            let done = fetch(&client, &into, scratch.path()).await;
            assert_eq!(done.is_err(), is_refused, "{}: {done:?}", case.name);
            if let Err(error) = done {
                assert!(matches!(error, ClientError::Archive { put: 0, .. }), "{}: {error}", case.name);
                assert_eq!(tree(home.path()), before, "{}: nothing was touched", case.name);
            }
        }
        let outside = |tree: BTreeMap<PathBuf, Vec<u8>>| {
            tree.into_iter().filter(|(path, _)| path.ends_with("victim")).collect::<Vec<_>>()
        };
        assert_eq!(outside(tree(home.path())), outside(before), "{}", case.name);
        assert_eq!(tree(scratch.path()).len(), 0, "{}", case.name);
        refused += usize::from(is_refused);
    }
    assert!(refused >= 30, "{refused} cases");
}

#[tokio::test]
async fn a_directory_comes_back_as_it_went() {
    let home = tempfile::tempdir().unwrap();
    let from = home.path().join("from");
    std::fs::create_dir_all(from.join("deep/er")).unwrap();
    std::fs::write(from.join("deep/file"), [0_u8, 255, 10]).unwrap();
    std::fs::write(from.join("left.out"), "x").unwrap();
    std::os::unix::fs::symlink("deep/file", from.join("link")).unwrap();
    let mut tasks = JoinSet::new();
    let up = Fake::new("", FileFormat::Tar, Lie::None);
    let sender = client(serve(up.clone(), &mut tasks).await, quick());
    let mut how = options(home.path());
    how.exclude = vec!["*.out".to_owned()];
    let sent = sender.upload_directory("s", &from, b"src", &how, &Progress::default()).await.unwrap();
    assert_eq!((sent.packed.counts.files, sent.packed.counts.links), (1, 1));
    let archive = up.uploads.lock().unwrap().values().next().unwrap().clone();
    let down = serve(Fake::new(archive, FileFormat::Tar, Lie::None), &mut tasks).await;
    let into = home.path().join("into");
    fetch(&client(down, quick()), &into, home.path()).await.unwrap();
    std::fs::remove_file(from.join("left.out")).unwrap();
    let below = |root: &Path| -> Vec<_> {
        let strip = |path: PathBuf| path.strip_prefix(root).unwrap().to_owned();
        tree(root).into_iter().map(|(path, content)| (strip(path), content)).collect()
    };
    assert_eq!(below(&into), below(&from));
}

#[tokio::test]
async fn what_everybody_could_write_to_in_a_session_only_its_owner_can_here() {
    use std::os::unix::fs::PermissionsExt;
    let home = tempfile::tempdir().unwrap();
    let from = home.path().join("from");
    let set = |path: &Path, mode| std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    std::fs::create_dir_all(from.join("deep")).unwrap();
    std::fs::write(from.join("deep/file"), "x").unwrap();
    // The mode that the system gives to a new directory that requests all bits.
    let probe = home.path().join("probe");
    std::fs::create_dir(&probe).unwrap();
    let most = mode(&probe);
    assert_ne!(most, 0o777, "the tests have a umask");
    for path in [from.join("deep/file"), from.join("deep"), from.clone()] {
        set(&path, 0o777);
    }
    let mut tasks = JoinSet::new();
    let up = Fake::new("", FileFormat::Tar, Lie::None);
    let sender = client(serve(up.clone(), &mut tasks).await, quick());
    sender.upload_directory("s", &from, b"", &options(home.path()), &Progress::default()).await.unwrap();
    let archive = up.uploads.lock().unwrap().values().next().unwrap().clone();
    let down = serve(Fake::new(archive, FileFormat::Tar, Lie::None), &mut tasks).await;
    let new = home.path().join("new");
    std::fs::create_dir(home.path().join("there")).unwrap();
    for into in [new.clone(), home.path().join("there")] {
        fetch(&client(down, quick()), &into, home.path()).await.unwrap();
        assert_eq!([mode(&into.join("deep")), mode(&into.join("deep/file"))], [most; 2]);
    }
    assert_eq!(mode(&new) & !most, 0);
}

#[tokio::test]
async fn a_directory_that_nobody_waits_for_any_more_leaves_nothing() {
    let home = tempfile::tempdir().unwrap();
    let scratch = tempfile::tempdir().unwrap();
    let mut archive = airlock_archive::hostile::Tar::default();
    for number in 0..50_000 {
        archive = archive.file(format!("{number}").as_bytes(), b"");
    }
    let mut tasks = JoinSet::new();
    let client =
        client(serve(Fake::new(archive.end(), FileFormat::Tar, Lie::None), &mut tasks).await, quick());
    let into = home.path().join("new");
    // The test only checks whether any file exists, since files come and go.
    let begun = async {
        while std::fs::read_dir(home.path()).unwrap().next().is_none() {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        _ = fetch(&client, &into, scratch.path()) => panic!("the transfer ended before the test could cut it"),
        () = begun => {}
    }
    client.settled().await;
    assert!(tree(home.path()).is_empty());
}

#[tokio::test]
async fn a_directory_whose_archive_breaks_off_does_not_appear() {
    let mut tasks = JoinSet::new();
    let fake = Fake::new(vec![0; 4096], FileFormat::Tar, Lie::Hash);
    let client = client(serve(fake, &mut tasks).await, quick());
    let home = tempfile::tempdir().unwrap();
    let error = fetch(&client, &home.path().join("new"), home.path()).await.unwrap_err();
    assert!(matches!(error, ClientError::Contract { .. }), "{error}");
    assert!(tree(home.path()).is_empty());
}
