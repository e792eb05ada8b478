//! Tests of masks over a session's directories, each with a control without the mask.

mod race;

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

use MaskKind::{Hidden, ReadOnly, Shown, Writable};
use airlock_mounts::PrivateMounts;
use airlock_sandbox::{LaunchSpec, MAX_MASKS, Mask, MaskKind, Session, SessionDirectory};

use crate::support::{Host, OrdinaryRunner, PROBE, mounts};

/// Builds masks of the workspace.
fn masks(masks: &[(&str, MaskKind)]) -> Vec<Mask> {
    let directory = SessionDirectory::Workspace;
    masks.iter().map(|(path, kind)| Mask { directory, path: path.into(), kind: kind.clone() }).collect()
}

fn masked(spec: LaunchSpec, of: &[(&str, MaskKind)]) -> LaunchSpec {
    LaunchSpec { masks: masks(of), ..spec }
}

/// Creates a session with a secret file and directory, a source and an output directory.
fn session(host: &Host) -> Session {
    let session = host.session();
    let command = "mkdir -p secrets/public src out/kept; for f in secret secrets/key secrets/public/cert \
                   src/main out/kept/file; do echo $f > $f; done";
    host.run(&session, &host.spec(command));
    session
}

/// Returns all entries of the session's directories, with the attributes that a command could change.
fn entries(session: &Session) -> Vec<(PathBuf, u32, u64, i64)> {
    let mut found = Vec::new();
    let mut open = vec![session.directories.root.clone()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let of = fs::symlink_metadata(&path).unwrap();
            found.push((path.clone(), of.mode(), of.size(), of.mtime_nsec()));
            if of.is_dir() {
                open.push(path);
            }
        }
    }
    found.sort();
    found
}

#[test]
fn a_hidden_path_cannot_be_read() {
    let host = Host::new();
    let session = session(&host);
    for (mask, path) in
        [("secret", "/workspace/secret"), ("secrets", "/workspace/secrets/key"), ("", "/workspace/secret")]
    {
        let spec = host.spec(format!("{PROBE} read {path}"));
        let hidden = LaunchSpec { cwd: "/tmp".into(), ..masked(spec.clone(), &[(mask, Hidden)]) };
        host.probe_in(&session, &hidden).assert_out_of_reach(6);
        host.probe_in(&session, &spec).assert_reached();
        let read_only = host.read_only_spec(format!("{PROBE} read {path}"));
        let hidden = LaunchSpec { cwd: "/tmp".into(), ..masked(read_only.clone(), &[(mask, Hidden)]) };
        host.probe_in(&session, &hidden).assert_out_of_reach(6);
        host.probe_in(&session, &read_only).assert_reached();
    }
}

#[test]
fn a_mask_cannot_be_taken_off_or_walked_around_from_inside() {
    let host = Host::new();
    let session = session(&host);
    let tries = "chmod 777 secret secrets; mv secret x; mv secrets y; rm -rf secret secrets; ln secret z; \
                 ln -s secret l; cat l secret secrets/* /proc/self/root/workspace/secret; umount secret; \
                 exec 3<. ; cat /proc/self/fd/3/secret; cp -r secrets /tmp/copy; cat /tmp/copy/*; \
                 echo x >> secret; echo x > secrets/new; mkfifo secrets/fifo; ls secrets";
    let before = entries(&session);
    let spec = host.spec(format!("{{ {tries}; }} 2>/dev/null; rm -rf l /tmp/copy; true"));
    let output = host.run(&session, &masked(spec, &[("secret", Hidden), ("secrets", Hidden)]));
    assert_eq!(output.stdout, "");
    let changed = |path: &Path| path.ends_with("workspace") || path.ends_with("tmp");
    let rest =
        |all: Vec<(PathBuf, u32, u64, i64)>| all.into_iter().filter(|of| !changed(&of.0)).collect::<Vec<_>>();
    assert_eq!(rest(entries(&session)), rest(before));
    let control = host.run(&session, &host.spec("cat secret secrets/key; mv secrets y; ls y"));
    assert_eq!(control.stdout, "secret\nsecrets/key\nkey\npublic\n");
}

#[test]
fn a_read_only_path_can_be_read_and_not_written() {
    let host = Host::new();
    let session = session(&host);
    let masks = [("src", ReadOnly), ("secret", ReadOnly)];
    let before = entries(&session);
    for (path, ways) in [("/workspace/src", 10), ("/workspace/secret", 3), ("/workspace/src/main", 3)] {
        let spec = host.spec(format!("{PROBE} write {path}"));
        host.probe_in(&session, &masked(spec.clone(), &masks)).assert_out_of_reach(ways);
        assert_eq!(entries(&session), before, "{path}");
    }
    let read = host.run(&session, &masked(host.spec("cat src/main secret"), &masks));
    assert_eq!(read.stdout, "src/main\nsecret\n");
    for path in ["/workspace/src", "/workspace/secret", "/workspace/src/main"] {
        host.probe_in(&session, &host.spec(format!("{PROBE} write {path}"))).assert_reached();
    }
}

#[test]
fn a_part_can_be_writable_in_a_read_only_workspace() {
    let host = Host::new();
    let session = session(&host);
    let masks = [("", ReadOnly), ("out", Writable), ("out/kept", ReadOnly)];
    let probe =
        |path: &str| host.probe_in(&session, &masked(host.spec(format!("{PROBE} write {path}")), &masks));
    for path in ["/workspace", "/workspace/src", "/workspace/out/kept"] {
        probe(path).assert_out_of_reach(10);
    }
    for path in ["/workspace/out", "/tmp", "/home/agent"] {
        probe(path).assert_reached();
    }
    assert!(host.run(&session, &masked(host.spec("echo x > out/new; cat out/new"), &masks)).stdout == "x\n");
    assert_eq!(fs::read(session.directories.workspace.join("out/new")).unwrap(), b"x\n");
}

#[test]
fn a_part_can_be_shown_in_what_is_hidden() {
    let host = Host::new();
    let session = session(&host);
    let masks = [("secrets", Hidden), ("secrets/public", Shown), ("secrets/public/cert", ReadOnly)];
    let read =
        |path: &str| host.probe_in(&session, &masked(host.spec(format!("{PROBE} read {path}")), &masks));
    read("/workspace/secrets/key").assert_out_of_reach(6);
    read("/workspace/secrets/public/cert").assert_reached();
    let command = "ls secrets/public; ls secrets 2>/dev/null; echo x > secrets/public/new; cat secrets/public/new; \
                   echo x 2>/dev/null > secrets/new; echo x 2>/dev/null >> secrets/public/cert";
    let output = host.run(&session, &masked(host.spec(command), &masks));
    assert_eq!(output.stdout, "cert\nx\n");
    let workspace = &session.directories.workspace;
    assert!(!workspace.join("secrets/new").exists());
    assert_eq!(fs::read(workspace.join("secrets/public/cert")).unwrap(), b"secrets/public/cert\n");
    let read_only = masked(host.read_only_spec(format!("{PROBE} write /workspace/secrets/public")), &masks);
    host.probe_in(&session, &read_only).assert_out_of_reach(10);
}

#[test]
fn a_read_only_command_stays_read_only_whatever_the_masks_say() {
    let host = Host::new();
    let session = session(&host);
    let masks = [("", Writable), ("out", ReadOnly), ("out/kept", Writable)];
    for path in ["/workspace", "/workspace/out", "/workspace/out/kept"] {
        let spec = host.read_only_spec(format!("{PROBE} write {path}"));
        host.probe_in(&session, &masked(spec, &masks)).assert_out_of_reach(10);
    }
    let control = masked(host.spec(format!("{PROBE} write /workspace/out/kept")), &masks);
    host.probe_in(&session, &control).assert_reached();
}

#[test]
fn home_and_tmp_can_be_masked() {
    let host = Host::new();
    let session = session(&host);
    host.run(&session, &host.spec("mkdir ~/.ssh; echo key > ~/.ssh/id; echo x > /tmp/file"));
    let masks = vec![
        Mask { directory: SessionDirectory::Home, path: ".ssh".into(), kind: Hidden },
        Mask { directory: SessionDirectory::Tmp, path: "".into(), kind: ReadOnly },
    ];
    let command = "cat ~/.ssh/id; touch /tmp/file; touch /tmp/new; cat /tmp/file; echo y > ~/new; cat ~/new";
    let spec = host.spec(format!("{{ {command}; }} 2>/dev/null"));
    assert_eq!(host.run(&session, &spec).stdout, "key\nx\ny\n");
    assert_eq!(host.run(&session, &LaunchSpec { masks, ..spec }).stdout, "x\ny\n");
    assert!(session.directories.tmp.join("new").exists(), "by the control");
}

#[test]
fn an_absent_name_has_no_mask_and_leaves_nothing_on_the_host() {
    let host = Host::new();
    let session = session(&host);
    let absent = [(".git/hooks", ReadOnly), ("no", Hidden), ("no/b", Shown), ("secret/below", Hidden)];
    let before = entries(&session);
    let output = host.run(&session, &masked(host.spec("cat secret"), &absent));
    assert_eq!(output.stdout, "secret\n");
    assert_eq!(entries(&session), before);
}

#[test]
fn a_link_at_a_masked_name_or_before_it_is_refused() {
    let host = Host::new();
    let session = session(&host);
    host.run(&session, &host.spec("ln -s secrets folder; ln -s secret file; ln -s /etc/passwd out/outside"));
    for (path, kind) in [
        ("folder", Hidden),
        ("folder/key", Hidden),
        ("file", Hidden),
        ("out/outside", Writable),
        ("folder/public", Writable),
    ] {
        let error = host.refused(&session, &masked(host.spec("true"), &[("", ReadOnly), (path, kind)]));
        assert_eq!(error.step(), "masks", "{error}");
        let told = format!("`{path}` is a symbolic link or contains one");
        assert_eq!(error.to_string(), told);
        assert!(error.hint().is_some());
    }
    // Nothing is resolved below a hidden path.
    host.run(&session, &masked(host.spec("true"), &[("secrets", Hidden)]));
}

#[test]
fn masks_keep_their_mount_flags_inside() {
    let host = Host::new();
    let session = session(&host);
    let masks = [("", ReadOnly), ("out", Writable), ("secrets", Hidden), ("secrets/public", Shown)];
    let look = "while read -r _ _ _ _ at flags _; do case $at in /workspace*) echo $at $flags;; esac; done \
                < /proc/self/mountinfo";
    let flags = |spec: LaunchSpec| {
        let output = host.run(&session, &masked(spec, &masks)).stdout;
        let line = |line: &str| {
            let (at, flags) = line.split_once(' ').unwrap();
            let has = |flag: &str| flags.split(',').any(|found| found == flag);
            assert!(has("nosuid") && has("nodev"), "{line}");
            (at.to_owned(), has("ro"))
        };
        output.lines().map(line).collect::<Vec<_>>()
    };
    let wanted = |out: bool| {
        let of = |(at, read_only): (&str, bool)| (format!("/workspace{at}"), read_only);
        [("", true), ("/out", out), ("/secrets", true), ("/secrets/public", true)].map(of).to_vec()
    };
    assert_eq!(flags(host.spec(look)), wanted(false));
    assert_eq!(
        flags(host.read_only_spec(look)),
        [wanted(true)[0].clone(), wanted(true)[2].clone(), wanted(true)[3].clone()]
    );
}

#[test]
fn odd_names_can_be_masked() {
    let host = Host::new();
    let session = session(&host);
    let names = [" ", "a b", "a\nb", "a\\040b", "#x", "\u{fc}", "-rf", "'q'", "\"", "$(x)", "a\tb", "*"];
    let workspace = &session.directories.workspace;
    for name in names {
        fs::write(workspace.join(name), "odd\n").unwrap();
    }
    let all: Vec<_> = names.map(|name| (name, Hidden)).to_vec();
    let spec = host.spec("cat -- * ' ' 2>/dev/null | grep -c odd");
    assert_eq!(host.run(&session, &masked(spec.clone(), &all)).stdout, "0\n");
    assert_ne!(host.run(&session, &spec).stdout, "0\n");
}

#[test]
fn an_invalid_mask_is_refused_before_the_start() {
    let host = Host::new();
    let session = session(&host);
    for path in ["/etc", "../home", "a/../b", "./a", ".."] {
        let error = host.refused(&session, &masked(host.spec("true"), &[(path, Hidden)]));
        assert_eq!(error.step(), "request");
        assert_eq!(error.to_string(), format!("`{path}` is not a path below a session's directory"));
    }
    let many: Vec<_> = (0..=MAX_MASKS).map(|i| format!("f{i}")).collect();
    let many: Vec<_> = many.iter().map(|path| (path.as_str(), Hidden)).collect();
    let error = host.refused(&session, &masked(host.spec("true"), &many));
    assert_eq!(error.to_string(), "the path rules match 4097 files and directories, the limit is 4096");
    let long = format!("{}a", "d/".repeat(3000));
    let error = host.refused(&session, &masked(host.spec("true"), &[(&long, Hidden)]));
    assert_eq!(error.to_string(), "the paths that the path rules match are too long in total");
}

#[test]
fn as_many_masks_as_are_allowed_can_be_laid() {
    let host = Host::new();
    let session = session(&host);
    let workspace = &session.directories.workspace;
    let names: Vec<_> = (0..MAX_MASKS).map(|i| format!("f{i}")).collect();
    for name in &names {
        fs::write(workspace.join(name), "hidden").unwrap();
        std::os::unix::fs::chown(workspace.join(name), session.ids.map(|ids| ids.uid), None).unwrap();
    }
    let all: Vec<_> = names.iter().map(|name| (name.as_str(), Hidden)).collect();
    let count = host.spec("cat f* 2>/dev/null | wc -c");
    assert_eq!(host.run(&session, &masked(count.clone(), &all)).stdout, "0\n");
    assert_eq!(host.run(&session, &count).stdout, format!("{}\n", 6 * MAX_MASKS));
}

#[test]
fn no_mount_is_left_on_the_host() {
    let _private = PrivateMounts::enter();
    let before = mounts();
    let host = Host::new();
    let session = session(&host);
    let masks = [("", ReadOnly), ("out", Writable), ("secrets", Hidden), ("secrets/public", Shown)];
    host.run(&session, &masked(host.spec("true"), &masks));
    symlink("x", session.directories.workspace.join("link")).unwrap();
    host.refused(&session, &masked(host.spec("true"), &[("src", ReadOnly), ("link", Hidden)]));
    assert_eq!(mounts(), before);
}

#[test]
fn an_ordinary_users_runner_masks_as_well() {
    let host = Host::new();
    let runner = OrdinaryRunner::new();
    let probe = |words: &str, masks: &[&str]| {
        let found = runner.run(&host, &format!("{PROBE} {words}"), masks);
        let reached = found.contains("\"reached\":true");
        assert!(found.contains("\"ways\":["), "{found}");
        reached
    };
    for shape in [&[][..], &["read-only"]] {
        let with = |mask| [shape, &[mask]].concat();
        assert!(!probe("read /workspace/secret", &with("hidden:secret")));
        assert!(!probe("read /workspace/src/file", &with("hidden:src")));
        assert!(!probe("write /workspace/src", &with("read-only:src")));
        assert!(probe("read /workspace/secret", &with("hidden:src")), "the control");
        assert!(!probe("capabilities", &with("hidden:secret")));
        assert!(!probe("descriptors", &with("hidden:secret")));
        assert!(!probe("namespaces", &with("hidden:secret")));
    }
    assert!(probe("write /workspace/src", &["hidden:secret"]), "the control");
    let opened =
        "chmod 700 secret src 2>/dev/null; cat secret src/* 2>/dev/null; rm -rf src secret 2>/dev/null; ls";
    assert_eq!(runner.run(&host, opened, &["hidden:secret", "hidden:src"]), "secret\nsrc\n");
}
