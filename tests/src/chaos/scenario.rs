//! The scenario for every point at which a process can die. It contains every step of a start: an approval, a queue,
//! a background command and a cancelled one. Each call is repeated until it is answered.

use std::time::Duration;

use airlock_client::{
    Client,
    v1::{
        self, ExecutionState,
        approval_service_decide_request::{AllowAndRemember, Answer},
    },
};
use tonic::Code;

use super::{
    actor::{Actor, Ending, Part, Permits, eventually, lines, persist},
    consistency_check::{self, close},
    scene::{Scene, Side},
};

/// The interval at which the process that should die is checked.
const WATCH: Duration = Duration::from_millis(10);

fn asked() -> Part {
    let body = "seq 1 300; seq 1 100 >&2; sleep 0.2; seq 301 600; seq 101 200 >&2; exit 7";
    let part = Part::new("asked", body, lines(1, 600));
    Part { asks: true, serial: true, stderr: lines(1, 200), ..part }
}

fn queued() -> Part {
    Part { serial: true, ..Part::new("queued", "seq 1 400; exit 7", lines(1, 400)) }
}

fn ended() -> Part {
    Part { ending: Ending::Cancelled, ..Part::new("ended", "seq 1 200; sleep 600", lines(1, 200)) }
}

/// Runs the scenario and the consistency check. If `dies`, the process of the side `of` dies at its point and is
/// restarted. Returns whether it died.
///
/// # Panics
/// At the first violated guarantee.
pub async fn run(scene: &Scene, key: &str, of: Side, dies: bool) -> bool {
    let dying = dies.then_some(of);
    let permits = Permits { lost: dying == Some(Side::Runner), ..Permits::default() };
    let mut all = Box::pin(async {
        if of == Side::Server {
            remembers(&scene.client, key).await;
        }
        let (session, mut actors) = acts(&scene.client, key).await;
        consistency_check::check(scene, &session, &mut actors, permits).await;
    });
    let mut died = false;
    loop {
        tokio::select! {
            () = &mut all => break,
            () = tokio::time::sleep(WATCH) => died |= dying.is_some_and(|side| scene.mend(side)),
        }
    }
    died | dying.is_some_and(|side| scene.mend(side))
}

/// Remembers an answer and removes it again. No runner is involved.
async fn remembers(client: &Client, key: &str) {
    let session = open_session_of(client, &format!("{key}-rules"), "chaos_rules").await;
    let part = Part { on_ask: true, ..Part::new("remembered", "exit 7", Vec::new()) };
    let mut actor = Actor::start(client, &session, key, part).await;
    actor
        .answer(client, || {
            Answer::AllowAndRemember(AllowAndRemember {
                scope: v1::RuleScope::Session.into(),
                rules: Vec::new(),
            })
        })
        .await;
    actor.ended(client).await;
    let filter = Some(v1::RuleFilter { session_id: session.clone() });
    let request = v1::ApprovalServiceListRulesRequest { filter, ..Default::default() };
    let rules = persist(|| client.rules(request.clone())).await.rules;
    assert!(!rules.is_empty(), "the ID is remembered");
    for rule in rules {
        eventually("a rule is removed", async || {
            let removed = client.remove_rule(&rule.rule_id).await;
            let gone = removed.as_ref().err().and_then(|error| error.rejection().map(|no| no.code));
            (removed.is_ok() || gone == Some(Code::NotFound)).then_some(())
        })
        .await;
    }
    assert!(persist(|| client.rules(request.clone())).await.rules.is_empty(), "the job is forgotten");
    close(client, &session).await;
}

async fn acts(client: &Client, key: &str) -> (String, Vec<Actor>) {
    let session = open_session(client, key).await;
    let first = Actor::start(client, &session, key, asked()).await;
    first.allow(client).await;
    let second = Actor::start(client, &session, key, queued()).await;
    let third = Actor::start(client, &session, key, ended()).await;
    third.reaches(client, ExecutionState::Running).await;
    third.detach(client).await;
    third.cancel(client).await;
    (session, vec![first, second, third])
}

/// Opens a session with the profile of the scenarios.
///
/// # Panics
/// If it cannot be opened.
pub async fn open_session(client: &Client, key: &str) -> String {
    open_session_of(client, key, "chaos").await
}

async fn open_session_of(client: &Client, key: &str, profile: &str) -> String {
    let request = v1::SessionServiceCreateRequest {
        profile: profile.to_owned(),
        request_id: format!("{key}-session"),
        ..Default::default()
    };
    eventually("a session is open", async || {
        let made = client.create_session(request.clone()).await.ok()?;
        (made.state() == v1::SessionState::Open).then_some(made.session_id)
    })
    .await
}
