//! Tests that a command does not run if a sandbox cannot start, and that the error contains the failed step, the
//! cause and the remedy.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;

use airlock_sandbox::{
    Cause, CgroupConfig, Config, HostIds, LaunchError, LaunchSpec, Launcher, Session, Started, UidIsolation,
};

use crate::end::mark;
use crate::support::{BWRAP, Host, finish, host_processes};

impl Host {
    /// Replaces bubblewrap by a script.
    pub(crate) fn with_bwrap(mut self, script: &str) -> Self {
        let path = self.directory.path().join("bwrap");
        // Answers the launcher's initial queries as the real program does.
        let text = format!("#!/bin/bash\ncase $1 in --help|--version) exec {BWRAP} $1;; esac\n{script}\n");
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        self.launcher = Launcher::new(Config {
            bwrap: path,
            state: self.directory.path().join("state-of-a-fake"),
            uid_isolation: UidIsolation::detect(),
            cgroup: CgroupConfig::default(),
        })
        .unwrap();
        self
    }
}

fn launcher(bwrap: &str) -> LaunchError {
    let state = airlock_mounts::ScratchDir::new();
    let config = Config {
        bwrap: bwrap.into(),
        state: state.path().join("state"),
        uid_isolation: UidIsolation::detect(),
        cgroup: CgroupConfig::default(),
    };
    Launcher::new(config).unwrap_err()
}

#[test]
fn missing_bubblewrap() {
    let error = launcher("/nonexistent/bwrap");
    assert_eq!(error.step(), "bubblewrap");
    assert_eq!(
        error.to_string(),
        "cannot execute bubblewrap at `/nonexistent/bwrap`: No such file or directory (os error 2)"
    );
    assert_eq!(error.hint().as_deref(), Some("apt-get install bubblewrap"));
    assert_eq!(error.started(), Started::No);
}

#[test]
fn bubblewrap_that_is_something_else_or_too_old() {
    let error = launcher("/bin/true");
    assert_eq!(error.to_string(), "bubblewrap at `/bin/true` does not support `--args`");
    assert_eq!(error.hint().as_deref(), Some("install bubblewrap 0.8 or later"));
}

#[test]
fn bubblewrap_that_never_answers() {
    let directory = airlock_mounts::ScratchDir::new();
    let path = directory.path().join("bwrap");
    fs::write(&path, "#!/bin/sh\nexec sleep 1000\n").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let error = launcher(path.to_str().unwrap());
    assert_eq!(error.step(), "bubblewrap");
    assert!(error.to_string().ends_with("it does not answer"), "{error}");
}

#[test]
fn bubblewrap_that_goes_missing_later() {
    let host = Host::new().with_bwrap("");
    fs::remove_file(host.directory.path().join("bwrap")).unwrap();
    let error = host.refused(&host.session(), &host.spec("true"));
    assert_eq!(error.step(), "bubblewrap");
    assert_eq!(error.started(), Started::No);
}

#[test]
fn bubblewrap_that_fails_is_quoted() {
    let host = Host::new().with_bwrap("echo 'bwrap: No permissions to create namespace' >&2; exit 1");
    let error = host.refused(&host.session(), &host.spec("true"));
    assert_eq!(error.step(), "setup");
    assert_eq!(error.to_string(), "bubblewrap: No permissions to create namespace");
    assert!(error.hint().unwrap().contains("max_user_namespaces"));
    assert_eq!(error.started(), Started::No);
}

#[test]
fn bubblewrap_that_hangs_is_given_up() {
    let mark = mark(220);
    let mut host = Host::new().with_bwrap(&format!("exec sleep {mark}"));
    host.limits.start_timeout = Duration::from_millis(300);
    let error = host.refused(&host.session(), &host.spec("true"));
    assert_eq!(error.step(), "start_timeout");
    assert_eq!(error.started(), Started::No);
    assert_eq!(host_processes(&mark), Vec::<PathBuf>::new());
}

#[test]
fn an_end_that_is_not_confirmed_from_outside_is_not_success() {
    let lies = [
        // No status at all.
        "eval \"exec $2>&-\"; shift 2; exec BWRAP \"$@\"",
        // Success, regardless of the command.
        "echo '{\"exit-code\": 0}' >&$2; eval \"exec $2>&-\"; shift 2; exec BWRAP \"$@\"",
        // Failure, regardless of the command.
        "echo '{\"exit-code\": 9}' >&$2; eval \"exec $2>&-\"; shift 2; exec BWRAP \"$@\"",
        // An incomplete status.
        "echo '{\"exit-code\": ' >&$2; eval \"exec $2>&-\"; shift 2; exec BWRAP \"$@\"",
    ];
    for lie in lies {
        let host = Host::new().with_bwrap(&lie.replace("BWRAP", BWRAP));
        let session = host.session();
        let agrees = lie.contains("0}");
        for code in [0, 3] {
            let ended = host.run(&session, &host.spec(format!("exit {code}"))).ended;
            let failed = matches!(ended.cause, Cause::SandboxFailed { step: "report", .. });
            assert_eq!(failed, !(agrees && code == 0), "{lie} {code}: {ended:?}");
        }
    }
    let honest = Host::new().with_bwrap(&format!("exec {BWRAP} \"$@\""));
    let ended = honest.run(&honest.session(), &honest.spec("exit 3")).ended;
    assert_eq!(ended.cause, Cause::Exited(3), "the control");
}

#[test]
fn a_bind_whose_source_is_missing() {
    let mut host = Host::new();
    host.profile = host.profile.clone().with_bind("/nonexistent/source", "/opt");
    let error = host.refused(&host.session(), &host.spec("true"));
    assert_eq!(error.step(), "setup");
    assert!(error.to_string().contains("/nonexistent/source"), "{error}");
}

#[test]
fn a_shell_that_is_not_in_the_root() {
    let mut host = Host::new();
    host.profile.symlinks.clear();
    let error = host.refused(&host.session(), &host.spec("true"));
    assert_eq!(error.step(), "shell");
    assert!(error.is_shell_unavailable());
    assert_eq!(error.hint().as_deref(), Some("add the shell to the profile's root"));
    assert_eq!(error.started(), Started::No);
}

#[test]
fn a_directory_that_does_not_exist_or_is_none() {
    let host = Host::new();
    let session = host.session();
    host.run(&session, &host.spec("mkdir closed; chmod 0 closed"));
    for cwd in ["/nowhere", "/etc/passwd", "/workspace/closed"] {
        let error = host.refused(&session, &LaunchSpec { cwd: cwd.into(), ..host.spec("true") });
        assert_eq!(error.step(), "directory");
        assert_eq!(error.started(), Started::No);
    }
    let relative = LaunchSpec { cwd: "sub".into(), ..host.spec("true") };
    assert_eq!(host.refused(&session, &relative).step(), "request");
}

#[test]
fn a_session_folder_that_is_gone() {
    let host = Host::new();
    let session = host.session();
    airlock_mounts::remove_tree(&session.directories.root).unwrap();
    let error = host.refused(&session, &host.spec("true"));
    assert_eq!(error.step(), "stage");
    assert!(error.to_string().starts_with("directory `workspace`: "), "{error}");
}

#[test]
fn an_invalid_request_is_refused_before_the_start() {
    let host = Host::new();
    let session = host.session();
    let refused = |spec: &LaunchSpec| {
        let error = host.refused(&session, spec);
        assert_eq!(error.step(), "request");
        error.to_string()
    };
    assert_eq!(refused(&host.spec("a\0b")), "the command contains a NUL byte");
    for (name, value) in [("", "x"), ("A=B", "x"), ("A\0", "x"), ("A", "x\0y")] {
        let mut spec = host.spec("true");
        spec.env.push((name.into(), value.into()));
        assert!(refused(&spec).starts_with("the environment"));
    }
    for count in [1, 20] {
        let mut spec = host.spec("true");
        let value = "x".repeat(if count == 1 { 131_072 } else { 30_000 });
        spec.env.extend((0..count).map(|i| (format!("V{i}").into(), value.clone().into())));
        assert_eq!(refused(&spec), "the environment is too large");
    }
}

#[test]
fn host_uid_0_is_refused_by_every_step() {
    let host = Host::new();
    let session = host.session();
    for ids in [None, Some(HostIds { uid: 0, gid: 5 }), Some(HostIds { uid: 5, gid: 0 })] {
        let session = Session { ids, ..session.clone() };
        assert_eq!(host.refused(&session, &host.spec("true")).step(), "request");
        assert_eq!(host.launcher.session_net(ids).unwrap_err().step(), "request");
    }
    // A runner with root that was configured not to change uids.
    let careless = Launcher::new(Config {
        bwrap: BWRAP.into(),
        state: host.directory.path().join("careless"),
        uid_isolation: UidIsolation::None,
        cgroup: CgroupConfig::default(),
    })
    .unwrap();
    assert_eq!(careless.session_net(None).unwrap_err().step(), "identity");
    let session = Session { ids: None, ..session };
    let error = careless.start(&host.profile, &session, &host.limits, &host.spec("true")).unwrap_err();
    assert_eq!(error.step(), "identity");
}

#[test]
fn a_session_without_its_network_never_gets_the_hosts() {
    let host = Host::new();
    let session = Session { net: None, ..host.session() };
    let error = host.refused(&session, &host.spec("true"));
    assert_eq!(error.to_string(), "the session has no network to join");
    let output = host.run(&session, &host.read_only_spec("echo works without"));
    assert_eq!(output.stdout, "works without\n");
}

#[test]
fn another_sessions_network_cannot_be_joined() {
    let host = Host::new();
    let (own, other) = (host.session(), host.session());
    let mixed = Session { net: other.net.clone(), ..own };
    assert_eq!(host.refused(&mixed, &host.spec("true")).step(), "join");
    finish(host.start(&other, &host.spec("true")));
}
