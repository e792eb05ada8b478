//! Tests of downloads: their contents, and that a resumed download gets the bytes of the first packing.

use std::os::unix::fs::symlink;

use airlock_sandbox::protect::Writer;
use rustix::fs::{CWD, FileType as RawType, Mode, mknodat};

use super::*;

#[tokio::test]
async fn a_file_comes_as_it_is_and_an_empty_one_too() {
    let fixture = Fixture::new();
    let content: Vec<u8> = (0..200_000u32).flat_map(u32::to_le_bytes).collect();
    fixture.write("a/file", &content);
    fixture.write("empty", "");
    symlink("a/file", fixture.path("link")).unwrap();
    let got = fixture.download(fixture.download_order("1", "/workspace/a/file")).await.unwrap();
    assert_eq!((got.started.format, got.started.info.size), (FileFormat::File, 800_000));
    assert_eq!((got.bytes == content, got.done.size, got.done.sha256), (true, 800_000, sha256(&content)));
    let got = fixture.download(fixture.download_order("2", "empty")).await.unwrap();
    assert_eq!((got.bytes.len(), got.done.size, got.done.sha256), (0, 0, sha256(b"")));
    let got = fixture.download(fixture.download_order("3", "link")).await.unwrap();
    assert_eq!((got.bytes == content, got.started.info.file_type), (true, FileType::Regular));
}

#[tokio::test]
async fn a_download_that_is_gone_on_with_brings_the_bytes_of_the_first_time() {
    let fixture = Fixture::new();
    let content: Vec<u8> = (0..100_000u32).flat_map(u32::to_le_bytes).collect();
    fixture.write("file", &content);
    let order = fixture.download_order("t", "file");
    fixture.download(order.clone()).await.unwrap();
    fixture.write("file", "something else");
    let resume = |offset| DownloadOrder { resume: true, offset, ..order.clone() };
    let end = content.len() as u64;
    for offset in [0, 1, (128 << 10) - 1, 128 << 10, (128 << 10) + 1, end - 1, end] {
        let got = fixture.download(resume(offset)).await.unwrap();
        assert!(got.bytes == content[usize::try_from(offset).unwrap()..], "from {offset}");
        assert_eq!((got.done.size, got.done.sha256), (end, sha256(&content)));
    }
    let past = fixture.download(resume(end + 1)).await.unwrap_err();
    assert_eq!(past.failure, ExchangeFailure::OutOfRange { end });
    let other = DownloadOrder { path: b"other".to_vec(), ..resume(0) };
    assert_eq!(reason(fixture.download(other).await), "TRANSFER_MISMATCH");
    let other = DownloadOrder { exclude: vec!["x".to_owned()], ..resume(0) };
    assert_eq!(reason(fixture.download(other).await), "TRANSFER_MISMATCH");
    let other = DownloadOrder { format: Some(FileFormat::File), ..resume(0) };
    assert_eq!(reason(fixture.download(other).await), "TRANSFER_MISMATCH");
    let unknown = DownloadOrder { transfer_id: "unknown".to_owned(), ..resume(0) };
    assert_eq!(reason(fixture.download(unknown).await), "TRANSFER_GONE");
    let fixture = fixture.reopen();
    assert_eq!(reason(fixture.download(resume(1)).await), "TRANSFER_GONE");
    assert!(fixture.kept_files().is_empty());
}

#[tokio::test]
async fn the_packing_goes_on_without_its_client_and_is_found_again() {
    let fixture = Fixture::new();
    for index in 0..300 {
        fixture.write(&format!("{index}/file"), vec![b'x'; 2000]);
    }
    let order = fixture.download_order("t", "");
    let (outgoing, mut answers) = mpsc::channel(1);
    let (files, session) = (Arc::clone(&fixture.files), Arc::clone(&fixture.session));
    let first = ExchangeOrder::Download(order.clone());
    let stream = tokio::spawn(async move {
        files.carry_out(session, first, futures::stream::pending().boxed(), &outgoing).await
    });
    assert!(matches!(answers.recv().await, Some(ExchangeFromRunner::DownloadStarted(_))));
    drop(answers);
    stream.await.unwrap().unwrap();
    let resume = DownloadOrder { resume: true, offset: 100, ..order };
    let got = fixture.download(resume).await.unwrap();
    assert_eq!(got.done.files, 300);
    assert!(got.bytes == tar(fixture.session.workspace())[100..]);
}

#[tokio::test]
async fn what_cannot_be_sent_is_said() {
    let fixture = Fixture::new();
    fixture.write("folder/file", "");
    mknodat(CWD, fixture.path("folder/pipe"), RawType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    symlink("/etc/shadow", fixture.path("out")).unwrap();
    symlink("round", fixture.path("round")).unwrap();
    let order = |path: &str, format| DownloadOrder { format, ..fixture.download_order("t", path) };
    for (order, expected) in [
        (order("nothing", None), "NO_SUCH_FILE"),
        (order("folder/file/below", None), "NOT_A_DIRECTORY"),
        (order("folder", Some(FileFormat::File)), "IS_A_DIRECTORY"),
        (order("folder/file", Some(FileFormat::Tar)), "NOT_A_DIRECTORY"),
        (order("folder/pipe", None), "NOT_A_FILE"),
        (order("out", None), "LINK_LEAVES"),
        (order("round", None), "LINK_LEAVES"),
        (order("/home/other", None), "PATH_INVALID"),
        (DownloadOrder { exclude: vec!["[".to_owned()], ..order("folder", None) }, "PATTERN_INVALID"),
        (DownloadOrder { offset: 1, ..order("folder", None) }, "OFFSET_WITHOUT_TRANSFER"),
        (DownloadOrder { transfer_id: String::new(), ..order("folder", None) }, "TRANSFER_ID_INVALID"),
    ] {
        assert_eq!(reason(fixture.download(order.clone()).await), expected, "{order:?}");
        assert_eq!(fixture.files.shared.transfers.count(), 0, "{order:?}");
    }
    assert_eq!(fixture.kept_files().len(), 0);
    let got = fixture.download(order("folder", None)).await.unwrap();
    assert_eq!((got.done.files, got.done.skipped_total), (1, 1));
    assert_eq!(got.done.skipped[0].path, b"/workspace/folder/pipe");
}

/// Creates a repository with hooks, and with a configuration that names a program.
fn repository(fixture: &Fixture, root: &Path, name: &str) {
    for (path, content) in [
        ("HEAD", "ref: refs/heads/main\n"),
        ("objects/x", ""),
        ("refs/x", ""),
        ("hooks/pre-commit", "#!/bin/sh\n"),
        ("config", "[core]\n\tfsmonitor = x\n"),
    ] {
        fixture.write_in(root, &format!("{name}/.git/{path}"), content);
    }
}

/// Calls `act` as if it were a command with protected names.
fn as_command(fixture: &Fixture, act: impl FnOnce()) {
    let workspace = &fixture.session.guard().workspace;
    let writer = Writer { writes: true, ..Writer::default() };
    let begun = workspace.with(|guard, directory| guard.begin(directory, writer)).unwrap();
    act();
    let found = workspace.with(|guard, directory| Ok(guard.end(directory, begun.id, &[]))).unwrap();
    assert_eq!(found, []);
}

/// Waits until the clock of the file system advances, so that later files have a later time.
fn tick(file: &Path) {
    let time = || {
        fs::write(file, "").unwrap();
        fs::metadata(file).unwrap().modified().unwrap()
    };
    let begun = time();
    while time() == begun {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Returns the files that were left out, with the reasons.
fn left_out(got: &Got) -> Vec<(&str, &str)> {
    let all = got.done.skipped.iter();
    all.map(|one| (str::from_utf8(&one.path).unwrap(), one.reason.as_str())).collect()
}

#[tokio::test]
async fn what_a_command_made_git_run_does_not_come_unless_it_is_asked_for_by_its_path() {
    let fixture = Fixture::new();
    let workspace = fixture.session.workspace();
    repository(&fixture, workspace, "of/people");
    as_command(&fixture, || repository(&fixture, workspace, "of/commands"));

    let got = fixture.download(fixture.download_order("1", "of")).await.unwrap();
    let said = left_out(&got);
    assert_eq!(said.len(), 2, "{said:?}");
    assert_eq!(said[0].0, "/workspace/of/commands/.git/config");
    assert!(said[0].1.contains("names programs"), "{said:?}");
    assert_eq!(said[1].0, "/workspace/of/commands/.git/hooks");
    assert_eq!(got.done.files, 8, "five files of people, three of commands");
    let got = fixture.download(fixture.download_order("2", "of/commands/.git/config")).await.unwrap();
    assert_eq!(got.bytes, b"[core]\n\tfsmonitor = x\n");
    let got = fixture.download(fixture.download_order("3", "of/commands/.git/hooks")).await.unwrap();
    assert_eq!((got.done.files, got.done.skipped_total), (1, 0));
}

#[tokio::test]
async fn what_a_command_made_git_run_in_home_and_tmp_does_not_come_either() {
    let fixture = Fixture::new();
    let directories = fixture.session.directories();
    let roots = [("/home/agent", &directories.home), ("/tmp", &directories.tmp)];
    for (_, host) in roots {
        repository(&fixture, host, "of/people");
    }
    tick(&directories.root.join("tick"));
    as_command(&fixture, || {});
    for (inside, host) in roots {
        as_command(&fixture, || repository(&fixture, host, "of/commands"));
        let planted = ["config", "hooks"].map(|part| format!("{inside}/of/commands/.git/{part}"));
        for path in [inside.to_owned(), format!("{inside}/of"), format!("{inside}/of/commands")] {
            let got = fixture.download(fixture.download_order(&path, &path)).await.unwrap();
            let said = left_out(&got);
            assert_eq!(said.iter().map(|(path, _)| *path).collect::<Vec<_>>(), planted, "{path}");
            assert!(said.iter().all(|(_, why)| why.contains("own path")), "{said:?}");
        }
        let hooks = planted[1].as_str();
        let got = fixture.download(fixture.download_order(hooks, hooks)).await.unwrap();
        assert_eq!((got.done.files, got.done.skipped_total), (1, 0));
    }
}

#[tokio::test]
async fn what_a_command_made_git_run_does_not_come_by_way_of_a_link_either() {
    let fixture = Fixture::new();
    let directories = fixture.session.directories();
    for (inside, host) in [
        ("/workspace", &directories.workspace),
        ("/home/agent", &directories.home),
        ("/tmp", &directories.tmp),
    ] {
        as_command(&fixture, || {
            repository(&fixture, host, "of/commands");
            symlink("of/commands", host.join("way")).unwrap();
        });
        let way = format!("{inside}/way");
        let got = fixture.download(fixture.download_order(&way, &way)).await.unwrap();
        let said: Vec<_> = left_out(&got).into_iter().map(|(path, _)| path.to_owned()).collect();
        assert_eq!(said, ["config", "hooks"].map(|part| format!("{way}/.git/{part}")));
        assert_eq!(got.done.files, 3, "{inside}");
    }
}

#[tokio::test]
async fn what_is_excluded_does_not_come() {
    let fixture = Fixture::new();
    project(fixture.session.workspace());
    let exclude = vec!["src/deep".to_owned(), "*.rs".to_owned(), "**/*.rs".to_owned()];
    let order = DownloadOrder { exclude, ..fixture.download_order("t", "") };
    let got = fixture.download(order).await.unwrap();
    assert_eq!(got.done.files, 2, "README and run");
}
