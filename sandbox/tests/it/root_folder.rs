//! Tests of roots in host directories: Debian's, and one with a single program.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use airlock_sandbox::{Bind, LaunchSpec, PathRules, Profile, Root, RuleScope, Session};

use crate::support::{Host, PROBE};

mod hostile;

/// Returns the smallest Debian root, which the pod tests use too. On most hosts it lies below a directory that only
/// root can enter.
fn debian() -> PathBuf {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/pods/rootfs.sh");
    let made = Command::new(script).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    PathBuf::from(String::from_utf8(made.stdout).unwrap().trim())
}

/// Creates a host with a profile that has its root in `directory` and contains the probe.
fn host(directory: &Path) -> Host {
    let mut host = Host::new();
    let probe = Bind { source: host.probe.clone(), target: PROBE.into() };
    host.profile = Profile {
        root: Root::Directory(directory.to_owned()),
        binds: vec![probe],
        path: host.profile.path.clone(),
        ..Profile::default()
    };
    host
}

/// Creates a root with one program that needs no other file.
fn tiny(parent: &Path) -> PathBuf {
    let root = parent.join("tiny");
    fs::create_dir_all(root.join("bin")).unwrap();
    fs::copy("/bin/bash-static", root.join("bin/bash")).unwrap();
    for directory in [&root, &root.join("bin")] {
        fs::set_permissions(directory, PermissionsExt::from_mode(0o755)).unwrap();
    }
    root
}

fn tiny_host() -> (Host, PathBuf) {
    let mut host = Host::new();
    let root = tiny(host.directory.path());
    host.profile =
        Profile { root: Root::Directory(root.clone()), path: "/bin".to_owned(), ..Profile::default() };
    (host, root)
}

#[test]
fn a_real_system_works_in_both_shapes() {
    let host = host(&debian());
    let session = host.session();
    let work = "set -e; . /etc/os-release; echo $ID $VERSION_ID; id -un; id -u; dpkg-query -W -f '${Package}\\n' bash; \
                perl -e 'print 6 * 7, qq(\\n)'; ls -d /etc/debian_version /usr/share/perl5; cat /etc/hosts | head -1";
    let wanted = "debian 12\nagent\n1000\nbash\n42\n/etc/debian_version\n/usr/share/perl5\n\
                  127.0.0.1 localhost airlock\n";
    for spec in [host.spec(work), host.read_only_spec(work)] {
        assert_eq!(host.run(&session, &spec).stdout, wanted);
    }
    let written = "set -e; git init -q; echo x > file; git add file; git -c user.name=a -c user.email=b commit -qm c; \
                   echo x > ~/file; echo x > /tmp/file; cat /var/tmp/file; git log --oneline | wc -l";
    assert_eq!(host.run(&session, &host.spec(written)).stdout, "x\n1\n");
    let kept =
        "cat file ~/file /tmp/file; echo x > file; echo x > ~/file; echo x > $TMPDIR/file && echo $TMPDIR";
    let read_only = host.run(&session, &host.read_only_spec(kept));
    assert!(read_only.stdout.starts_with("x\nx\nx\n") && read_only.stdout.ends_with("/var/tmp\n"));
    assert_eq!(read_only.stdout.matches("Read-only file system").count(), 2, "{}", read_only.stdout);
}

#[test]
fn another_root_has_the_restrictions_of_any_sandbox() {
    let host = host(&debian());
    for (words, ways) in [("capabilities", 5), ("gain-privileges", 3), ("namespaces", 5), ("mount", 3)] {
        host.probe(words).assert_out_of_reach(ways);
    }
    for place in ["/", "/usr", "/etc", "/run", "/var", "/opt", "/home", "/run/airlock", "/dev", "/etc/passwd"]
    {
        host.probe(&format!("write {place}")).assert_out_of_reach(3);
    }
    host.probe("write /workspace").assert_reached();
    host.probe("device /workspace/device").assert_out_of_reach(1);
    let said = host.sh("grep -c . /proc/self/mountinfo; ls /sys /run | tr '\\n' ' '; ls -A /root").stdout;
    assert!(!said.contains("kernel"), "nothing of the host's /sys: {said}");
}

#[test]
fn a_root_of_one_program_holds_that_and_nothing_of_the_host() {
    let (host, root) = tiny_host();
    let all = "cd /; shopt -s dotglob nullglob; echo *; echo etc/* usr/* bin/* var/*; echo $(< /etc/hosts)";
    let wanted = "bin dev etc home proc run tmp var workspace\n\
                  etc/gitconfig etc/group etc/hosts etc/nsswitch.conf etc/passwd etc/ssh bin/bash var/tmp\n\
                  127.0.0.1 localhost airlock ::1 localhost airlock\n";
    assert_eq!(host.sh(all).stdout, wanted);
    let written = "for f in /x /bin/x /etc/x /run/x /var/x; do : > $f; done; : > /workspace/x; : > /var/tmp/x; \
                   echo /workspace/x /tmp/x";
    let said = host.sh(written).stdout;
    assert_eq!(said.matches("Read-only file system").count(), 5, "{said}");
    assert!(said.ends_with("/workspace/x /tmp/x\n"), "{said}");
    let mut left: Vec<_> = fs::read_dir(&root).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, [OsStr::new("bin")], "no mount point remains in the directory");
}

#[test]
fn a_root_without_a_shell_is_said_so() {
    let (host, root) = tiny_host();
    fs::remove_file(root.join("bin/bash")).unwrap();
    let error = host.refused(&host.session(), &host.spec("true"));
    assert!(error.is_shell_unavailable(), "{error}");
}

#[test]
fn binds_lie_over_the_folder_and_what_they_cover_comes_back_without_them() {
    let (mut host, root) = tiny_host();
    let tools = host.directory.path().join("tools");
    for directory in [&tools, &root.join("opt/here")] {
        fs::create_dir_all(directory).unwrap();
        fs::set_permissions(directory, PermissionsExt::from_mode(0o755)).unwrap();
    }
    fs::write(tools.join("a"), "bound").unwrap();
    fs::write(root.join("opt/here/own"), "own").unwrap();
    let look = "shopt -s nullglob; echo /opt/here/* /srv/new/* $(< /srv/file)";
    host.profile = host
        .profile
        .clone()
        .with_bind(&tools, "/opt/here")
        .with_bind(&tools, "/srv/new")
        .with_bind(tools.join("a"), "/srv/file");
    assert_eq!(host.sh(look).stdout, "/opt/here/a /srv/new/a bound\n");
    host.profile.binds.clear();
    let control = host.sh("shopt -s nullglob; echo /opt/here/* /srv/new/*").stdout;
    assert_eq!(control, "/opt/here/own\n", "the control");
    assert!(!root.join("srv").exists());
}

/// Runs one command under rules.
fn under(host: &mut Host, session: &Session, rules: &PathRules, command: &str) -> String {
    let scope = RuleScope::open(rules, &session.directories, &host.profile).unwrap().unwrap();
    let resolved = scope.resolve().unwrap();
    host.profile.covers = resolved.covers;
    let spec = LaunchSpec { masks: resolved.masks, ..host.spec(command) };
    let output = host.run(session, &spec);
    host.profile.covers = Vec::new();
    output.stdout
}

#[test]
fn path_rules_hold_in_the_folder_and_through_its_links() {
    let (mut host, root) = tiny_host();
    for (path, text) in [
        ("data/key", "key"),
        ("data/open/doc", "doc"),
        ("data/open/deep/doc", "deep"),
        ("etc/secret", "secret"),
        ("etc/hosts", "of the folder"),
        ("tmp/below", "never seen"),
    ] {
        fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
        fs::write(root.join(path), text).unwrap();
    }
    symlink("/data/open", root.join("link")).unwrap();
    symlink("../../../etc/secret", root.join("data/up")).unwrap();
    let session = host.session();
    let all = "for f in /data/key /data/open/doc /link/deep/doc /etc/secret /data/up; do echo $(< $f); done 2>/dev/null; \
               echo $(< /etc/hosts)";
    let hosts = "127.0.0.1 localhost airlock ::1 localhost airlock\n";
    let list = |rules: &[&str]| rules.iter().map(|rule| (*rule).to_owned()).collect::<Vec<_>>();
    for (deny, allow, wanted) in [
        (list(&["//data/**"]), list(&["//data/open"]), "\ndoc\ndeep\nsecret\n\n"),
        (list(&["//data/up", "//link/deep"]), Vec::new(), "key\ndoc\n\n\n\n"),
        (list(&["//etc/secret", "//etc/hosts", "//tmp/**", "//var/**"]), Vec::new(), "key\ndoc\ndeep\n\n\n"),
        (list(&["//nothing"]), Vec::new(), "key\ndoc\ndeep\nsecret\nsecret\n"),
    ] {
        let rules = PathRules { deny_read: deny.clone(), allow_read: allow, ..PathRules::default() };
        assert_eq!(under(&mut host, &session, &rules, all), format!("{wanted}{hosts}"), "{deny:?}");
    }
}
