//! Tests of programs and paths of decisions against misleading files.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::Path,
};

use airlock_domain::{Decided, Obeyed, ObeyedFormat};
use airlock_sandbox::{Bind, Symlink};

use super::*;
use crate::floor::tests::grant;

/// A session's directories, and a root with `/opt/bin` for programs.
struct Host {
    directory: tempfile::TempDir,
    profile: Profile,
}

impl Host {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        for name in ["workspace/bin", "workspace/docs", "home/bin", "tmp", "opt/bin", "opt/data"] {
            fs::create_dir_all(directory.path().join(name)).unwrap();
        }
        let bind = Bind { source: directory.path().join("opt"), target: "/opt".into() };
        let link = Symlink { target: "opt/bin".into(), link: "/bin".into() };
        let profile = Profile { binds: vec![bind], symlinks: vec![link], ..Profile::default() };
        let host = Self { directory, profile };
        host.program("opt/bin/tool");
        host
    }

    fn at(&self, name: &str) -> std::path::PathBuf {
        self.directory.path().join(name)
    }

    fn program(&self, name: &str) {
        fs::write(self.at(name), "").unwrap();
        fs::set_permissions(self.at(name), fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn link(&self, target: &str, name: &str) {
        symlink(Path::new(target), self.at(name)).unwrap();
    }

    fn check(&self, path: &str, decided: Decided) -> Result<(), Refusal> {
        self.check_as(path, decided, false)
    }

    fn check_as(&self, path: &str, decided: Decided, read_only: bool) -> Result<(), Refusal> {
        let requires = vec![Requirement::TrustedPath];
        let grant = Grant { requires, decided, read_only, ..grant() };
        let env = [(OsString::from("PATH"), OsString::from(path))];
        check(&grant, &self.profile, &env, &SessionDirectories::at(self.directory.path()), None)
    }

    fn program_is_trusted(&self, path: &str, program: &str) -> bool {
        let programs = vec![program.as_bytes().to_vec()];
        let checked = self.check(path, Decided { programs, ..Decided::default() });
        if let Err(refusal) = &checked {
            assert_eq!(refusal.reason, "untrusted_path");
            assert!(refusal.message.contains(program), "{}", refusal.message);
        }
        checked.is_ok()
    }

    fn path_leads(&self, path: &str, access: PathAccess) -> bool {
        let path = DecidedPath { path: path.as_bytes().to_vec(), access };
        let checked = self.check("/opt/bin", Decided { paths: vec![path], ..Decided::default() });
        assert!(checked.as_ref().err().is_none_or(|refusal| refusal.reason == "untrusted_path"));
        checked.is_ok()
    }
}

#[test]
fn a_program_of_the_read_only_root_is_trusted_by_name_and_by_path() {
    let host = Host::new();
    for path in ["/opt/bin", "/bin", "/nowhere:/opt/bin", "/opt/bin:/workspace/bin", "/opt/bin:."] {
        assert!(host.program_is_trusted(path, "tool"), "{path}");
    }
    for program in ["/opt/bin/tool", "/bin/tool"] {
        assert!(host.program_is_trusted("/workspace/bin", program), "{program}");
    }
    assert!(host.program_is_trusted("/opt/bin", "a_function"), "no program is found, and no command runs");
}

#[test]
fn a_program_that_a_command_could_have_put_there_is_not() {
    let host = Host::new();
    host.program("workspace/bin/tool");
    host.program("workspace/bin/mine");
    let untrusted =
        ["/workspace/bin", "/workspace/none", "/home/agent/bin", "/tmp", "/var/tmp", ".", "", "bin"];
    for before in untrusted.into_iter().chain(["/opt/../workspace/bin", "/proc/self/cwd", "/dev/shm"]) {
        assert!(!host.program_is_trusted(&format!("{before}:/opt/bin"), "tool"), "{before}");
    }
    assert!(!host.program_is_trusted("/opt/bin:/workspace/bin", "mine"));
    for program in ["./tool", "bin/tool", "/workspace/bin/tool", "/opt/../workspace/bin/tool", "/tmp/tool"] {
        assert!(!host.program_is_trusted("/opt/bin", program), "{program}");
    }
}

#[test]
fn a_trusted_folder_is_none_if_it_leads_to_where_commands_write() {
    let host = Host::new();
    host.link("/workspace/bin", "opt/local");
    host.link("../../workspace/bin/tool", "opt/bin/alias");
    host.link("tool", "opt/bin/good");
    host.program("workspace/bin/tool");
    assert!(!host.program_is_trusted("/opt/local", "tool"));
    assert!(!host.program_is_trusted("/opt/bin", "alias"));
    assert!(!host.program_is_trusted("/opt/bin", "/opt/local/tool"));
    assert!(host.program_is_trusted("/opt/bin", "good"), "control: a link that stays inside");
}

#[test]
fn a_program_is_none_through_a_link_that_commands_can_set_anew() {
    let host = Host::new();
    host.link("/opt/bin/tool", "workspace/bin/alias");
    host.link("/opt/bin", "workspace/tools");
    host.link("/workspace/tools", "opt/round");
    for program in ["/workspace/bin/alias", "/workspace/tools/tool", "/opt/round/tool"] {
        assert!(!host.program_is_trusted("/opt/bin", program), "{program}");
    }
    for path in ["/workspace/tools", "/workspace/tools:/opt/bin", "/opt/round"] {
        assert!(!host.program_is_trusted(path, "tool"), "{path}");
    }
    assert!(host.program_is_trusted("/opt/bin", "/bin/tool"), "control: a link of the root file system");
}

#[test]
fn a_refusal_says_where_the_path_leads() {
    let host = Host::new();
    host.link("docs", "workspace/manual");
    let path = DecidedPath { path: b"/workspace/manual/x".to_vec(), access: PathAccess::Write };
    let refusal = host.check("/opt/bin", Decided { paths: vec![path], ..Decided::default() }).unwrap_err();
    assert!(refusal.message.contains("resolves to `/workspace/docs/x`"), "{}", refusal.message);
}

#[test]
fn a_path_leads_where_it_says_or_is_refused() {
    let host = Host::new();
    fs::write(host.at("workspace/file"), "").unwrap();
    for path in
        ["/workspace/file", "/workspace/new/deep", "/workspace/docs", "/tmp/x", "/home/agent/x", "/etc/x"]
    {
        assert!(host.path_leads(path, PathAccess::Write), "{path}");
    }
    host.link(".git/hooks", "workspace/hooks");
    host.link("/home/agent", "workspace/home");
    host.link("../../../../etc", "workspace/etc");
    host.link("/workspace/file", "tmp/file");
    host.link("loop", "workspace/loop");
    host.link("/proc/self/root/workspace/docs", "workspace/round");
    let elsewhere =
        ["hooks/pre-commit", "home/.bashrc", "etc/passwd", "loop", "loop/x", "round/x", "docs/../hooks/x"];
    for path in elsewhere {
        for access in [PathAccess::Write, PathAccess::Create] {
            assert!(!host.path_leads(&format!("/workspace/{path}"), access), "{path} {access:?}");
        }
    }
    for path in ["hooks/pre-commit", "etc/passwd", "docs/../hooks/x"] {
        assert!(host.path_leads(&format!("/workspace/{path}"), PathAccess::Read), "{path}");
    }
    for path in ["home/.bashrc", "loop", "loop/x", "round/x"] {
        assert!(!host.path_leads(&format!("/workspace/{path}"), PathAccess::Read), "{path}");
    }
    assert!(!host.path_leads("/tmp/file", PathAccess::Read), "from one directory of the session to another");
    for path in ["/tmp/file", "/proc/self/cwd/x", "/proc/7/root/x", "/dev/fd/3", "workspace/file", ""] {
        assert!(!host.path_leads(path, PathAccess::Write), "{path}");
    }
    assert!(host.path_leads("/dev/stdout", PathAccess::Write));
}

#[test]
fn what_only_reads_reads_the_root_but_not_through_it_what_a_process_has() {
    let host = Host::new();
    host.link("../data/x", "opt/bin/data");
    host.link("/proc/self/environ", "opt/bin/environ");
    host.link("../../proc/1/root", "opt/bin/process");
    host.link("/proc/self/environ", "workspace/environ");
    let reads = |path: &str| {
        let path = DecidedPath { path: path.as_bytes().to_vec(), access: PathAccess::Read };
        host.check_as("/opt/bin", Decided { paths: vec![path], ..Decided::default() }, true)
    };
    for path in ["/opt/bin/data", "/opt/bin/tool", "/opt/none", "/workspace/environ", "/bin/data"] {
        assert_eq!(reads(path), Ok(()), "{path}");
    }
    for path in ["/opt/bin/environ", "/bin/environ", "/opt/bin/process/etc"] {
        let refusal = reads(path).unwrap_err();
        assert_eq!(refusal.reason, "untrusted_path");
        assert!(refusal.message.contains("resolves to `/proc/"), "{}", refusal.message);
    }
}

#[test]
fn removing_a_link_is_about_the_link() {
    let host = Host::new();
    host.link("/home/agent", "workspace/home");
    assert!(host.path_leads("/workspace/home", PathAccess::Delete));
    assert!(!host.path_leads("/workspace/home/x", PathAccess::Delete), "control: the file behind the link");
    assert!(!host.path_leads("/workspace/home", PathAccess::Write));
}

#[test]
fn the_systems_own_links_may_be_read_through() {
    let host = Host::new();
    host.link("../data", "opt/bin/data");
    assert!(host.path_leads("/opt/bin/data", PathAccess::Read));
    host.link("/workspace", "opt/out");
    assert!(
        !host.path_leads("/opt/out/x", PathAccess::Read),
        "control: not into a directory that commands can write"
    );
}

/// Returns a host with its root in a directory. There `/bin` is a link, and other links lead to the host.
fn rooted() -> Host {
    let mut host = Host::new();
    for name in ["root/usr/bin", "root/var/tmp", "root/opt"] {
        fs::create_dir_all(host.at(name)).unwrap();
    }
    for name in ["root/usr/bin/tool", "root/var/tmp/tool", "root/usr/bin/only", "workspace/bin/tool"] {
        host.program(name);
    }
    for (target, link) in [
        ("usr/bin", "root/bin"),
        ("/usr/bin", "root/absolute"),
        ("../../../../../usr/bin", "root/opt/up"),
        ("/workspace/bin", "root/opt/out"),
        (host.at("opt/bin").to_str().unwrap(), "root/opt/hosts"),
        ("/workspace/bin/tool", "root/usr/bin/mine"),
    ] {
        host.link(target, link);
    }
    let root = airlock_sandbox::Root::Directory(host.at("root"));
    host.profile = Profile { root, ..Profile::default() };
    host
}

#[test]
fn programs_of_a_root_file_system_are_found_through_its_links_and_in_it() {
    let host = rooted();
    for path in ["/usr/bin", "/bin", "/absolute", "/opt/up", "/nowhere:/bin"] {
        assert!(host.program_is_trusted(path, "only"), "{path}");
    }
    assert!(host.program_is_trusted("/workspace/bin", "/bin/tool"));
    // On the host this link leads to a program. Inside the sandbox the same path is the session's `/tmp`.
    assert!(host.at("root/opt/hosts/tool").exists(), "the control");
    assert!(!host.program_is_trusted("/bin", "/opt/hosts/tool"));
}

#[test]
fn programs_of_a_root_file_system_that_commands_could_have_put_there_are_not_trusted() {
    let host = rooted();
    for path in ["/opt/out", "/workspace/bin", "/var/tmp", "/tmp", "/proc/self/cwd", "/dev/shm"] {
        assert!(!host.program_is_trusted(&format!("{path}:/bin"), "tool"), "{path}");
    }
    assert!(!host.program_is_trusted("/bin", "mine"));
    assert!(
        !host.program_is_trusted("/bin", "/var/tmp/tool"),
        "the session's file, even if the root file system has one"
    );
}

#[test]
fn without_the_requirement_nothing_is_looked_at() {
    let host = Host::new();
    let decided = Decided { programs: vec![b"./x".to_vec()], ..Decided::default() };
    let grant = Grant { requires: Vec::new(), decided, ..grant() };
    assert_eq!(
        check(&grant, &host.profile, &[], &SessionDirectories::at(Path::new("/nowhere")), None),
        Ok(())
    );
}

#[test]
fn a_maze_of_links_ends_in_a_refusal_and_not_in_a_long_search() {
    let host = Host::new();
    for index in 0..30 {
        host.link(&format!("l{0}/../l{0}", index + 1), &format!("workspace/l{index}"));
    }
    assert!(!host.path_leads("/workspace/l0", PathAccess::Write));
}

#[test]
fn a_read_only_command_is_held_to_the_files_that_its_programs_obey_and_another_is_not() {
    let host = Host::new();
    let obeyed = Obeyed {
        program: "tool".to_owned(),
        paths: vec!["/workspace/tool.conf".to_owned()],
        format: ObeyedFormat::Text,
        settings: vec!["pager".to_owned()],
    };
    let decided = Decided { programs: vec![b"tool".to_vec()], obeyed: vec![obeyed], ..Decided::default() };
    let checked = |read_only: bool| {
        let requires = vec![Requirement::ReadOnlyMount, Requirement::TrustedPath];
        let grant = Grant { requires, decided: decided.clone(), read_only, ..grant() };
        let env = [(OsString::from("PATH"), OsString::from("/opt/bin"))];
        check(&grant, &host.profile, &env, &SessionDirectories::at(host.directory.path()), None)
            .map_err(|refusal| refusal.reason)
    };
    assert!(checked(true).is_ok());
    fs::write(host.at("workspace/tool.conf"), "pager = /workspace/evil\n").unwrap();
    assert_eq!(checked(true).unwrap_err(), "names_a_program");
    assert!(checked(false).is_ok(), "the proof does not allow a command that may write");
}
