//! Tests of network rules that only warn, with a name that is public for the runner.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;

use airlock_config::OrNone;
use airlock_domain::{
    ConnectionVerdict, ExecutionResult, Grant, JobPhase, NetworkRules, OutputStream, SessionId,
};
use airlock_mounts::{PrivateMounts, ScratchDir};

use crate::{
    egress::host,
    fake::Manners,
    fixture::{Fixture, grant},
};

fn rules(allow: &[&str], deny: &[&str], warn: bool) -> NetworkRules {
    let owned = |list: &[&str]| list.iter().map(|entry| (*entry).to_owned()).collect();
    NetworkRules { allow: owned(allow), deny: owned(deny), warn, ..NetworkRules::default() }
}

/// Requests a host, and returns the status of the answer and the result.
async fn request(
    it: &mut Fixture,
    session: SessionId,
    rules: &[&NetworkRules],
    host: &str,
) -> (String, ExecutionResult) {
    let command = format!("curl -s -o /dev/null -w '%{{http_code}}' --noproxy '' http://{host}/");
    let egress = rules.iter().map(|rules| (*rules).clone()).collect();
    let id = it.offer(Grant { egress, ..grant(session, &command) }).await;
    let result = it.job(id, JobPhase::Ended).await.result.unwrap();
    (it.text(id, OutputStream::Stdout).await, result)
}

async fn all() {
    let (address, _serving) = host().await;
    let port = address.rsplit_once(':').unwrap().1;
    let (open, closed) = (format!("open.example:{port}"), format!("closed.example:{port}"));
    // The address is internal, so each layer lists it.
    let floor = rules(&[&open, &address], &[], false);
    let mut it = Fixture::with(Manners::default(), |config| {
        config.floor.network = OrNone(Some(floor.into()));
    })
    .await;
    let session = it.open("").await;
    let warns = rules(&[&address], &[], true);
    let (status, result) = request(&mut it, session, &[&warns], &open).await;
    let [one] = &result.connections[..] else { panic!("{result:?}") };
    assert_eq!(
        (status.as_str(), one.verdict, one.layer.as_str()),
        ("200", ConnectionVerdict::Warned, "profile")
    );
    assert!(one.reason.contains("`network.allow` of the profile") && one.bytes_down > 0, "{one:?}");
    let [violation] = &result.violations[..] else { panic!("{result:?}") };
    assert_eq!((violation.layer.as_str(), violation.kind.as_str()), ("network", "warned"));
    assert!(violation.detail.contains(&open) && violation.detail.contains("warning"), "{violation:?}");

    let strict = rules(&[&address], &[], false);
    let denies = rules(&[&address], &["open.example"], true);
    let unlisted = rules(&["other.example"], &[], true);
    for (label, layers, host, layer) in [
        ("the control", &[&strict][..], &open, "profile"),
        ("a session that does not warn", &[&warns, &strict], &open, "session"),
        ("the floor", &[&warns], &closed, "floor"),
        ("an entry of `deny`", &[&denies], &open, "profile"),
        ("an internal address", &[&unlisted], &open, "profile"),
        ("an internal address without a name", &[&unlisted], &address, "profile"),
    ] {
        let (status, result) = request(&mut it, session, layers, host).await;
        let [one] = &result.connections[..] else { panic!("{label}: {result:?}") };
        let found = (status.as_str(), one.verdict, one.layer.as_str());
        assert_eq!(found, ("403", ConnectionVerdict::Refused, layer), "{label}: {one:?}");
        assert_eq!(one.address_kind.is_empty(), label != "an internal address", "{label}: {one:?}");
    }
    it.shut_down().await;
}

#[test]
fn a_profile_that_warns_lets_a_host_through_that_no_other_layer_refuses() {
    PrivateMounts::run(|private| {
        let directory = ScratchDir::new();
        let hosts = directory.path().join("hosts");
        let names = "\n127.0.0.1 open.example closed.example\n";
        fs::write(&hosts, fs::read_to_string("/etc/hosts").unwrap() + names).unwrap();
        let _mounted = private.bind(hosts, "/etc/hosts");
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        runtime.block_on(all());
    });
}
