//! Tests of directories with contents that a root file system should not have: links to the host, programs with setuid,
//! devices, the host's own root.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use airlock_mounts::PrivateMounts;
use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};

use super::*;

/// Returns the files that the session's user sees on the host itself. This is the control.
fn outside(session: &Session, command: &str) -> String {
    let ids = session.ids.unwrap();
    let (uid, gid) = (ids.uid.to_string(), ids.gid.to_string());
    let words = ["--reuid", &uid, "--regid", &gid, "--clear-groups", "--", "bash", "-c", command];
    let output = Command::new("setpriv").args(words).output().unwrap();
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}

#[test]
fn its_links_are_resolved_inside_it() {
    let (host, root) = tiny_host();
    let secret = host.directory.path().join("secret");
    fs::write(&secret, "of the host").unwrap();
    let session = host.session();
    symlink("/", root.join("all")).unwrap();
    symlink("../../../../../../../..", root.join("up")).unwrap();
    symlink(host.directory.path(), root.join("absolute")).unwrap();
    symlink("../..", root.join("bin/above")).unwrap();
    for way in ["/all", "/up", "/bin/above", "/bin/above/up"] {
        let path = format!("{way}{}", secret.display());
        let said = host.run(&session, &host.spec(format!("echo $(< {path})"))).stdout;
        assert!(said.contains("No such file"), "{path}: {said}");
    }
    for way in ["all", "up"] {
        let seen = outside(&session, &format!("cat {}/{way}{}", root.display(), secret.display()));
        assert_eq!(seen, "of the host", "the control");
    }
    let said = host.run(&session, &host.spec("echo $(< /absolute/secret); echo $(< /up/etc/hosts)")).stdout;
    assert!(said.contains("No such file") && said.ends_with("::1 localhost airlock\n"), "{said}");
    let seen = outside(&session, &format!("cat {}/absolute/secret", root.display()));
    assert_eq!(seen, "of the host", "the control");
}

#[test]
fn a_link_where_airlocks_own_folders_are_is_refused() {
    for (name, target) in
        [("etc", "/etc"), ("tmp", "/"), ("proc", "usr"), ("run", "../../run"), ("var", "/var")]
    {
        let (host, root) = tiny_host();
        symlink(target, root.join(name)).unwrap();
        let error = host.refused(&host.session(), &host.spec("true"));
        assert_eq!(error.step(), "root", "{error}");
        assert!(error.to_string().contains("is a symbolic link"), "{error}");
        assert!(error.hint().unwrap().contains("a directory"), "{error}");
        fs::remove_file(root.join(name)).unwrap();
        fs::create_dir(root.join(name)).unwrap();
        assert_eq!(host.sh("echo ran").stdout, "ran\n", "the control");
    }
}

#[test]
fn a_bind_behind_a_link_of_the_folder_is_refused() {
    let (mut host, root) = tiny_host();
    symlink("/bin", root.join("sbin")).unwrap();
    host.profile = host.profile.clone().with_bind("/usr/share/perl5", "/sbin/perl");
    let error = host.refused(&host.session(), &host.spec("true"));
    assert_eq!(error.step(), "root");
    assert!(error.to_string().contains("cannot contain the mount point `/sbin/perl`"), "{error}");
    host.profile.binds.clear();
    assert_eq!(host.sh("cd /sbin; echo *").stdout, "bash\n", "control: the file that the link hides");
}

#[test]
fn a_program_with_setuid_gains_nothing() {
    let mut host = Host::new();
    let root = small_root(host.directory.path(), &[Path::new("/usr/bin/id")]);
    let suid = root.join("usr/bin/id");
    fs::set_permissions(&suid, PermissionsExt::from_mode(0o4755)).unwrap();
    host.profile = Profile { root: Root::Directory(root), path: "/usr/bin".to_owned(), ..Profile::default() };
    let session = host.session();
    let said = host.run(&session, &host.spec("/usr/bin/id -u; /usr/bin/id -ru")).stdout;
    assert_eq!(said, "1000\n1000\n");
    assert_eq!(outside(&session, &format!("{} -u", suid.display())), "0\n", "the control");
}

#[test]
fn a_device_in_it_cannot_be_opened() {
    let (host, root) = tiny_host();
    let device = root.join("null");
    mknodat(CWD, &device, FileType::CharacterDevice, Mode::from_raw_mode(0o666), makedev(1, 3)).unwrap();
    fs::set_permissions(&device, PermissionsExt::from_mode(0o666)).unwrap();
    let session = host.session();
    let said = host
        .run(&session, &host.spec("echo $(< /null); echo x > /null; echo x > /dev/null && echo ours"))
        .stdout;
    assert_eq!(said.matches("Permission denied").count(), 2, "{said}");
    assert!(said.ends_with("ours\n"), "{said}");
    let seen = outside(&session, &format!("echo x > {} && echo opened", device.display()));
    assert_eq!(seen, "opened\n", "the control");
}

#[test]
fn a_file_that_only_root_reads_stays_so() {
    let (host, root) = tiny_host();
    for (name, mode) in [("shadow", 0o600), ("readable", 0o644)] {
        fs::write(root.join(name), name).unwrap();
        fs::set_permissions(root.join(name), PermissionsExt::from_mode(mode)).unwrap();
    }
    let said = host.sh("echo $(< /shadow); echo $(< /readable)").stdout;
    assert!(said.contains("/shadow: Permission denied") && said.ends_with("readable\n"), "{said}");
}

#[test]
fn mounts_in_the_root_are_not_shown() {
    let private = PrivateMounts::enter();
    let (host, root) = tiny_host();
    let other = host.directory.path().join("other");
    for directory in [&other, &root.join("mnt")] {
        fs::create_dir(directory).unwrap();
    }
    fs::write(other.join("file"), "").unwrap();
    let mounted = private.bind(&other, root.join("mnt"));
    assert!(root.join("mnt/file").exists(), "the control");
    assert_eq!(host.sh("shopt -s nullglob; echo /mnt/*").stdout, "\n");
    drop(mounted);
    assert!(!root.join("mnt/file").exists() && other.join("file").exists());
}

#[test]
fn the_hosts_own_root_is_refused() {
    let (mut host, tiny) = tiny_host();
    for directory in ["/", "/."] {
        host.profile.root = Root::Directory(directory.into());
        let error = host.refused(&host.session(), &host.spec("true"));
        assert_eq!(error.step(), "root");
        assert!(error.to_string().ends_with("is the root of the host"), "{error}");
    }
    host.profile.root = Root::Directory(tiny);
    assert_eq!(host.sh("echo ran").stdout, "ran\n", "the control");
}

#[test]
fn a_folder_that_is_not_there_or_none_or_a_link_is_said_so() {
    let (mut host, tiny) = tiny_host();
    let at = |name: &str| host.directory.path().join(name);
    fs::write(at("file"), "").unwrap();
    symlink(&tiny, at("link")).unwrap();
    let cases = [
        (at("none"), "is not there"),
        (at("file"), "is not a directory"),
        (at("link"), "is a symbolic link"),
    ];
    for (directory, wanted) in cases {
        host.profile.root = Root::Directory(directory);
        let error = host.refused(&host.session(), &host.spec("true"));
        assert_eq!(error.step(), "root");
        assert!(error.to_string().contains(wanted) && error.hint().is_some(), "{error}");
    }
}

/// Copies bash and `programs` with their libraries into a new directory below `parent`.
pub(crate) fn small_root(parent: &Path, programs: &[&Path]) -> PathBuf {
    let root = parent.join("root");
    let mut files: BTreeSet<PathBuf> = ["/bin/bash".into()].into();
    files.extend(programs.iter().map(|program| program.to_path_buf()));
    for program in files.clone() {
        let said = Command::new("ldd").arg(&program).output().unwrap();
        let said = String::from_utf8(said.stdout).unwrap();
        let words = said.split_whitespace().filter(|word| word.starts_with('/'));
        files.extend(words.map(PathBuf::from));
    }
    for file in files {
        let copy = root.join(file.strip_prefix("/").unwrap());
        let above = copy.parent().unwrap();
        fs::create_dir_all(above).unwrap();
        fs::copy(&file, &copy).unwrap();
        for directory in above.ancestors().take_while(|directory| directory.starts_with(&root)) {
            fs::set_permissions(directory, PermissionsExt::from_mode(0o755)).unwrap();
        }
    }
    root
}
