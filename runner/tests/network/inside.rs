//! Attempts that a command makes inside a real sandbox of a real runner. All of them run in one execution with network
//! access, each as a program of its own. A control runs the same program beside the servers without the sandbox, or
//! another one in the same execution.

mod programs;

use std::process::Stdio;

use airlock_config::OrNone;
use airlock_domain::{Grant, JobPhase, NetworkRules, SessionId};
use tokio::process::Command;

pub(crate) use self::programs::{ABSTRACT, SERVICES};
use self::programs::{PRELUDE, programs};
use crate::{
    fake::Manners,
    fixture::{Fixture, grant},
    index::{Index, Tried},
    lab::{Lab, PUBLIC},
};

const GROUP: &str = "sandbox";
/// Announces the proxy of a neighbour in the session, which waits. The proxies of all executions serve the session's
/// loopback.
const NEIGHBOUR: &str = "echo $AIRLOCK_PROXY > neighbour; until [ -e go ]; do sleep 0.05; done";

/// A program, and its control.
pub(crate) struct Program {
    pub(crate) name: String,
    /// A command of bash that succeeds if the attempt reaches its aim.
    pub(crate) command: String,
    pub(crate) control: Control,
}

/// Where the control runs.
pub(crate) enum Control {
    /// Without the sandbox, behind these commands: in the namespace of the servers, with all capabilities in it.
    Outside(&'static str),
    /// In the sandbox, this command.
    Inside(String),
}

/// Tries all programs.
pub(crate) async fn tried(lab: &Lab, index: &mut Index) {
    let rules =
        || NetworkRules { any: true, allow: vec![format!("{PUBLIC}:80/tcp")], ..NetworkRules::default() };
    let floor = OrNone(Some(rules().into()));
    let mut it = Fixture::with(Manners::default(), |config| config.floor.network = floor).await;
    let session = it.open("").await;
    let networked = |command: &str| Grant { egress: vec![rules()], ..grant(session, command) };
    it.said(networked("echo $AIRLOCK_PROXY > ended")).await;
    let neighbour = it.offer(networked(NEIGHBOUR)).await;
    it.job(neighbour, JobPhase::Running).await;
    it.said(grant(session, "until [ -s neighbour ]; do sleep 0.05; done")).await;

    let programs = programs(it.server.address.port());
    let attempts = ran(&mut it, &rules(), session, programs.iter().map(|one| one.command.as_str())).await;
    let inside = programs.iter().filter_map(|one| match &one.control {
        Control::Inside(command) => Some(command.as_str()),
        Control::Outside(_) => None,
    });
    let mut controls = ran(&mut it, &rules(), session, inside).await.into_iter();
    for (program, code) in programs.into_iter().zip(attempts) {
        let control = match program.control {
            Control::Inside(_) => controls.next().unwrap(),
            Control::Outside(before) => outside(&format!("{before}\n{}", program.command)).await,
        };
        // A program that is missing was not tried.
        let attempt = matches!(code, 0 | 126 | 127).then(|| format!("exit code {code}"));
        let control = (control == 0).then(|| "its aim".to_owned());
        index.record(Tried { group: GROUP, name: program.name, attempt, control });
    }
    lab.forget();
    it.let_go("go");
    it.job(neighbour, JobPhase::Ended).await;
    it.shut_down().await;
}

/// Runs commands one after the other in one execution, and returns their exit codes.
async fn ran<'a>(
    it: &mut Fixture,
    rules: &NetworkRules,
    session: SessionId,
    commands: impl Iterator<Item = &'a str>,
) -> Vec<i32> {
    let mut script = format!("export PRELUDE={}\n", quoted(PRELUDE));
    for command in commands {
        script += &format!("timeout 10 bash -c {} >/dev/null 2>&1 </dev/null; echo $?\n", quoted(command));
    }
    let grant = Grant { egress: vec![rules.clone()], ..grant(session, &script) };
    it.said(grant).await.lines().map(|code| code.parse().unwrap()).collect()
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Runs a command in the namespace of the servers. It sees the files of the host, and changes none.
async fn outside(command: &str) -> i32 {
    let mut bubblewrap = Command::new("bwrap");
    bubblewrap.args([
        "--ro-bind",
        "/",
        "/",
        "--dev-bind",
        "/dev",
        "/dev",
        "--proc",
        "/proc",
        "--unshare-pid",
    ]);
    bubblewrap.args(["--cap-add", "ALL", "--die-with-parent", "timeout", "10", "bash", "-c", command]);
    bubblewrap.env("PRELUDE", PRELUDE).stdin(Stdio::null()).stdout(Stdio::null());
    bubblewrap.status().await.unwrap().code().unwrap_or(-1)
}
