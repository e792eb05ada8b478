//! Real clients reach servers through the proxy, in a sandbox, without a setting of their own.
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod steps;
mod world;

use std::{path::PathBuf, process::Command, time::Duration};

use airlock_config::OrNone;
use airlock_domain::{Bind, Cause, ExecutionId, ExecutionResult, FromRunner, Grant, OutputStream, SessionId};
use airlock_mounts::PrivateMounts;

use self::{
    steps::{CLIENTS, VARIABLES},
    world::{World, tools},
};
use crate::{
    fake::Manners,
    fixture::{Fixture, grant},
};

/// The time limit of one client. If it is reached, the test fails and prints the output of the client.
const LIMIT: Duration = Duration::from_secs(60);

/// The paths of the host that the sandbox shows in addition to the system's directories, and their paths inside.
fn binds(world: &World<'_>) -> Vec<(PathBuf, &'static str)> {
    let sysroot = Command::new("rustc").args(["--print", "sysroot"]).output().unwrap().stdout;
    let sysroot = PathBuf::from(String::from_utf8(sysroot).unwrap().trim());
    vec![
        (world.client(), "/opt/client"),
        (tools(), "/opt/tools"),
        (sysroot, "/opt/rust"),
        (PathBuf::from("/etc/maven"), "/etc/maven"),
    ]
}

/// Returns a grant that reaches every server, and prints `reached` if the script succeeds.
fn client(session: SessionId, script: &str, binds: &[(PathBuf, &str)]) -> Grant {
    let mut grant = grant(session, &format!("exec 2>&1; set -e -o pipefail\n{script}\necho reached"));
    grant.command.timeout = LIMIT;
    grant.egress = vec![World::rules()];
    grant.profile.path = "/opt/rust/bin:/usr/local/bin:/usr/bin:/bin:/opt/tools".to_owned();
    grant.profile.env = VARIABLES.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect();
    grant.profile.root_binds = binds
        .iter()
        .map(|(source, target)| Bind { source: source.display().to_string(), target: (*target).to_owned() })
        .collect();
    grant
}

/// Returns the result of a job that has ended, or that was refused.
fn result(message: &FromRunner, id: ExecutionId) -> Option<ExecutionResult> {
    match message {
        FromRunner::Job(job) if job.execution_id == id => job.result.clone(),
        _ => None,
    }
}

async fn all(world: &World<'_>) {
    let binds = binds(world);
    let mut it = Fixture::with(Manners::default(), |config| {
        config.floor.network = OrNone(Some(World::rules().into()));
        config.floor.bind_sources = binds.iter().map(|(source, _)| source.clone()).collect();
    })
    .await;
    let session = it.open("").await;
    let mut failed = Vec::new();
    for (name, script) in CLIENTS {
        let id = it.offer(client(session, script, &binds)).await;
        let result = it.report(|message| result(message, id)).await;
        if let Cause::Refused { reason, .. } = &result.cause {
            panic!("{name}: {reason}");
        }
        let said = it.text(id, OutputStream::Stdout).await;
        if result.cause != (Cause::Exited { code: 0 }) || !said.ends_with("reached\n") {
            failed.push(format!("{name}: {:?}, {:?}\n{said}", result.cause, result.violations));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    let mut without = client(session, CLIENTS[0].1, &binds);
    without.egress.clear();
    let (_, result) = it.run(without).await;
    assert_ne!(result.cause, Cause::Exited { code: 0 }, "the control: only the proxy leads to the servers");
    it.shut_down().await;
}

#[test]
fn real_clients_reach_their_servers_without_a_setting_of_their_own() {
    PrivateMounts::run(|private| {
        let world = World::enter(private);
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        runtime.block_on(all(&world));
    });
}
