//! Tests of host files that a runner shows: a root file system, sockets, directories that only root can enter.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    fs,
    os::unix::{fs::PermissionsExt as _, net::UnixListener},
    path::{Path, PathBuf},
};

use airlock_domain::{Bind, Cause, Grant, Requirement, SessionId};
use airlock_runner::RunnerConfig;

use crate::{
    fake::Manners,
    fixture::{Fixture, grant},
};

/// Creates a directory of the test next to the runner's state.
fn beside(config: &RunnerConfig, name: &str) -> PathBuf {
    let directory = config.state_dir.parent().unwrap_or(Path::new("/")).join(name);
    fs::create_dir_all(&directory).unwrap();
    directory
}

fn passable(directory: &Path) {
    for directory in directory.ancestors().take_while(|directory| *directory != Path::new("/tmp")) {
        fs::set_permissions(directory, fs::Permissions::from_mode(0o755)).unwrap();
    }
}

/// Creates a root with one program that needs no other file.
fn tiny(config: &mut RunnerConfig) {
    let root = beside(config, "roots/tiny");
    fs::create_dir(root.join("bin")).unwrap();
    fs::copy("/bin/bash-static", root.join("bin/bash")).unwrap();
    passable(&root.join("bin"));
    config.floor.rootfs = vec![beside(config, "roots")];
}

fn rooted(it: &Fixture, session: SessionId, command: &str) -> Grant {
    let mut asked = grant(session, command);
    asked.profile.rootfs = Some(beside(&it.config, "roots/tiny").to_str().unwrap().to_owned());
    asked.profile.path = "/bin".to_owned();
    asked
}

#[tokio::test(flavor = "multi_thread")]
async fn a_root_file_system_of_the_hosts_is_given_where_the_floor_permits_it() {
    let mut it = Fixture::with(Manners::default(), tiny).await;
    let session = it.open("").await;
    let said = it.said(rooted(&it, session, "cd /; echo *; echo bin/*; : > /workspace/file")).await;
    assert_eq!(said, "bin dev etc home proc run tmp var workspace\nbin/bash\n");
    let mut trusted = rooted(&it, session, "bash -c 'echo ran'");
    trusted.requires = vec![Requirement::TrustedPath];
    trusted.decided.programs = vec![b"bash".to_vec()];
    assert_eq!(it.said(trusted).await, "ran\n");
    for directory in ["/", "/usr", "/etc"] {
        let mut asked = rooted(&it, session, "true");
        asked.profile.rootfs = Some(directory.to_owned());
        assert_eq!(it.refusal(asked).await, "floor", "{directory}");
    }
    assert_eq!(
        it.said(grant(session, "ls /workspace; ls -d /usr")).await,
        "file\n/usr\n",
        "the host's file again"
    );
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_socket_of_the_hosts_is_shown_where_the_floor_permits_it() {
    let directory = tempfile::Builder::new().prefix("airlock-services-").tempdir_in("/run").unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let [allowed, other] = ["allowed", "other"].map(|name| directory.path().join(name));
    let listeners = [&allowed, &other].map(|path| UnixListener::bind(path).unwrap());
    fs::set_permissions(&allowed, fs::Permissions::from_mode(0o666)).unwrap();
    let mut it = Fixture::with(Manners::default(), |config| {
        config.floor.unix_sockets = vec![allowed.clone()];
    })
    .await;
    let session = it.open("").await;
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let mut asked =
        grant(session, &format!("test -S {} && ls {}", allowed.display(), directory.path().display()));
    asked.profile.sockets.allowed_unix = vec![text(&allowed)];
    assert_eq!(it.said(asked.clone()).await, "allowed\n");
    let mut more = asked.clone();
    more.profile.sockets.allowed_unix.push(text(&other));
    assert_eq!(it.refusal(more).await, "floor");
    drop(listeners);
    fs::remove_file(&allowed).unwrap();
    let (_, result) = it.run(asked).await;
    let Cause::SandboxFailed { step, message, hint } = result.cause else { panic!("{result:?}") };
    assert_eq!(step, "sockets");
    assert!(message.ends_with("is not there") && hint.contains("start the service"), "{message}; {hint}");
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_below_one_that_only_root_enters_is_shown_where_the_floor_permits_it() {
    let mut it = Fixture::with(Manners::default(), |config| {
        let tools = beside(config, "closed/tools");
        fs::write(tools.join("tool"), "a tool").unwrap();
        fs::set_permissions(&tools, fs::Permissions::from_mode(0o755)).unwrap();
        fs::set_permissions(beside(config, "closed"), fs::Permissions::from_mode(0o700)).unwrap();
        config.floor.bind_sources = vec![tools];
    })
    .await;
    let session = it.open("").await;
    let closed = beside(&it.config, "closed");
    let mut asked = grant(session, "cat /opt/tools/tool");
    let source = closed.join("tools").to_str().unwrap().to_owned();
    asked.profile.root_binds.push(Bind { source, target: "/opt/tools".to_owned() });
    assert_eq!(it.said(asked.clone()).await, "a tool");
    let source = closed.to_str().unwrap().to_owned();
    asked.profile.root_binds = vec![Bind { source, target: "/opt/tools".to_owned() }];
    assert_eq!(it.refusal(asked).await, "floor", "control: the files above it");
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_is_shown_beside_home_and_below_the_systems_folders() {
    let mut it = Fixture::with(Manners::default(), |config| {
        let cache = beside(config, "cache");
        fs::write(cache.join("crate"), "a crate\n").unwrap();
        fs::set_permissions(&cache, fs::Permissions::from_mode(0o755)).unwrap();
        config.floor.bind_sources = vec![cache];
    })
    .await;
    let session = it.open("").await;
    let source = beside(&it.config, "cache").to_str().unwrap().to_owned();
    for target in ["/home/dev/cache", "/var/cache/x", "/root/.cargo", "/srv/x"] {
        let mut asked =
            grant(session, &format!("cat {target}/crate; touch {target}/x 2>/dev/null; touch ~/own && ls ~"));
        asked.profile.root_binds.push(Bind { source: source.clone(), target: target.to_owned() });
        assert_eq!(it.said(asked).await, "a crate\nown\n", "{target}");
    }
    it.shut_down().await;
}
