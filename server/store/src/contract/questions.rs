//! Tests of questions about connections of running executions.

use airlock_domain::{ApprovalId, Cause, ExecutionId, ExecutionResult, ExecutionState};

use super::{
    approvals::answer,
    fixtures::{HOUR, TENANT, approval, end, first, offer, opened, queued, run, step},
};
use crate::{
    ApprovalQuery, Cas, ConnectionQuestion, Store,
    record::{
        AnswerRecord, ApprovalRecord, ApprovalState, AskedConnection, ExecutionRecord, Micros, SessionRecord,
    },
};

const MOST: u64 = 100;

async fn running(store: &dyn Store, session: &SessionRecord) -> ExecutionRecord {
    let record = queued(store, session).await;
    let record = step(store, &record, offer()).await;
    step(store, &record, run()).await
}

fn question(record: &ExecutionRecord, host: &str) -> ApprovalRecord {
    let (host, rule) = (host.to_owned(), "Network(*.example \u{feff})".to_owned());
    let connection = Some(AskedConnection { host, port: 65_535, rule });
    ApprovalRecord { connection, ..approval(record) }
}

async fn open(store: &dyn Store) -> Vec<ApprovalId> {
    let open = store.approvals(&ApprovalQuery::default(), &first(10)).await.unwrap();
    open.items.iter().map(|one| one.id).collect()
}

pub(crate) async fn a_question_about_a_connection_is_asked_once(store: &dyn Store) {
    let session = opened(store, TENANT).await;
    let record = running(store, &session).await;
    let asked = question(&record, "a.example");
    let ask = async |asked: &ApprovalRecord| store.ask_about_connection(asked, HOUR, MOST).await.unwrap();
    assert_eq!(ask(&asked).await, ConnectionQuestion::Asked);
    let stored = store.approval(asked.id).await.unwrap().unwrap();
    let wanted =
        ApprovalRecord { created: stored.created, expires: Micros(stored.created.0 + HOUR), ..asked.clone() };
    assert_eq!(stored, wanted);
    assert_eq!(ask(&asked).await, ConnectionQuestion::Known(Box::new(stored)));
    // The execution runs on, and its history names the question.
    let after = store.execution(record.id).await.unwrap().unwrap();
    assert_eq!(after, ExecutionRecord { version: record.version + 1, ..record.clone() });
    let history = store.state_changes(record.id, record.version).await.unwrap();
    let [change] = &history[..] else { panic!("{history:?}") };
    assert_eq!((change.state, change.approval_id), (ExecutionState::Running, Some(asked.id)));

    let other = running(store, &session).await;
    let taken = ApprovalRecord { execution_id: other.id, ..asked.clone() };
    assert_eq!(ask(&taken).await, ConnectionQuestion::Over, "the ID of another execution");
    let elsewhere = ApprovalRecord { connection: question(&record, "b.example").connection, ..asked.clone() };
    assert_eq!(ask(&elsewhere).await, ConnectionQuestion::Over, "the ID of another host");
    let unknown = ApprovalRecord { id: ApprovalId::new(), execution_id: ExecutionId::new(), ..asked };
    assert_eq!(ask(&unknown).await, ConnectionQuestion::Over);
}

pub(crate) async fn questions_are_bounded(store: &dyn Store) {
    let session = opened(store, TENANT).await;
    let record = running(store, &session).await;
    let [a, b, c] = ["a.example", "b.example", "c.example"].map(|host| question(&record, host));
    let ask = async |asked: &ApprovalRecord| store.ask_about_connection(asked, HOUR, 2).await.unwrap();
    assert_eq!((ask(&a).await, ask(&b).await), (ConnectionQuestion::Asked, ConnectionQuestion::Asked));
    assert_eq!(ask(&c).await, ConnectionQuestion::Full);
    assert!(!store.withdraw_question(ExecutionId::new(), a.id).await.unwrap(), "another execution");
    assert!(store.withdraw_question(record.id, a.id).await.unwrap());
    assert!(!store.withdraw_question(record.id, a.id).await.unwrap(), "it is no longer open");
    assert_eq!(ask(&c).await, ConnectionQuestion::Asked);
    assert_eq!(open(store).await.len(), 2);
}

pub(crate) async fn questions_end_with_their_execution(store: &dyn Store) {
    let session = opened(store, TENANT).await;
    let record = running(store, &session).await;
    let [a, b] = ["a.example", "b.example"].map(|host| question(&record, host));
    let ask = async |asked: &ApprovalRecord| store.ask_about_connection(asked, HOUR, 2).await.unwrap();
    assert_eq!((ask(&a).await, ask(&b).await), (ConnectionQuestion::Asked, ConnectionQuestion::Asked));
    let now = store.execution(record.id).await.unwrap().unwrap();
    let over = ExecutionResult::not_started(Cause::Exited { code: 0 });
    step(store, &now, end(over)).await;
    assert_eq!(open(store).await, []);
    let states = async |id| store.approval(id).await.unwrap().unwrap().state;
    assert_eq!(
        (states(a.id).await, states(b.id).await),
        (ApprovalState::Withdrawn, ApprovalState::Withdrawn)
    );
    let late = question(&record, "d.example");
    assert_eq!(ask(&late).await, ConnectionQuestion::Over);
    // A command that waits for its start has no connections.
    let waits = queued(store, &session).await;
    assert_eq!(ask(&question(&waits, "a.example")).await, ConnectionQuestion::Over);
}

pub(crate) async fn an_answer_about_a_connection_is_in_the_audit(store: &dyn Store) {
    let session = opened(store, TENANT).await;
    let record = running(store, &session).await;
    let asked = question(&record, "a.example");
    store.ask_about_connection(&asked, HOUR, MOST).await.unwrap();
    assert_eq!(store.connection_answers(10).await.unwrap(), []);
    let given = answer(ApprovalState::Denied);
    assert!(matches!(store.answer_approval(asked.id, &given).await.unwrap(), Cas::Done(_)));
    assert!(matches!(store.answer_approval(asked.id, &given).await.unwrap(), Cas::Stale(_)));
    let found = store.connection_answers(10).await.unwrap();
    let entry = AnswerRecord {
        approval_id: asked.id,
        execution_id: record.id,
        session_id: session.id,
        tenant: TENANT.to_owned(),
        connection: asked.connection.unwrap(),
        answer: ApprovalState::Denied,
        principal: given.decided_by,
        reason: given.reason,
        at: found.first().map(|entry| entry.at).unwrap_or_default(),
    };
    assert_eq!(found, [entry]);
    assert!(found[0].at > Micros(0));
}
