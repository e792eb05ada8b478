//! Tests of links from one of a session's directories to another and to the host. A path never leaves the directory
//! that it names.

use super::*;

/// Returns the session's directories: the path inside the sandbox, and the path on the host.
fn roots(fixture: &Fixture) -> [(&'static str, PathBuf); 3] {
    let directories = fixture.session.directories().clone();
    [("/workspace", directories.workspace), ("/home/agent", directories.home), ("/tmp", directories.tmp)]
}

/// Creates, in each of the session's directories, a file that must be neither read nor changed from another one.
fn secrets(fixture: &Fixture) {
    for (inside, host) in roots(fixture) {
        fixture.write_in(&host, ".git/hooks/secret", [SECRET, inside.as_bytes()].concat());
    }
}

fn assert_only_the_secrets(fixture: &Fixture) {
    for (inside, host) in roots(fixture) {
        let found = tree(&host.join(".git"));
        let names: Vec<_> = found.keys().map(|path| path.to_str().unwrap()).collect();
        assert_eq!(names, ["hooks", "hooks/secret"], "{inside}");
        assert_eq!(found[Path::new("hooks/secret")].1, [SECRET, inside.as_bytes()].concat());
    }
}

/// Checks every operation on `path`, which leads out through a link.
async fn assert_not_followed(fixture: &Fixture, path: &str) {
    let got = fixture.download(fixture.download_order("d", path)).await;
    assert_eq!(reason(got), "LINK_LEAVES", "download {path}");
    assert_eq!(reason(fixture.list(fixture.list_order(path)).await), "LINK_LEAVES", "list {path}");
    let below = format!("{path}/secret");
    assert_eq!(reason(fixture.stat(&below).await), "LINK_LEAVES", "stat {below}");
    let got = fixture.download(fixture.download_order("d", &below)).await;
    assert_eq!(reason(got), "LINK_LEAVES", "download {below}");
    for target in [format!("{path}/pre-commit"), format!("{path}/new/pre-commit"), below] {
        for format in [FileFormat::File, FileFormat::Tar] {
            let order = fixture.upload_order(&format!("{target} {format:?}"), &target, format);
            assert_eq!(reason(fixture.upload(order, b"evil").await), "LINK_LEAVES", "upload {target}");
        }
    }
}

#[tokio::test]
async fn a_link_from_one_root_to_another_is_followed_by_nothing() {
    let fixture = Fixture::with(|config| config.per_session = 1000, None);
    secrets(&fixture);
    let all = roots(&fixture);
    let mut links = 0;
    for (from, host) in &all {
        for (to, target) in all.iter().filter(|(to, _)| to != from) {
            let sibling = Path::new("..").join(target.file_name().unwrap()).join(".git/hooks");
            for (kind, target) in [
                ("inside", Path::new(to).join(".git/hooks")),
                ("host", target.join(".git/hooks")),
                ("up", sibling),
            ] {
                links += 1;
                let name = format!("link{links}");
                symlink(&target, host.join(&name)).unwrap();
                // The control: the names on the host lead there.
                let is_of_host = kind != "inside";
                let secret = [SECRET, to.as_bytes()].concat();
                let led = fs::read(host.join(&name).join("secret")).is_ok_and(|content| content == secret);
                assert_eq!(led, is_of_host, "{from} to {to} by {kind}");
                assert_not_followed(&fixture, &format!("{from}/{name}")).await;
                let info = fixture.stat(&format!("{from}/{name}")).await.unwrap();
                assert_eq!(info.file_type, FileType::Symlink);
            }
        }
        let recursive = ListOrder { recursive: true, ..fixture.list_order(from) };
        let listed = fixture.list(recursive).await.unwrap().0;
        assert_eq!(listed.iter().filter(|info| info.path.ends_with(b"/secret")).count(), 1, "{from}");
        let got = fixture.download(fixture.download_order(&format!("all of {from}"), from)).await.unwrap();
        for (to, _) in all.iter().filter(|(to, _)| to != from) {
            let secret = [SECRET, to.as_bytes()].concat();
            assert!(!got.bytes.windows(secret.len()).any(|part| part == secret), "{from}: {to}");
        }
        fixture.files.shared.transfers.remove_session(fixture.session.id);
    }
    assert_eq!(links, 18);
    assert_only_the_secrets(&fixture);
}

#[tokio::test]
async fn a_link_of_home_or_tmp_to_the_host_or_another_session_is_followed_by_nothing() {
    let fixture = Fixture::with(|config| config.per_session = 1000, None);
    let outside = Outside::new(&fixture);
    let other = open_session(&fixture.sessions, None);
    fs::write(other.directories().home.join("secret"), SECRET).unwrap();
    for (inside, host) in &roots(&fixture)[1..] {
        for (name, target) in [
            ("outside", outside.directory.clone()),
            ("other", other.directories().home.clone()),
            ("etc", "/etc".into()),
            ("up", "../../../../outside".into()),
            ("proc", "/proc/self/root".into()),
            ("cwd", "/proc/self/cwd".into()),
        ] {
            symlink(target, host.join(name)).unwrap();
            assert_not_followed(&fixture, &format!("{inside}/{name}")).await;
        }
        // The control: by name these links lead there.
        assert_eq!(fs::read(host.join("outside/secret")).unwrap(), SECRET);
        assert_eq!(fs::read(host.join("other/secret")).unwrap(), SECRET);
        let got = fixture.download(fixture.download_order(inside, inside)).await.unwrap();
        assert_eq!(got.done.files, 0);
        assert!(!got.bytes.windows(SECRET.len()).any(|part| part == SECRET), "{inside}");
        fixture.files.shared.transfers.remove_session(fixture.session.id);
    }
    outside.assert_untouched();
    assert_eq!(fs::read_dir(&other.directories().home).unwrap().count(), 1);
}

#[tokio::test]
async fn a_folder_of_tmp_that_becomes_a_link_to_hooks_is_neither_read_nor_written_through() {
    let fixture = Fixture::new();
    secrets(&fixture);
    let directories = fixture.session.directories().clone();
    let hooks = directories.workspace.join(".git/hooks");
    let (dir, way) = (directories.tmp.join("dir"), directories.tmp.join("way"));
    fixture.write_in(&directories.tmp, "dir/secret", "of /tmp");
    symlink("../workspace/.git/hooks", &way).unwrap();
    let file = dir.join("secret");
    let _swapping = Again::new(move || renameat_with(CWD, &dir, CWD, &way, RenameFlags::EXCHANGE).unwrap());
    // The control: check the directory, and then open its file by name.
    let seen = directories.tmp.join("dir");
    assert!(is_fooled(|| fs::symlink_metadata(&seen).is_ok_and(|found| found.is_dir())
        && fs::read(&file).is_ok_and(|content| content.starts_with(SECRET))));
    let source = tempfile::tempdir().unwrap();
    fs::write(source.path().join("pre-commit"), "evil").unwrap();
    let archive = tar(source.path());
    let mut done = 0;
    for round in 0..300 {
        let id = round.to_string();
        if let Ok(got) = fixture.download(fixture.download_order(&id, "/tmp/dir/secret")).await {
            assert_eq!(got.bytes, b"of /tmp");
        }
        let file = fixture.upload_order(&format!("file {id}"), "/tmp/dir/pre-push", FileFormat::File);
        done += u64::from(fixture.upload(file, b"evil").await.is_ok());
        let directory = fixture.upload_order(&format!("tar {id}"), "/tmp/dir", FileFormat::Tar);
        done += u64::from(fixture.upload(directory, &archive).await.is_ok());
    }
    assert!(done > 0, "some calls found the directory in its place");
    assert_eq!(fs::read_dir(hooks).unwrap().count(), 1);
    assert_only_the_secrets(&fixture);
}
