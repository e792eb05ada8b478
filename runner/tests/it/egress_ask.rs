//! Tests of connections that a rule asks a person about, with a server that gives the answers.
use std::time::Duration;

use airlock_domain::{
    Cause, ConnectionAnswer, ConnectionAsked, ConnectionQuestions, ConnectionVerdict, ExecutionId,
    FromRunner, Grant, JobPhase, NetworkRules, OutputStream, SessionId, ToRunner,
};
use tokio::sync::mpsc;

use crate::{
    egress::{fixture_with, host},
    fixture::{Fixture, grant},
};

/// A time that does not pass during a test.
const LONG: Duration = Duration::from_secs(300);

/// Prints the status of a request through the proxy.
fn status(address: &str) -> String {
    format!("curl -s -o /dev/null -w '%{{http_code}}\\n' --noproxy '' http://{address}/")
}

/// Returns a grant whose rules ask about this address.
fn asks(session: SessionId, command: &str, address: &str, questions: ConnectionQuestions) -> Grant {
    let rules = NetworkRules { ask: vec![address.to_owned()], ..NetworkRules::default() };
    Grant { egress: vec![rules], questions, ..grant(session, command) }
}

fn waits(wait: Duration) -> ConnectionQuestions {
    ConnectionQuestions { wait, ..ConnectionQuestions::default() }
}

async fn asked(it: &mut Fixture, id: ExecutionId) -> ConnectionAsked {
    it.report(|message| match message {
        FromRunner::Asked(asked) if asked.execution_id == id => Some(asked.clone()),
        _ => None,
    })
    .await
}

async fn unasked(it: &mut Fixture, asked: &ConnectionAsked) {
    let (execution_id, approval_id) = (asked.execution_id, asked.approval_id);
    it.report(|message| (*message == FromRunner::Unasked { execution_id, approval_id }).then_some(())).await;
}

async fn answer(it: &Fixture, asked: &ConnectionAsked, answer: ConnectionAnswer) {
    let (execution_id, approval_id) = (asked.execution_id, asked.approval_id);
    it.link.send(ToRunner::AnswerConnection { execution_id, approval_id, answer }).await;
}

async fn said(it: &mut Fixture, id: ExecutionId) -> String {
    it.job(id, JobPhase::Ended).await;
    it.text(id, OutputStream::Stdout).await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_covers_one_host_and_port_of_one_execution() {
    let (address, _serving) = host().await;
    let mut it = fixture_with(&address).await;
    let session = it.open("").await;
    let twice = format!("{0}; {0}", status(&address));
    let id = it.offer(asks(session, &twice, &address, waits(LONG))).await;
    let question = asked(&mut it, id).await;
    let (host, port) = address.rsplit_once(':').unwrap();
    assert_eq!((question.host.as_str(), question.port.to_string().as_str()), (host, port));
    assert_eq!(question.rule, format!("Network({address})"));
    // The answer of another execution, and one to another question.
    let stray = ConnectionAsked { execution_id: ExecutionId::new(), ..question.clone() };
    answer(&it, &stray, ConnectionAnswer::Allowed).await;
    let stray = ConnectionAsked { approval_id: airlock_domain::ApprovalId::new(), ..question.clone() };
    answer(&it, &stray, ConnectionAnswer::Allowed).await;
    it.link.send(ToRunner::Probe { number: 1 }).await;
    it.report(|message| (*message == FromRunner::Probed { number: 1 }).then_some(())).await;
    answer(&it, &question, ConnectionAnswer::Allowed).await;
    let result = it.job(id, JobPhase::Ended).await.result.unwrap();
    assert_eq!(it.text(id, OutputStream::Stdout).await, "200\n200\n", "asked once");
    let rules: Vec<_> = result.connections.iter().map(|one| (one.verdict, one.rule.clone())).collect();
    assert_eq!(rules, vec![(ConnectionVerdict::Allowed, format!("Network({address})")); 2]);

    let next = it.offer(asks(session, &status(&address), &address, waits(LONG))).await;
    let again = asked(&mut it, next).await;
    assert_ne!(again.approval_id, question.approval_id, "another execution asks again");
    let reason = "a person denied it: not today".to_owned();
    answer(&it, &again, ConnectionAnswer::Denied { reason: reason.clone() }).await;
    let result = it.job(next, JobPhase::Ended).await.result.unwrap();
    assert_eq!(it.text(next, OutputStream::Stdout).await, "403\n");
    assert!(result.violations.iter().any(|one| one.detail.contains(&reason)), "{:?}", result.violations);
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_grant_answers_is_not_asked_and_without_a_wait_nobody_is_asked() {
    let (address, _serving) = host().await;
    let mut it = fixture_with(&address).await;
    let session = it.open("").await;
    let covered = ConnectionQuestions { answered: vec![address.clone()], wait: Duration::ZERO };
    let other = ConnectionQuestions { answered: vec!["127.0.0.1:1".to_owned()], wait: Duration::ZERO };
    for (questions, expected) in [(covered, "200\n"), (other, "403\n"), (waits(Duration::ZERO), "403\n")] {
        let id = it.offer(asks(session, &status(&address), &address, questions)).await;
        assert_eq!(said(&mut it, id).await, expected);
    }
    let denied =
        NetworkRules { ask: vec![address.clone()], deny: vec![address.clone()], ..NetworkRules::default() };
    let denied = Grant { egress: vec![denied], ..asks(session, &status(&address), &address, waits(LONG)) };
    let id = it.offer(denied).await;
    assert_eq!(said(&mut it, id).await, "403\n", "a denial wins");
    let beyond = asks(session, &status("127.0.0.1:1"), "127.0.0.1:1", waits(LONG));
    let id = it.offer(beyond).await;
    assert_eq!(said(&mut it, id).await, "403\n", "the floor is not asked about");
    it.link.send(ToRunner::Probe { number: 1 }).await;
    let is_question = |message: &FromRunner| matches!(message, FromRunner::Asked(_));
    let first = it
        .report(|message| {
            (is_question(message) || *message == FromRunner::Probed { number: 1 }).then(|| message.clone())
        })
        .await;
    assert!(!is_question(&first), "{first:?}");
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_ends_in_time_with_the_client_and_with_the_command() {
    let (address, _serving) = host().await;
    let mut it = fixture_with(&address).await;
    let session = it.open("").await;
    let id = it.offer(asks(session, &status(&address), &address, waits(Duration::from_secs(1)))).await;
    let question = asked(&mut it, id).await;
    unasked(&mut it, &question).await;
    let result = it.job(id, JobPhase::Ended).await.result.unwrap();
    assert_eq!(it.text(id, OutputStream::Stdout).await, "403\n");
    let detail = &result.violations[0].detail;
    assert!(detail.contains("nobody answered within 1 seconds"), "{detail}");

    let closes = format!("timeout -s KILL 1 {} || echo closed", status(&address));
    let id = it.offer(asks(session, &closes, &address, waits(LONG))).await;
    let question = asked(&mut it, id).await;
    unasked(&mut it, &question).await;
    assert!(said(&mut it, id).await.contains("closed"));

    let id = it.offer(asks(session, &status(&address), &address, waits(LONG))).await;
    let question = asked(&mut it, id).await;
    it.link.send(ToRunner::EndJob { execution_id: id, cause: Cause::OutputLimit }).await;
    unasked(&mut it, &question).await;
    assert_eq!(it.job(id, JobPhase::Ended).await.result.unwrap().cause, Cause::OutputLimit);
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_question_is_repeated_on_a_new_link() {
    let (address, _serving) = host().await;
    let mut it = fixture_with(&address).await;
    let session = it.open("").await;
    let id = it.offer(asks(session, &status(&address), &address, waits(LONG))).await;
    let question = asked(&mut it, id).await;
    drop(std::mem::replace(&mut it.link.to, mpsc::channel(1).0));
    it.next_link().await;
    let repeated = asked(&mut it, id).await;
    assert!(repeated.wait <= question.wait, "{repeated:?}");
    assert_eq!(ConnectionAsked { wait: question.wait, ..repeated }, question);
    answer(&it, &question, ConnectionAnswer::Allowed).await;
    assert_eq!(said(&mut it, id).await, "200\n");
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_takes_no_questions_gets_none() {
    let (address, _serving) = host().await;
    let mut it = fixture_with(&address).await;
    it.server.manners.lock().unwrap().takes_questions = false;
    drop(std::mem::replace(&mut it.link.to, mpsc::channel(1).0));
    it.next_link().await;
    it.reconciled().await;
    let session = it.open("").await;
    let id = it.offer(asks(session, &status(&address), &address, waits(Duration::from_secs(1)))).await;
    let first = it
        .report(|message| match message {
            FromRunner::Job(job) if job.execution_id == id && job.phase == JobPhase::Ended => Some(None),
            FromRunner::Asked(_) | FromRunner::Unasked { .. } => Some(Some(message.clone())),
            _ => None,
        })
        .await;
    assert_eq!(first, None);
    assert_eq!(it.text(id, OutputStream::Stdout).await, "403\n");
    it.shut_down().await;
}
