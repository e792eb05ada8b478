//! Tests of `cp`, `ls`, `diff` and `session create --upload` against the behaviour of docker and
//! git.

use std::{
    fs,
    io::Write as _,
    os::unix::{fs::symlink, net::UnixListener},
    path::Path,
    process::{Command, ExitStatus, Output, Stdio},
};

use crate::support::{Site, stderr};

/// A dev, a session, and a local directory that contains a project.
struct Desk {
    site: Site,
    session: String,
    home: tempfile::TempDir,
}

impl Desk {
    fn new() -> Self {
        let site = Site::with_dev(&[]);
        let session = site.text(&["session", "create"]).trim().to_owned();
        let home = tempfile::Builder::new().prefix("airlock-cli-test-").tempdir().unwrap();
        let project = home.path().join("project");
        fs::create_dir_all(project.join("sub")).unwrap();
        fs::write(project.join("hello.sh"), "echo hello\n").unwrap();
        fs::write(project.join("sub/numbers"), "1\n2\n3\n").unwrap();
        symlink("hello.sh", project.join("link")).unwrap();
        Self { site, session, home }
    }

    fn there(&self, path: &str) -> String {
        format!("{}:{path}", self.session)
    }

    fn airlock(&self, arguments: &[&str]) -> Output {
        self.site.airlock(arguments).current_dir(self.home.path()).output().unwrap()
    }

    fn text(&self, arguments: &[&str]) -> String {
        let output = self.airlock(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    fn run(&self, command: &str) -> String {
        self.text(&["run", "--session", &self.session, "--", command])
    }

    /// Runs a script from a file, for commands that policy would ask about in the command line.
    fn script(&self, text: &str) {
        let sent = self.fed(&["cp", "-", &self.there("script.sh")], text.as_bytes());
        assert!(sent.status.success(), "{}", stderr(&sent));
        self.run("sh script.sh; rm script.sh");
    }

    fn here(&self, path: &str) -> String {
        fs::read_to_string(self.home.path().join(path)).unwrap()
    }

    fn fails(&self, arguments: &[&str]) -> (i32, String) {
        let output = self.airlock(arguments);
        (output.status.code().unwrap(), stderr(&output))
    }

    fn fed(&self, arguments: &[&str], input: &[u8]) -> Output {
        let mut command = self.site.airlock(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.current_dir(self.home.path()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        child.wait_with_output().unwrap()
    }
}

#[test]
fn copies_land_where_docker_would_put_them() {
    let desk = Desk::new();
    let there = |path: &str| desk.there(path);
    // A directory: to a new name, into a directory, and only its contents.
    desk.text(&["cp", "project", &there("new")]);
    desk.text(&["cp", "project", &there("new")]);
    desk.text(&["cp", "project/.", &there("")]);
    let all = desk.run("find . | sort");
    for path in ["./new/hello.sh", "./new/project/sub/numbers", "./hello.sh", "./link", "./sub/numbers"] {
        assert!(all.lines().any(|line| line == path), "{path} in {all}");
    }
    assert_eq!(desk.run("readlink link; sh link"), "hello.sh\nhello\n");
    // A file: to a new name, over a file, into a directory.
    desk.text(&["cp", "project/hello.sh", &there("one")]);
    desk.text(&["cp", "project/sub/numbers", &there("one")]);
    desk.text(&["cp", "project/hello.sh", &there("/workspace/sub/")]);
    assert_eq!(desk.run("cat one; cat sub/hello.sh"), "1\n2\n3\necho hello\n");
    // The opposite direction.
    desk.text(&["cp", &there("new"), "back"]);
    desk.text(&["cp", &there("new"), "back"]);
    desk.text(&["cp", &there("new/."), "contents"]);
    desk.text(&["cp", &there("one"), "contents"]);
    desk.text(&["cp", &there("one"), "renamed"]);
    desk.text(&["cp", "--exclude", "project", &there("new"), "less"]);
    assert_eq!(desk.here("back/new/project/sub/numbers"), "1\n2\n3\n");
    assert_eq!((desk.here("contents/one"), desk.here("renamed")), ("1\n2\n3\n".into(), "1\n2\n3\n".into()));
    assert!(desk.here("contents/link").contains("hello"));
    assert!(!desk.home.path().join("less/project").exists() && desk.home.path().join("less/sub").exists());
    let mut left: Vec<_> =
        fs::read_dir(desk.home.path()).unwrap().flatten().map(|one| one.file_name()).collect();
    left.sort();
    assert_eq!(left, ["back", "contents", "less", "project", "renamed"], "no temporary file remains");
}

#[test]
fn home_and_tmp_are_copied_and_listed_as_the_workspace_is() {
    let desk = Desk::new();
    for root in ["/tmp", "/home/agent"] {
        let there = |path: &str| desk.there(&format!("{root}{path}"));
        desk.text(&["cp", "project", &there("/")]);
        desk.text(&["cp", "project/hello.sh", &there("/one")]);
        assert_eq!(desk.run(&format!("cat {root}/one {root}/project/sub/numbers")), "echo hello\n1\n2\n3\n");
        let listed = desk.text(&["ls", &there("")]);
        assert!(["one", "project"].iter().all(|name| listed.lines().any(|line| line == *name)), "{listed}");
        assert_eq!(desk.text(&["ls", &there("/project")]), "hello.sh\nlink\nsub\n");
        desk.text(&["cp", &there("/project"), "back"]);
        assert_eq!(desk.here("back/sub/numbers"), "1\n2\n3\n");
        airlock_mounts::remove_tree(desk.home.path().join("back")).unwrap();
        let (code, said) = desk.fails(&["diff", &there("/one")]);
        assert!(code == 1 && said.contains("only /workspace is compared"), "{said}");
    }
    desk.text(&["cp", &desk.there("/home/agent"), "."]);
    assert_eq!(desk.here("agent/one"), "echo hello\n", "a root is named by its path");
    assert_eq!(desk.text(&["ls", &desk.session]), "", "the workspace does not contain it");
}

#[test]
fn dashes_are_the_standard_streams() {
    let desk = Desk::new();
    let sent = desk.fed(&["cp", "-", &desk.there("file")], b"a\0b\xff");
    assert!(sent.status.success(), "{}", stderr(&sent));
    assert_eq!(desk.airlock(&["cp", &desk.there("file"), "-"]).stdout, b"a\0b\xff");
    desk.text(&["cp", "project", &desk.there("")]);
    let tar = desk.airlock(&["cp", &desk.there("project"), "-"]).stdout;
    let sent = desk.fed(&["cp", "-", &desk.there("again/")], &tar);
    assert!(sent.status.success(), "{}", stderr(&sent));
    assert_eq!(desk.run("diff -r project again && echo same"), "same\n");
    // An invalid archive leaves no trace.
    let sent = desk.fed(&["cp", "-", &desk.there("again/")], &[b'x'; 2000]);
    assert_eq!(sent.status.code(), Some(1));
    assert!(stderr(&sent).contains("ARCHIVE_REFUSED"), "{}", stderr(&sent));
    assert_eq!(desk.run("diff -r project again && echo same"), "same\n");
}

#[test]
fn skipped_files_are_reported_and_exit_with_1() {
    let desk = Desk::new();
    let _socket = UnixListener::bind(desk.home.path().join("project/socket")).unwrap();
    let (code, said) = desk.fails(&["cp", "project", &desk.there("")]);
    assert_eq!(code, 1);
    assert!(said.contains("skipped: socket: ") && said.contains("copied 2 files"), "{said}");
    let excluded = desk.airlock(&["cp", "--exclude", "socket", "project", &desk.there("")]);
    assert_eq!(excluded.status.code(), Some(0), "{}", stderr(&excluded));
}

#[test]
fn wrong_copies_are_told_from_right_ones() {
    let desk = Desk::new();
    let there = |path: &str| desk.there(path);
    desk.text(&["cp", "project/hello.sh", &there("file")]);
    for (arguments, expected, says) in [
        (&["cp", "a", "b"][..], 2, "neither side is in a session"),
        (&["cp", &there("a"), &there("b")], 2, "both sides are in a session"),
        (&["cp", "box:/a", "b"], 2, "`box` is not a session ID"),
        (&["cp", "nope", &there("x")], 1, "the local path `nope` does not exist"),
        (&["cp", &there("nope"), "x"], 1, "nope` does not exist"),
        (&["cp", "project/hello.sh", &there("nope/")], 1, "create it, or remove the trailing slash"),
        (&["cp", &there("file"), "nope/"], 1, "create it, or remove the trailing slash"),
        (&["cp", &there("file"), "nope/x"], 1, "create it first"),
        (&["cp", "project", &there("file")], 1, "is not a directory, but `project` is one"),
        (&["cp", &there("file/."), "x"], 2, "is a file, not a directory"),
        (&["cp", "project/hello.sh/", &there("x")], 1, "cannot read"),
        (&["cp", "--exclude", "a[", "project", &there("x")], 2, "--exclude"),
        (&["cp", "project", &there("../out")], 1, "`..`"),
        (&["cp", &there("/etc/passwd"), "x"], 1, "is not in /workspace, /home/agent or /tmp"),
        (&["ls", "src"], 2, "airlock session list"),
        (&["ls", &there("nope")], 1, "nope"),
        (&["diff", &there("nope")], 1, "nope"),
        (&["session", "create", "--upload", "nope"], 2, "`nope` is not a local directory"),
    ] {
        let (code, said) = desk.fails(arguments);
        assert_eq!(code, expected, "{arguments:?}: {said}");
        assert!(said.contains(says), "{arguments:?}: {said}");
    }
    assert_eq!(desk.run("find . | sort"), ".\n./file\n");
}

#[test]
fn a_link_of_a_hostile_command_leads_nowhere() {
    let desk = Desk::new();
    desk.script("ln -s /etc/passwd stolen; ln -s ../../../../etc out; mkdir ok; ln -s /etc ok/up");
    let (code, said) = desk.fails(&["cp", &desk.there("stolen"), "x"]);
    assert_eq!(code, 1);
    assert!(said.contains("is a symbolic link to `/etc/passwd`"), "{said}");
    let (code, _) = desk.fails(&["cp", &desk.there("out/passwd"), "x"]);
    assert_eq!(code, 1);
    assert!(!desk.home.path().join("x").exists());
    let copied = desk.airlock(&["cp", &desk.there("ok"), "ok"]);
    assert!(fs::symlink_metadata(desk.home.path().join("ok/up")).is_err(), "{}", stderr(&copied));
}

#[test]
fn a_listing_shows_names_sizes_and_links() {
    let desk = Desk::new();
    desk.text(&["cp", "project", &desk.there("")]);
    let there = desk.there("project");
    assert_eq!(desk.text(&["ls", &desk.session]), "project\n");
    assert_eq!(desk.text(&["ls", &there]), "hello.sh\nlink\nsub\n");
    assert_eq!(desk.text(&["ls", "-R", "--exclude", "*.sh", &there]), "link\nsub\nsub/numbers\n");
    let long = desk.text(&["ls", "-l", &there]);
    assert!(
        long.contains("-rw-r--r--") && long.contains("link -> hello.sh") && long.contains("drwx"),
        "{long}"
    );
    let json: serde_json::Value =
        serde_json::from_str(&desk.text(&["ls", "--json", &desk.there("project/sub/numbers")])).unwrap();
    assert_eq!((&json["type"], &json["size"]), (&"regular".into(), &6.into()));
}

#[test]
fn changes_are_a_patch_that_git_applies() {
    let desk = Desk::new();
    desk.text(&["cp", "project/.", &desk.there("")]);
    assert_eq!(desk.text(&["diff", &desk.session]), "");
    desk.script("sed -i s/2/two/ sub/numbers; rm hello.sh link; echo new > added");
    desk.run("git init -q");
    let patch = desk.text(&["diff", &desk.session]);
    assert!(patch.contains("-2\n+two\n") && !patch.contains("b/.git/"), "{patch}");
    fs::write(desk.home.path().join("patch"), &patch).unwrap();
    let project = desk.home.path().join("project");
    assert!(git(&project, &["apply", "--exclude=script.sh", "../patch"]).success(), "{patch}");
    assert_eq!(desk.here("project/sub/numbers"), "1\ntwo\n3\n");
    assert_eq!(desk.here("project/added"), "new\n");
    assert!(!project.join("hello.sh").exists() && !project.join("link").is_symlink());
    let names = desk.text(&["diff", "--name-status", &desk.session]);
    assert_eq!(names, "A\tadded\nD\thello.sh\nD\tlink\nD\tscript.sh\nM\tsub/numbers\n");
    assert!(desk.text(&["diff", "--name-only", "--all", &desk.session]).contains(".git/HEAD\n"));
    assert_eq!(desk.text(&["diff", "--name-only", &desk.there("sub")]), "sub/numbers\n");
    assert!(desk.text(&["diff", "--stat", &desk.session]).contains("sub/numbers | 2 +-\n"));
}

fn git(directory: &Path, arguments: &[&str]) -> ExitStatus {
    let mut git = Command::new("git");
    // A repository that may contain the directory must not be found.
    git.env("GIT_CEILING_DIRECTORIES", directory.parent().unwrap());
    git.args(arguments).current_dir(directory).status().unwrap()
}

#[test]
fn a_session_can_begin_with_a_directory() {
    let desk = Desk::new();
    let id = desk.text(&["session", "create", "--quiet", "--upload", "project"]).trim().to_owned();
    assert_eq!(desk.text(&["run", "--session", &id, "--", "sh hello.sh"]), "hello\n");
    assert_eq!(desk.text(&["diff", &id]), "");
}
