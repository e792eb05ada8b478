//! Tests of the state that persists between the commands of a session, and of its owner.

use std::fs::{self, File};
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use airlock_sandbox::{HostIds, SessionDirectories, change_owner_of_tree};

use crate::support::{Host, OrdinaryRunner};

#[test]
fn workspace_home_and_tmp_stay() {
    let host = Host::new();
    let session = host.session();
    host.run(&session, &host.spec("echo a > x; echo b > ~/x; echo c > /tmp/x; echo d > /var/tmp/y"));
    let output = host.run(&session, &host.spec("cat x ~/x /tmp/x /tmp/y"));
    assert_eq!(output.stdout, "a\nb\nc\nd\n");
    let read_only = host.run(&session, &host.read_only_spec("cat x ~/x /tmp/x"));
    assert_eq!(read_only.stdout, "a\nb\nc\n");
}

#[test]
fn folders_belong_to_the_session_and_only_the_runner_enters_their_parent() {
    let host = Host::new();
    let session = host.session();
    let ids = session.ids.unwrap();
    let mode = |path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let directories = &session.directories;
    for directory in [&directories.workspace, &directories.home, &directories.tmp] {
        let found = fs::metadata(directory).unwrap();
        assert_eq!((found.uid(), found.gid()), (ids.uid, ids.gid));
        assert_eq!(mode(directory), 0o700);
    }
    assert_eq!(fs::metadata(&directories.root).unwrap().uid(), 0);
    assert_eq!(mode(&directories.root), 0o700);
    assert_eq!(SessionDirectories::at(&directories.root), *directories);
    assert_eq!(directories.root.file_name().unwrap().len(), 32, "an opaque name");
}

#[test]
fn a_filled_workspace_is_given_away_without_following_links() {
    let host = Host::new();
    let session = host.session();
    let ids = session.ids.unwrap();
    let outside = host.directory.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("file"), "").unwrap();
    let workspace = &session.directories.workspace;
    fs::create_dir_all(workspace.join("a/b/c")).unwrap();
    fs::write(workspace.join("a/b/c/file"), "x").unwrap();
    symlink(&outside, workspace.join("folder-link")).unwrap();
    symlink(outside.join("file"), workspace.join("a/file-link")).unwrap();

    let before = fs::read_dir("/proc/self/fd").unwrap().count();
    change_owner_of_tree(File::open(workspace).unwrap().as_fd(), ids).unwrap();
    assert_eq!(fs::read_dir("/proc/self/fd").unwrap().count(), before);

    for path in ["a", "a/b/c", "a/b/c/file", "folder-link", "a/file-link"] {
        let owner = fs::symlink_metadata(workspace.join(path)).unwrap().uid();
        assert_eq!(owner, ids.uid, "{path}");
    }
    assert_eq!(fs::metadata(&outside).unwrap().uid(), 0);
    assert_eq!(fs::metadata(outside.join("file")).unwrap().uid(), 0);
    let output = host.run(&session, &host.spec("echo y >> a/b/c/file; cat a/b/c/file"));
    assert_eq!(output.stdout, "xy\n");
}

#[test]
fn a_tree_that_is_too_deep_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let deep = "d/".repeat(300);
    fs::create_dir_all(directory.path().join(deep)).unwrap();
    let ids = HostIds { uid: 299_999, gid: 299_999 };
    let error = change_owner_of_tree(File::open(directory.path()).unwrap().as_fd(), ids).unwrap_err();
    assert_eq!(error.action, "open a subdirectory");
}

#[test]
fn git_works_and_reads_only_what_airlock_says() {
    let host = Host::new();
    let session = host.session();
    let output = host.run(
        &session,
        &host.spec(
            "git init -q . && git config user.name a && git config user.email a@b && \
             echo 1 > f && git add f && git commit -qm first && echo 2 > f && \
             git config --get safe.bareRepository && git config --get-all safe.bareRepository | wc -l",
        ),
    );
    assert_eq!(output.stdout, "explicit\n2\n", "from the file and from the variables");
    let read_only = host.run(
        &session,
        &host.read_only_spec(
            "git log --format=%s && git status --short && git diff --stat && git config core.hooksPath",
        ),
    );
    assert_eq!(
        read_only.stdout,
        "first\n M f\n f | 2 +-\n 1 file changed, 1 insertion(+), 1 deletion(-)\n/dev/null\n"
    );
}

#[test]
fn an_ordinary_user_can_be_the_runner() {
    let host = Host::new();
    let runner = OrdinaryRunner::new();
    let run = |command: &str| runner.run(&host, command, &[]);
    assert_eq!(
        run("id -u; echo x > file; cat file; tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '"),
        "1000\nx\nlo\n"
    );
    for test in ["capabilities", "gain-privileges", "namespaces", "mount", "read /etc/shadow"] {
        let found = run(&format!("/run/probe {test}"));
        assert!(found.contains("\"reached\":false,\"ways\""), "{found}");
    }
}
