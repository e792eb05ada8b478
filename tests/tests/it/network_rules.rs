//! End-to-end tests of the network rules of profiles, sessions and requests, on a runner that permits no network.

#![expect(clippy::unwrap_used, reason = "a test")]

use airlock_client::{Client, v1};
use airlock_tests::{
    process::Process,
    reader::run,
    site::{Extras, Site},
};

const PROFILE: &str = "name = \"net\"\nextends = \"sandboxed\"\nnetwork = { allow = [\"a.example\", \"b.example\"], deny = [\"c.example\"] }\n";

struct Fixture {
    client: Client,
    _server: Process,
    _runner: Process,
    _site: Site,
}

impl Fixture {
    async fn new() -> Self {
        let profiles = vec![("net".to_owned(), PROFILE.to_owned())];
        let site = Site::with(Extras { profiles, ..Extras::default() });
        let (server, runner) = (site.server(&[]), site.runner(&[]));
        let client = site.ready().await;
        Self { client, _server: server, _runner: runner, _site: site }
    }

    async fn session(&self, network: Option<v1::NetworkRules>) -> v1::Session {
        let request =
            v1::SessionServiceCreateRequest { profile: "net".to_owned(), network, ..Default::default() };
        self.client.create_session(request).await.unwrap()
    }

    /// Runs a command, and returns the network rules of its execution and the problem in its result.
    async fn network(&self, spec: v1::ExecutionSpec) -> (Option<v1::NetworkRules>, String) {
        let end = run(&self.client, spec).await.unwrap().end.unwrap();
        let result = end.result.unwrap();
        assert_eq!(result.started(), v1::Started::Yes, "{:?}", result.cause);
        let execution = self.client.execution(&end.execution_id).await.unwrap();
        (execution.network, result.network_problem)
    }
}

fn only(allow: &[&str]) -> v1::NetworkRules {
    let allow = allow.iter().map(|entry| (*entry).to_owned()).collect();
    v1::NetworkRules { allow, ..v1::NetworkRules::default() }
}

fn in_session(session: &v1::Session, command: &str) -> v1::ExecutionSpec {
    let (session_id, command) = (session.session_id.clone(), command.to_owned());
    v1::ExecutionSpec { session_id, command, ..Default::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_network_of_a_profile_and_of_a_session_is_shown_and_can_be_narrowed() {
    let fixture = Fixture::new().await;
    let profile = |name| fixture.client.policy().profile(name, v1::ProfileView::Basic);
    let network = profile("net").await.unwrap().network.unwrap();
    assert_eq!(
        (network.allow, network.deny),
        (only(&["a.example", "b.example"]).allow, only(&["c.example"]).allow)
    );
    assert_eq!(profile("sandboxed").await.unwrap().network, None);

    let session = fixture.session(Some(only(&["a.example"]))).await;
    assert_eq!(session.network, Some(only(&["a.example"])));
    assert_eq!(fixture.session(None).await.network, None);
    let update = |network, reset_network| v1::SessionServiceUpdateRequest {
        session_id: session.session_id.clone(),
        network,
        reset_network,
        ..Default::default()
    };
    for (change, expected) in [
        (update(Some(only(&["b.example"])), false), Some(only(&["b.example"]))),
        (update(None, false), Some(only(&["b.example"]))),
        (update(Some(only(&[])), false), Some(only(&[]))),
        (update(None, true), None),
    ] {
        assert_eq!(fixture.client.update_session(change).await.unwrap().network, expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_without_the_network_that_it_is_allowed_says_why() {
    let fixture = Fixture::new().await;
    let session = fixture.session(None).await;
    let (network, problem) = fixture.network(in_session(&session, "touch a")).await;
    assert_eq!(network, None);
    assert!(problem.contains("`floor.network`"), "{problem}");
    let narrowed =
        v1::ExecutionSpec { network: Some(only(&["a.example"])), ..in_session(&session, "touch b") };
    let (network, problem) = fixture.network(narrowed).await;
    assert_eq!(network, Some(only(&["a.example"])));
    assert!(problem.contains("`floor.network`"), "{problem}");

    // These commands get no network, so they miss none.
    let none = v1::ExecutionSpec { network: Some(only(&[])), ..in_session(&session, "touch c") };
    assert_eq!(fixture.network(none).await, (Some(only(&[])), String::new()));
    assert_eq!(fixture.network(in_session(&session, "ls")).await.1, "", "it is read-only");
    let plan = v1::ExecutionSpec { mode: v1::Mode::Plan.into(), ..in_session(&session, "ls") };
    assert_eq!(fixture.network(plan).await.1, "");
    let closed = fixture.session(Some(only(&[]))).await;
    assert_eq!(fixture.network(in_session(&closed, "touch d")).await.1, "", "the session allows nothing");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_did_not_reach_a_host_gets_the_reason_as_a_note() {
    let fixture = Fixture::new().await;
    let session = fixture.session(None).await;
    let failing = in_session(&session, "touch x; echo 'curl: (6) Could not resolve host: a.example'");
    let end = run(&fixture.client, failing).await.unwrap().end.unwrap();
    let notes = end.result.unwrap().notes;
    let [note] = &notes[..] else { panic!("{notes:?}") };
    assert_eq!(note.code, "no_network");
    assert!(
        note.text.starts_with("`a.example` cannot be reached: this runner permits no network"),
        "{note:?}"
    );
}
