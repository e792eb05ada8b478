//! Samples for tests, in which each field has a value other than its default.

use std::{collections::BTreeMap, time::Duration};

use crate::{
    Bind, BoundFile, CommandSpec, ConnectionQuestions, CreateSession, Decided, DecidedEdit, DecidedPath,
    EditedFile, FileState, Given, Grant, Inspection, Mode, NetworkMode, NetworkRules, Obeyed, ObeyedFormat,
    PathAccess, PathRules, Protect, ProtectAction, Pty, Requirement, SandboxLimits, SandboxProfile,
    SessionId, Shell, Sockets, StartExecution, TerminalSize,
};

fn texts(one: &str) -> Vec<String> {
    vec![one.to_owned()]
}

fn network(allow: &str) -> NetworkRules {
    NetworkRules {
        any: true,
        allow: texts(allow),
        deny: texts("gist.github.com"),
        warn: true,
        ask: texts("a.example"),
    }
}

fn labels(key: &str) -> BTreeMap<String, String> {
    BTreeMap::from([(key.to_owned(), "1".to_owned())])
}

/// Returns the session of the samples.
fn session() -> SessionId {
    "0190a0b0-0000-7000-8000-000000000001".parse().unwrap()
}

/// Returns a command in which each field has a value.
#[must_use]
pub(crate) fn command() -> CommandSpec {
    CommandSpec {
        text: b"printf '\xff'".to_vec(),
        shell: Shell::Zsh,
        directory: b"/workspace/\xfe".to_vec(),
        env: BTreeMap::from([("A".to_owned(), b"\xff=b".to_vec())]),
        stdin: true,
        pty: Some(Pty { size: TerminalSize { rows: 50, cols: 132 }, term: "xterm".to_owned() }),
        separate_stderr: true,
        timeout: Duration::from_secs(120),
        idle_timeout: Some(Duration::from_secs(7)),
        inline_limit: 1234,
        umask: "0137".parse().unwrap(),
        network: Some(network("github")),
    }
}

/// Returns a grant in which each field has a value.
#[must_use]
pub(crate) fn grant() -> Grant {
    Grant {
        session_id: session(),
        command: command(),
        profile: profile(),
        read_only: true,
        requires: vec![Requirement::ReadOnlyMount, Requirement::TrustedPath],
        keep_directory: true,
        unsandboxed: true,
        snapshot_digest: vec![1, 2],
        decided: Decided {
            programs: vec![b"git".to_vec()],
            git: texts("init"),
            paths: vec![DecidedPath { path: b"/workspace/\xff".to_vec(), access: PathAccess::Create }],
            files: vec![
                BoundFile { path: b"/workspace/x.sh".to_vec(), state: FileState::Digest([7; 32]) },
                BoundFile { path: b"/workspace/y.sh".to_vec(), state: FileState::Absent },
            ],
            obeyed: vec![Obeyed {
                program: "cargo".to_owned(),
                paths: texts("/workspace/.cargo/config.toml"),
                format: ObeyedFormat::Text,
                settings: texts("build.rustc-wrapper"),
            }],
            edit: Some(DecidedEdit {
                words: vec![b"sed".to_vec(), b"-i.bak".to_vec()],
                files: vec![EditedFile {
                    path: b"/workspace/x.sh".to_vec(),
                    backup: b"/workspace/x.sh.bak".to_vec(),
                    result: Some([9; 32]),
                }],
            }),
        },
        egress: vec![network("pypi"), network("github")],
        questions: ConnectionQuestions { answered: texts("a.example:443"), wait: Duration::from_secs(60) },
    }
}

fn profile() -> SandboxProfile {
    SandboxProfile {
        name: "strict".to_owned(),
        root_binds: vec![Bind { source: "/opt/tool".to_owned(), target: "/usr/tool".to_owned() }],
        network: NetworkMode::Loopback,
        env: BTreeMap::from([("LANG".to_owned(), b"C".to_vec())]),
        path: "/usr/bin".to_owned(),
        allowed_env: texts("NODE_OPTIONS"),
        limits: SandboxLimits {
            memory_bytes: Some(1 << 30),
            cpu_millis: Some(500),
            ..SandboxLimits::default()
        },
        rootfs: Some("/srv/root".to_owned()),
        paths: PathRules {
            deny_read: texts("secrets/**"),
            allow_read: texts("secrets/public"),
            allow_write: Some(texts("src/**")),
            deny_write: texts("src/generated/**"),
        },
        protect: Protect {
            action: ProtectAction::Quarantine,
            git_writes: false,
            git_config: true,
            names: texts("Jenkinsfile"),
        },
        sockets: Sockets { unix: false, netlink_route: true, allowed_unix: texts("/run/x") },
        pass_env: texts("PROXY"),
        secrets: texts("DEPLOY_TOKEN"),
        shell_init: "alias ll='ls -l'\n".to_owned(),
        shell_prefix: texts("/usr/bin/nice"),
        inspection: Inspection { requests: texts("GET api.example"), secrets: texts("TOKEN") },
    }
}

/// Returns a request in which each field has a value.
#[must_use]
pub(crate) fn start() -> StartExecution {
    StartExecution {
        command: command(),
        given: Given { shell: true, timeout: true, inline_limit: true, umask: true },
        session_id: Some(session()),
        request_id: Some("k".to_owned()),
        background: true,
        yield_after: Some(Duration::from_secs(3)),
        description: "prints".to_owned(),
        wait_for_approval: true,
        mode: Some(Mode::AcceptEdits),
        profile: Some("strict".to_owned()),
        base: Some("repo".to_owned()),
        runner_labels: labels("zone"),
        allow_concurrent: true,
        dangerously_disable_sandbox: true,
        labels: labels("job"),
        traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".to_owned(),
    }
}

/// Returns a request for a session in which each field has a value.
#[must_use]
pub(crate) fn create() -> CreateSession {
    CreateSession {
        request_id: Some("k".to_owned()),
        profile: Some("strict".to_owned()),
        mode: Some(Mode::AcceptEdits),
        shell: Some(Shell::Pwsh),
        base: Some("repo".to_owned()),
        env: BTreeMap::from([("A".to_owned(), b"\xff".to_vec())]),
        labels: labels("job"),
        runner_labels: labels("zone"),
        idle_timeout: Some(Duration::from_secs(60)),
        network: Some(network("npm")),
    }
}
