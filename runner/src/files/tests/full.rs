//! Tests of uploads into a full session. Each test has private mounts.

use airlock_mounts::PrivateMounts;
use airlock_sandbox::DiskBackend;

use super::*;

#[test]
fn what_does_not_fit_is_told_and_nothing_is_lost_or_left() {
    let _private = PrivateMounts::enter();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for backend in [DiskBackend::Tmpfs, DiskBackend::Loop] {
        runtime.block_on(full(backend));
    }
}

async fn full(backend: DiskBackend) {
    let disk = DiskConfig { backend: Some(backend), bytes: Some(16 << 20), inodes: Some(500) };
    let fixture = Fixture::made(TransfersConfig::default(), None, disk);
    let order = fixture.upload_order("mine", "mine", FileFormat::File);
    fixture.upload(order, b"of the user").await.unwrap();
    let filled = fs::write(fixture.path("big"), vec![1; 17 << 20]).unwrap_err();
    assert_eq!(filled.kind(), io::ErrorKind::StorageFull);
    let before: Vec<_> = names(&fixture);
    let large = vec![2; 1 << 20];
    let source = airlock_mounts::ScratchDir::new();
    fs::write(source.path().join("mine"), &large).unwrap();
    fs::write(source.path().join("new"), &large).unwrap();
    let file = fixture.upload_order("file", "mine", FileFormat::File);
    let archive = fixture.upload_order("archive", "", FileFormat::Tar);
    for (order, bytes) in [(file, large), (archive, tar(source.path()))] {
        let failed = fixture.upload(order, &bytes).await.unwrap_err();
        assert_eq!(failed.reason, "DISK_FULL", "{failed:?}");
        assert!(failed.message.contains("the session's disk limit"), "{failed:?}");
        assert_eq!(names(&fixture), before);
        assert_eq!(fs::read(fixture.path("mine")).unwrap(), b"of the user");
    }
    // The control: with free space the same upload succeeds.
    fs::remove_file(fixture.path("big")).unwrap();
    let again = fixture.upload_order("again", "mine", FileFormat::File);
    fixture.upload(again, &vec![2; 1 << 20]).await.unwrap();
    assert_eq!(fs::metadata(fixture.path("mine")).unwrap().len(), 1 << 20);
    // Close the session, so that nothing is mounted when its directory is removed.
    assert!(matches!(fixture.sessions.begin_close(&fixture.session.id), Closing::Begun(_)));
    fixture.sessions.remove(&fixture.session).unwrap();
}

#[test]
fn what_goes_to_home_and_tmp_counts_for_what_the_session_may_take() {
    let _private = PrivateMounts::enter();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for backend in [DiskBackend::Tmpfs, DiskBackend::Loop] {
        runtime.block_on(counted(backend));
    }
}

async fn counted(backend: DiskBackend) {
    let disk = DiskConfig { backend: Some(backend), bytes: Some(32 << 20), inodes: Some(500) };
    let fixture = Fixture::made(TransfersConfig::default(), None, disk);
    let part = vec![1; 12 << 20];
    for path in ["/tmp/part", "/home/agent/part"] {
        fixture.upload(fixture.upload_order(path, path, FileFormat::File), &part).await.unwrap();
    }
    for path in ["more", "/home/agent/more", "/tmp/more"] {
        let order = fixture.upload_order(path, path, FileFormat::File);
        let failed = fixture.upload(order, &part).await.unwrap_err();
        assert_eq!(failed.reason, "DISK_FULL", "{path}: {failed:?}");
        assert_eq!(reason(fixture.stat(path).await), "NO_SUCH_FILE", "{path}");
    }
    // The control: free space in one directory is available to another.
    let directories = fixture.session.directories();
    fs::remove_file(directories.tmp.join("part")).unwrap();
    let again = fixture.upload_order("again", "/home/agent/more", FileFormat::File);
    fixture.upload(again, &part).await.unwrap();
    for (directory, files) in [(&directories.workspace, 0), (&directories.home, 2), (&directories.tmp, 0)] {
        assert_eq!(fs::read_dir(directory).unwrap().count(), files, "{}", directory.display());
    }
    assert!(matches!(fixture.sessions.begin_close(&fixture.session.id), Closing::Begun(_)));
    fixture.sessions.remove(&fixture.session).unwrap();
}

fn names(fixture: &Fixture) -> Vec<std::ffi::OsString> {
    let entries = fs::read_dir(fixture.session.workspace()).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    names
}
