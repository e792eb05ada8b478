//! End-to-end tests of the network rules of profiles, sessions and requests, on a runner that permits no network.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use airlock_client::{
    Client, From,
    v1::{self, approval_service_decide_request as decide},
};
use airlock_tests::{
    desk::Airlock,
    process::Process,
    reader::{Story, replay, run, spec_in},
    site::{Extras, PATIENCE, Site},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    task::JoinSet,
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

/// A host of the test, which counts its requests.
struct Host {
    port: u16,
    requests: Arc<AtomicUsize>,
    _serving: JoinSet<()>,
}

impl Host {
    async fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let requests = Arc::new(AtomicUsize::new(0));
        let (counted, mut serving) = (Arc::clone(&requests), JoinSet::new());
        serving.spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let _ = stream.read(&mut [0; 1024]).await;
                counted.fetch_add(1, Ordering::SeqCst);
                let _ = stream
                    .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                    .await;
            }
        });
        Self { port, requests, _serving: serving }
    }
}

/// A server and a runner, and a profile that asks about hosts.
struct Asking {
    client: Client,
    site: Site,
    server: Process,
    _runner: Process,
}

impl Asking {
    /// `ask` and `floor` are lists of entries. With `own`, an approver may answer the approver's own requests.
    async fn new(ask: &[String], floor: &[String], own: bool) -> Self {
        Self::limited("", ask, floor, own).await
    }

    /// `limits` are tables for the server's configuration.
    async fn limited(limits: &str, ask: &[String], floor: &[String], own: bool) -> Self {
        let rules: Vec<String> = ask.iter().map(|entry| format!("Network({entry})")).collect();
        let profile = format!(
            "name = \"asks\"\nextends = \"sandboxed\"\n[policy]\nask = {rules:?}\n\
             [approvals]\nself_approval = {own}\nconnection_wait = \"5m\"\n"
        );
        let site = Site::with(Extras {
            server_tables: limits.to_owned(),
            runner_tables: format!("[floor.network]\nallow = {floor:?}\n"),
            profiles: vec![("asks".to_owned(), profile)],
            ..Extras::default()
        });
        let (server, runner) = (site.server(&[]), site.runner(&[]));
        let client = site.ready().await;
        Self { client, site, server, _runner: runner }
    }

    async fn session(&self) -> String {
        let wanted = v1::SessionServiceCreateRequest { profile: "asks".to_owned(), ..Default::default() };
        self.client.create_session(wanted).await.unwrap().session_id
    }

    async fn start(&self, session: &str, command: &str) -> String {
        let on_ask = v1::OnAsk::Wait.into();
        let spec = v1::ExecutionSpec { on_ask, ..spec_in(session, command) };
        self.client.start(spec).await.unwrap().execution_id
    }

    async fn approvals(&self) -> Vec<v1::Approval> {
        self.client.approvals(v1::ApprovalServiceListRequest::default()).await.unwrap().approvals
    }

    /// Waits until this number of approvals is open.
    async fn open(&self, count: usize) -> Vec<v1::Approval> {
        let deadline = tokio::time::Instant::now() + PATIENCE;
        loop {
            let open = self.approvals().await;
            if open.len() == count {
                return open;
            }
            assert!(tokio::time::Instant::now() < deadline, "{count} are expected: {open:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Waits for the end, and returns the output, the events and the result.
    async fn end(&self, id: &str) -> (String, Story, v1::Result) {
        let story = replay(&self.client, id).await.unwrap();
        let result = story.end.clone().unwrap().result.unwrap();
        (String::from_utf8(story.stdout.clone()).unwrap(), story, result)
    }
}

/// Requests these ports one after the other, and prints each status.
fn requests(ports: &[u16]) -> String {
    let curl = |port: &u16| {
        format!("curl -s --noproxy '' -o /dev/null -w '%{{http_code}}\\n' http://127.0.0.1:{port}/; ")
    };
    format!("{}touch x", ports.iter().map(curl).collect::<String>())
}

fn entries(hosts: &[&Host]) -> Vec<String> {
    hosts.iter().map(|host| format!("127.0.0.1:{}", host.port)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_answers_for_the_connections_of_a_running_command() {
    let (a, b) = (Host::new().await, Host::new().await);
    let both = entries(&[&a, &b]);
    let it = Asking::new(&both, &both, true).await;
    let airlock = Airlock::at(&it.site);
    let shown = airlock.text(&["profile", "show", "asks"]);
    assert!(
        shown.contains(&format!("asks about {}", {
            let mut sorted = both.clone();
            sorted.sort();
            sorted.join(", ")
        })),
        "{shown}"
    );
    let session = it.session().await;
    let id = it.start(&session, &requests(&[a.port, b.port, a.port])).await;

    let [first] = &it.open(1).await[..] else { panic!("one approval") };
    let asked = first.connection.clone().unwrap();
    assert_eq!((asked.host.as_str(), asked.port), ("127.0.0.1", u32::from(a.port)));
    assert_eq!(
        (first.execution_id.as_str(), asked.rule.as_str()),
        (id.as_str(), format!("Network({})", both[0]).as_str())
    );
    assert_eq!(a.requests.load(Ordering::SeqCst), 0, "nothing was sent before the answer");
    let list = airlock.text(&["approve", "--list"]);
    assert!(list.contains(&format!("connection to {}", both[0])), "{list}");
    let page = airlock.text(&["approve", "--yes", &first.approval_id]);
    assert!(page.contains(&format!("connection  {}", both[0])) && page.contains("allowed once"), "{page}");

    let deadline = tokio::time::Instant::now() + PATIENCE;
    let second = loop {
        let open = it.approvals().await.into_iter().find(|one| one.approval_id != first.approval_id);
        if let Some(open) = open {
            break open;
        }
        assert!(tokio::time::Instant::now() < deadline, "the other port is asked about");
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    assert_eq!(second.connection.as_ref().unwrap().port, u32::from(b.port), "an answer covers one port");
    let _ = airlock.text(&["approve", "--deny", "--reason", "not today", &second.approval_id]);
    let (output, story, result) = it.end(&id).await;
    assert_eq!(output, "200\n403\n200\n", "the first answer covers the third request");
    assert_eq!((a.requests.load(Ordering::SeqCst), b.requests.load(Ordering::SeqCst)), (2, 0));
    assert_eq!(story.approvals, [first.approval_id.clone(), second.approval_id.clone()]);
    let rules: Vec<_> = result.connections.iter().map(|one| (one.verdict(), one.rule.clone())).collect();
    let rule = |entry: &String| format!("Network({entry})");
    use v1::ConnectionVerdict::{Allowed, Refused};
    assert_eq!(rules, [(Allowed, rule(&both[0])), (Refused, rule(&both[1])), (Allowed, rule(&both[0]))]);
    assert!(result.connections[1].reason.starts_with("a person denied it: not today; "), "{result:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_gets_no_answer_that_a_person_did_not_give_to_it() {
    let (a, closed) = (Host::new().await, Host::new().await);
    let listed = entries(&[&a]);
    let it = Asking::new(&entries(&[&a, &closed]), &listed, false).await;
    let (session, other) = (it.session().await, it.session().await);
    // Nobody waits: the refusal states what to do.
    let spec = spec_in(&session, &requests(&[a.port]));
    let end = run(&it.client, spec).await.unwrap();
    assert_eq!(end.stdout, b"403\n");
    let reason = end.end.unwrap().result.unwrap().connections[0].reason.clone();
    assert!(reason.contains("does not wait for an answer") && reason.contains("--on-ask wait"), "{reason}");
    assert!(it.approvals().await.is_empty());

    // The command finds neither the server nor another way to the host, and the floor is not asked about.
    let server = it.site.address.port();
    let ways = format!(
        "{}curl -sk --noproxy '*' -m 5 https://127.0.0.1:{server}/ || echo unreachable; \
         curl -s --noproxy '*' -m 5 http://127.0.0.1:{}/ || echo unreachable; ",
        requests(&[server, closed.port]).trim_end_matches("touch x"),
        a.port
    );
    let id = it.start(&session, &format!("{ways}{}", requests(&[a.port]))).await;
    let [asked] = &it.open(1).await[..] else { panic!("one approval") };
    assert_eq!(asked.connection.as_ref().unwrap().port, u32::from(a.port));
    // The principal of the command may not answer, and an answer to another binding does not count.
    let decide = |approval: &v1::Approval, binding| v1::ApprovalServiceDecideRequest {
        approval_id: approval.approval_id.clone(),
        binding,
        answer: Some(decide::Answer::AllowOnce(decide::AllowOnce {})),
    };
    let own = it.client.decide(decide(asked, asked.binding.clone())).await.unwrap_err();
    assert!(own.to_string().contains("self-approval"), "{own}");
    assert!(it.client.decide(decide(asked, vec![0; 32].into())).await.is_err());

    // Another execution of the session, and one of another session, ask for themselves.
    let beside = it.start(&other, &requests(&[a.port])).await;
    let open = it.open(2).await;
    assert_ne!(open[0].execution_id, open[1].execution_id);
    it.client.cancel(&id).await.unwrap();
    let open = it.open(1).await;
    assert_eq!(open[0].execution_id, beside, "the question ended with its command");
    let output = String::from_utf8(replay(&it.client, &id).await.unwrap().stdout).unwrap();
    assert_eq!(output, "403\n403\nunreachable\nunreachable\n");
    it.client.cancel(&beside).await.unwrap();
    it.open(0).await;
    assert_eq!((a.requests.load(Ordering::SeqCst), closed.requests.load(Ordering::SeqCst)), (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_questions_is_bounded() {
    let ports: Vec<u16> = (20_001..20_041).collect();
    let floor: Vec<String> = ports.iter().map(|port| format!("127.0.0.1:{port}")).collect();
    let it = Asking::new(&["127.0.0.1".to_owned()], &floor, false).await;
    let session = it.session().await;
    let flood = "for p in $(seq 20001 20040); do \
                 curl -s --noproxy '' -o /dev/null -w '%{http_code}\\n' http://127.0.0.1:$p/ & done; \
                 curl -s --noproxy '' -o /dev/null http://127.0.0.1:20001/ & wait; touch x";
    let id = it.start(&session, flood).await;
    let most = airlock_domain::limits::QUESTIONS_AT_ONCE;
    let open = it.open(most).await;
    let mut asked: Vec<u32> = open.iter().map(|one| one.connection.as_ref().unwrap().port).collect();
    asked.sort_unstable();
    asked.dedup();
    assert_eq!(asked.len(), most, "each target is asked about once");
    // The others are refused at once.
    let mut events = it.client.attach(&id, From::Beginning);
    let mut story = Story::default();
    while story.stdout.len() < "403\n".len() * (ports.len() - most) {
        story.take(events.next().await.unwrap().unwrap());
    }
    assert_eq!(it.open(most).await.len(), most);
    it.client.cancel(&id).await.unwrap();
    it.open(0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_open_questions_of_a_tenant_are_a_setting() {
    let floor = ["127.0.0.1:20001".to_owned(), "127.0.0.1:20002".to_owned()];
    let limits = "[limits]\nconnection_approvals_per_tenant = 1\n";
    let it = Asking::limited(limits, &["127.0.0.1".to_owned()], &floor, false).await;
    let waits = it.start(&it.session().await, &requests(&[20_001])).await;
    it.open(1).await;
    let refused = it.start(&it.session().await, &requests(&[20_002])).await;
    let (output, _, result) = it.end(&refused).await;
    assert_eq!(output, "403\n");
    let notes: Vec<_> = result.notes.iter().map(|note| note.text.as_str()).collect();
    assert!(notes.iter().any(|text| text.contains("`limits.connection_approvals_per_tenant`")), "{notes:?}");
    it.client.cancel(&waits).await.unwrap();
    it.open(0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_survives_a_crash_of_the_server_and_its_answer_arrives() {
    let a = Host::new().await;
    let listed = entries(&[&a]);
    let mut it = Asking::new(&listed, &listed, true).await;
    let session = it.session().await;
    let id = it.start(&session, &requests(&[a.port])).await;
    it.open(1).await;
    it.server.kill_now();
    it.server = it.site.server(&[]);
    it.client = it.site.ready().await;
    let [asked] = &it.open(1).await[..] else { panic!("one approval") };
    assert_eq!(a.requests.load(Ordering::SeqCst), 0);
    let _ = Airlock::at(&it.site).text(&["approve", "--yes", &asked.approval_id]);
    assert_eq!(it.end(&id).await.0, "200\n");
}
