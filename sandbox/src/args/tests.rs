//! Snapshot tests of bubblewrap's arguments for several profiles.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::*;
use crate::profile::{Bind, Symlink};

/// A profile that does not depend on the host.
fn profile() -> Profile {
    let bind = |path: &str| Bind { source: path.into(), target: path.into() };
    Profile {
        binds: vec![bind("/usr"), bind("/etc/ld.so.cache")],
        symlinks: vec![Symlink { target: "usr/bin".into(), link: "/bin".into() }],
        path: "/usr/bin:/bin".to_owned(),
        ..Profile::default()
    }
}

fn direct() -> Sources {
    let at = |name| Path::new("/var/lib/airlock").join(name);
    Sources {
        workspace: at("s/1f/workspace"),
        home: at("s/1f/home"),
        tmp: at("s/1f/tmp"),
        runtime: at("runtime-2e"),
    }
}

fn lines(sources: &Sources, read_only: bool, network: Network) -> String {
    lines_of(&profile(), sources, read_only, network)
}

fn lines_of(profile: &Profile, sources: &Sources, read_only: bool, network: Network) -> String {
    let shape = Shape { read_only, network };
    let args = bwrap_args(profile, sources, &Limits::default(), shape);
    let mut text = String::new();
    for arg in &args {
        let arg = String::from_utf8_lossy(arg.as_bytes());
        text.push_str(if arg.starts_with("--") { "\n" } else { " " });
        text.push_str(&arg);
    }
    text.trim().to_owned()
}

#[test]
fn a_writable_command_in_its_sessions_network() {
    insta::assert_snapshot!(lines(&Sources::staged(), false, Network::SessionLoopback));
}

#[test]
fn a_writable_command_in_an_empty_network() {
    insta::assert_snapshot!(lines(&Sources::staged(), false, Network::Empty));
}

#[test]
fn a_read_only_command() {
    insta::assert_snapshot!(lines(&Sources::staged(), true, Network::Empty));
}

#[test]
fn a_runner_that_cannot_change_uid() {
    insta::assert_snapshot!(lines(&direct(), false, Network::SessionLoopback));
}

#[test]
fn no_option_that_is_silent_when_it_fails() {
    for read_only in [false, true] {
        for network in [Network::Empty, Network::SessionLoopback] {
            let text = lines(&Sources::staged(), read_only, network);
            for option in text.lines() {
                let name = option.split(' ').next().unwrap();
                assert!(!name.ends_with("-try") && name != "--unshare-all", "{option}");
                assert!(!name.starts_with("--share") && name != "--cap-add", "{option}");
                assert!(!name.starts_with("--dev-bind"), "{option}");
            }
        }
    }
}

#[test]
fn read_only_leaves_no_writable_bind() {
    let text = lines(&Sources::staged(), true, Network::Empty);
    assert!(text.lines().all(|option| !option.starts_with("--bind")), "{text}");
    let control = lines(&Sources::staged(), false, Network::Empty);
    assert_eq!(control.lines().filter(|option| option.starts_with("--bind")).count(), 3);
}

#[test]
fn covers_lie_over_the_root_and_under_the_kernels_files() {
    let mut profile = profile();
    profile.covers = vec![
        RootCover::Directory { path: "/etc/ssl".into(), around: false },
        RootCover::Directory { path: "/usr/share/secret".into(), around: true },
        RootCover::File { path: "/usr/share/key".into() },
        RootCover::Again(Bind {
            source: "/usr/share/secret/doc".into(),
            target: "/usr/share/secret/doc".into(),
        }),
    ];
    insta::assert_snapshot!(lines_of(&profile, &Sources::staged(), false, Network::SessionLoopback));
}

#[test]
fn a_root_in_a_folder_with_sockets_of_the_host() {
    let mut profile = profile();
    profile.root = Root::Directory("/srv/root".into());
    profile.binds = vec![Bind { source: "/sys/bind-0".into(), target: "/opt/tools".into() }];
    profile.sockets.allowed_unix = vec!["/run/a.sock".into(), "/srv/b/c.sock".into()];
    for read_only in [false, true] {
        let name = format!("a_root_in_a_folder_with_sockets_of_the_host_{read_only}");
        insta::assert_snapshot!(name, lines_of(&profile, &Sources::staged(), read_only, Network::Empty));
    }
}
