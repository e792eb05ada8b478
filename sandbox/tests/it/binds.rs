//! Tests of bind sources below directories that only root can enter.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use airlock_sandbox::{LaunchSpec, PathRules, RuleScope};

use crate::support::{Host, OrdinaryRunner};

/// Creates a directory of tools inside a directory that only root can enter and that contains more files.
fn closed(host: &Host) -> PathBuf {
    let closed = host.directory.path().join("closed");
    for directory in ["tools/sub/deep", "tools/private", "other"] {
        fs::create_dir_all(closed.join(directory)).unwrap();
    }
    for file in [
        "tools/tool",
        "tools/sub/tool",
        "tools/sub/deep/tool",
        "tools/private/tool",
        "tools/secret",
        "other/tool",
    ] {
        fs::write(closed.join(file), file).unwrap();
    }
    let mode =
        |path: &str, mode| fs::set_permissions(closed.join(path), PermissionsExt::from_mode(mode)).unwrap();
    mode("tools/secret", 0o600);
    mode("tools/private", 0o700);
    mode("", 0o700);
    closed
}

#[test]
fn a_source_in_a_folder_that_only_root_enters_is_shown_and_nothing_beside_it() {
    let mut host = Host::new();
    let closed = closed(&host);
    let tools = closed.join("tools");
    host.profile =
        host.profile.clone().with_bind(&tools, "/opt/tools").with_bind(tools.join("tool"), "/opt/tool");
    let session = host.session();
    let spec = host.spec(
        "cat /opt/tools/tool /opt/tools/sub/deep/tool /opt/tool; ls /opt /opt/tools; touch /opt/tools/x",
    );
    let said = host.run(&session, &spec).stdout;
    assert!(said.starts_with("tools/tooltools/sub/deep/tooltools/tool"), "{said}");
    assert!(said.contains("tool\ntools\n") && said.ends_with("Read-only file system\n"), "{said}");
    // The modes below it apply to the session, as to every user.
    let said = host
        .run(
            &session,
            &host.spec("cat /opt/tools/secret /opt/tools/private/tool; cat /opt/tools/../other/tool"),
        )
        .stdout;
    assert_eq!(said.matches("Permission denied").count(), 2, "{said}");
    assert!(said.contains("No such file"), "{said}");
    let uid = session.ids.unwrap().uid.to_string();
    let mut control = Command::new("setpriv");
    let control =
        control.args(["--reuid", &uid, "--clear-groups", "cat"]).arg(tools.join("tool")).output().unwrap();
    assert!(!control.status.success(), "control: the session's user cannot reach it by its path");
}

#[test]
fn path_rules_hold_in_such_a_source() {
    let mut host = Host::new();
    let closed = closed(&host);
    host.profile = host.profile.clone().with_bind(closed.join("tools"), "/opt/tools");
    let session = host.session();
    let rules = PathRules {
        deny_read: vec!["//opt/tools".to_owned()],
        allow_read: vec!["//opt/tools/sub/deep".to_owned(), "//opt/tools/private/tool".to_owned()],
        ..PathRules::default()
    };
    let resolved =
        RuleScope::open(&rules, &session.directories, &host.profile).unwrap().unwrap().resolve().unwrap();
    let all = "cat /opt/tools/sub/deep/tool; cat /opt/tools/tool /opt/tools/sub/tool 2>/dev/null; true";
    let spec = host.spec(all);
    assert_eq!(
        host.run(&session, &spec).stdout,
        "tools/sub/deep/tooltools/tooltools/sub/tool",
        "the control"
    );
    let mut covers = resolved.covers;
    let is_private = |path: &Path| path.ends_with("private/tool");
    host.profile.covers = covers.clone();
    // Only a reachable path can be shown again. This one is not reachable.
    let error = host.refused(&session, &spec);
    assert_eq!(error.step(), "setup", "{error}");
    covers.retain(|cover| !is_private(cover.path()));
    host.profile.covers = covers;
    let output = host.run(&session, &LaunchSpec { masks: resolved.masks, ..spec });
    assert_eq!(output.stdout, "tools/sub/deep/tool");
}

#[test]
fn a_link_on_the_way_to_such_a_source_is_refused() {
    let mut host = Host::new();
    let closed = closed(&host);
    let secret = host.directory.path().join("secret");
    fs::create_dir(&secret).unwrap();
    symlink(&secret, closed.join("link")).unwrap();
    let plain = host.profile.clone();
    host.profile = plain.clone().with_bind(closed.join("link"), "/opt/tools");
    let error = host.refused(&host.session(), &host.spec("true"));
    assert_eq!(error.step(), "binds");
    let wanted = format!("`{}/link` is a symbolic link or contains one", closed.display());
    assert_eq!(error.to_string(), wanted);
    assert!(error.hint().is_some());
    host.profile = plain.clone().with_bind(closed.join("none"), "/opt/tools");
    assert!(host.refused(&host.session(), &host.spec("true")).to_string().ends_with("is not there"));
    host.profile = plain.with_bind(closed.join("tools"), "/opt/tools");
    assert_eq!(host.sh("cat /opt/tools/tool").stdout, "tools/tool", "the control");
}

#[test]
fn a_runner_that_is_not_root_says_what_it_cannot_reach() {
    let host = Host::new();
    let closed = closed(&host);
    let runner = OrdinaryRunner::new();
    let run = |bound: &Path| {
        let output = Command::new("setpriv")
            .args(["--reuid", "65534", "--regid", "65534", "--clear-groups"])
            .arg(runner.directory().join("run"))
            .arg(runner.directory().join("state"))
            .arg("echo ran")
            .arg(bound)
            .output()
            .unwrap();
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    };
    let said = run(&closed.join("tools"));
    assert!(said.contains("Can't find source path") && said.contains("Permission denied"), "{said}");
    assert_eq!(run(&host.probe), "ran\n", "the control");
}
