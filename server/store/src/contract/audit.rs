//! Tests of the audit: every execution has an entry.

use airlock_domain::{
    Cause, Connection, ExecutionResult, ExecutionState, ForwardId, Mode, NetworkRules, SessionId,
};

use super::{
    approvals::answer,
    fixtures::{
        HOUR, OTHER, TENANT, connection, create, decision, denied, end, execution, new, offer, opened,
        queued, result, run, runner, step, waiting,
    },
};
use crate::{
    Cas, ChangedBy, NetworkChange, SessionChange, Store, Transition,
    record::{
        ApprovalState, AuditRecord, ConnectionRecord, ExecutionRecord, ForwardRecord, ForwardStep, Micros,
        NetworkChangeRecord, RestoreRecord, RestoreStep, Verdict,
    },
};

async fn only(store: &dyn Store) -> AuditRecord {
    let mut entries = store.audit(0, 10).await.unwrap();
    assert_eq!(entries.len(), 1);
    entries.remove(0)
}

pub(crate) async fn an_entry_is_opened_and_closed_with_the_execution(store: &dyn Store) {
    let session = opened(store, TENANT).await;
    let record = queued(store, &session).await;
    let open = AuditRecord {
        sequence: 1,
        execution_id: record.id,
        tenant: TENANT.to_owned(),
        principal: "alice".to_owned(),
        peer: "127.0.0.1:4444".to_owned(),
        command: record.spec.command.text.clone(),
        verdict: Verdict::Allow,
        reason_code: "RULE".to_owned(),
        decided_by: String::new(),
        runner_id: None,
        opened: record.created,
        closed: None,
        cause: String::new(),
        started: String::new(),
    };
    assert_eq!(only(store).await, open);
    let record = step(store, &record, offer()).await;
    let record = step(store, &record, run()).await;
    assert_eq!(only(store).await, open);
    let ended = step(store, &record, end(result(Cause::Signaled { signal: 9, core: false }))).await;
    let closed = AuditRecord {
        runner_id: Some(runner("runner-1")),
        closed: ended.ended,
        cause: "SIGNALED".to_owned(),
        started: "YES".to_owned(),
        ..open
    };
    assert_eq!(only(store).await, closed);
}

pub(crate) async fn a_denial_has_a_closed_entry(store: &dyn Store) {
    let session = opened(store, TENANT).await;
    let record = create(store, denied(&session)).await;
    let entry = only(store).await;
    assert_eq!((record.state, record.ended), (ExecutionState::Finished, Some(record.created)));
    assert_eq!(
        (entry.verdict, entry.cause.as_str(), entry.started.as_str()),
        (Verdict::Deny, "DENIED", "NO")
    );
    assert_eq!((entry.opened, entry.closed), (record.created, record.ended));
}

pub(crate) async fn the_entry_names_who_approved(store: &dyn Store) {
    let session = opened(store, TENANT).await;
    let record = create(store, waiting(&session, HOUR)).await;
    store.answer_approval(record.approval_id.unwrap(), &answer(ApprovalState::Allowed)).await.unwrap();
    let queue = Transition {
        state: Some(ExecutionState::Queued),
        decision: Some((decision(Verdict::Allow), b"/workspace".to_vec())),
        ..Transition::default()
    };
    let record = step(store, &record, queue).await;
    assert_eq!(only(store).await.verdict, Verdict::Ask);
    step(store, &record, end(result(Cause::RunnerLost))).await;
    let entry = only(store).await;
    assert_eq!((entry.decided_by.as_str(), entry.verdict), ("bob", Verdict::Allow));
}

pub(crate) async fn entries_are_consecutive_whatever_fails(store: &dyn Store) {
    let session = opened(store, TENANT).await;
    for number in 1..=4 {
        let record = queued(store, &session).await;
        store.create_execution(new(record.clone())).await.unwrap_err();
        let orphan = ExecutionRecord { session_id: SessionId::new(), ..execution(&session) };
        store.create_execution(new(orphan)).await.unwrap_err();
        store.transition(record.id, 1, &run()).await.unwrap_err();
        assert_eq!(store.audit(0, 10).await.unwrap().last().map(|entry| entry.sequence), Some(number));
    }
}

pub(crate) async fn entries_are_read_from_any_sequence(store: &dyn Store) {
    let session = opened(store, TENANT).await;
    let other = opened(store, OTHER).await;
    let mut ids = Vec::new();
    for session in [&session, &other, &session, &other] {
        ids.push(queued(store, session).await.id);
    }
    let read = async |after, most| -> Vec<_> {
        let entries = store.audit(after, most).await.unwrap();
        entries.into_iter().map(|entry| entry.execution_id).collect()
    };
    assert_eq!(read(0, 100).await, ids);
    assert_eq!(read(-5, 100).await, ids);
    assert_eq!(read(1, 2).await, ids[1..3]);
    assert_eq!(read(4, 100).await, []);
    assert_eq!(read(0, 0).await, []);
}

pub(crate) async fn what_is_given_back_has_entries_in_order(store: &dyn Store) {
    let session = opened(store, TENANT).await;
    let record = queued(store, &session).await;
    let begun = RestoreRecord {
        session_id: session.id,
        tenant: TENANT.to_owned(),
        principal: "bob".to_owned(),
        peer: "127.0.0.1:4444".to_owned(),
        quarantine_id: "q1".to_owned(),
        execution_id: Some(record.id),
        path: b"/workspace/.bashrc\xff".to_vec(),
        step: RestoreStep::Begun,
        at: Micros(0),
    };
    let mut written = Vec::new();
    for (step, execution_id) in
        [(RestoreStep::Begun, Some(record.id)), (RestoreStep::Restored, None), (RestoreStep::Failed, None)]
    {
        let entry = RestoreRecord { step, execution_id, ..begun.clone() };
        store.note_restore(&entry).await.unwrap();
        written.push(entry);
    }
    let found = store.restores(10).await.unwrap();
    assert!(found.iter().all(|entry| entry.at > Micros(0)));
    let found: Vec<_> = found.into_iter().map(|entry| RestoreRecord { at: Micros(0), ..entry }).collect();
    assert_eq!(found, written);
    assert_eq!(store.restores(1).await.unwrap().len(), 1);
}

pub(crate) async fn forwarded_connections_have_entries_in_order(store: &dyn Store) {
    let begun = ForwardRecord {
        id: ForwardId::new(),
        session_id: SessionId::new(),
        tenant: TENANT.to_owned(),
        principal: "bob".to_owned(),
        peer: "127.0.0.1:4444".to_owned(),
        port: u16::MAX,
        step: ForwardStep::Begun,
        reason: String::new(),
        sent: 0,
        received: 0,
        duration_micros: 0,
        at: Micros(0),
    };
    let mut written = Vec::new();
    for (sent, step) in
        (0..).zip([ForwardStep::Begun, ForwardStep::Ended, ForwardStep::Failed, ForwardStep::Refused])
    {
        let (received, duration_micros) = (sent << 40, 9);
        let entry = ForwardRecord {
            step,
            reason: format!("{step:?}"),
            sent,
            received,
            duration_micros,
            ..begun.clone()
        };
        store.note_forward(&entry).await.unwrap();
        written.push(entry);
    }
    let found = store.forwards(10).await.unwrap();
    assert!(found.iter().all(|entry| entry.at > Micros(0)));
    let found: Vec<_> = found.into_iter().map(|entry| ForwardRecord { at: Micros(0), ..entry }).collect();
    assert_eq!(found, written);
    assert_eq!(store.forwards(1).await.unwrap().len(), 1);
}

pub(crate) async fn connections_have_entries_with_the_end(store: &dyn Store) {
    let session = opened(store, TENANT).await;
    let record = queued(store, &session).await;
    let record = step(store, &record, offer()).await;
    let record = step(store, &record, run()).await;
    assert_eq!(store.connections(record.id, 10).await.unwrap(), []);
    let one = connection();
    let most = Connection {
        bytes_up: u64::MAX,
        other_layers: vec!["request".to_owned(), "floor".to_owned()],
        address_kind: String::new(),
        ..one.clone()
    };
    let connections = vec![one.clone(), most];
    step(store, &record, end(ExecutionResult { connections, ..result(Cause::Exited { code: 0 }) })).await;
    let entry = ConnectionRecord {
        tenant: TENANT.to_owned(),
        principal: "alice".to_owned(),
        host: one.host,
        port: 443,
        protocol: "connect".to_owned(),
        verdict: "refused".to_owned(),
        rule: one.rule,
        layer: one.layer,
        other_layers: "floor".to_owned(),
        address_kind: "private".to_owned(),
        bytes_up: 1,
        bytes_down: 2,
        started: Micros(one.started_micros),
        duration: 7,
    };
    let second = ConnectionRecord {
        bytes_up: i64::MAX,
        other_layers: "request,floor".to_owned(),
        address_kind: String::new(),
        ..entry.clone()
    };
    assert_eq!(store.connections(record.id, 10).await.unwrap(), [entry, second]);
}

pub(crate) async fn a_changed_network_has_an_entry_with_both_values(store: &dyn Store) {
    let session = opened(store, TENANT).await;
    let by = ChangedBy { principal: "bob".to_owned(), peer: "127.0.0.1:4444".to_owned() };
    let rules = NetworkRules { allow: vec!["a.example".to_owned()], ..NetworkRules::default() };
    let set =
        |network| SessionChange { network: Some(network), by: Some(by.clone()), ..SessionChange::default() };
    let set_rules = set(NetworkChange::Set(rules.clone()));
    let other = SessionChange { mode: Some(Mode::Plan), by: Some(by.clone()), ..SessionChange::default() };
    // The second change sets the same value, and the third none.
    let reset = set(NetworkChange::Reset);
    let changes = [&set_rules, &set_rules, &other, &reset];
    for (version, change) in (session.version..).zip(changes) {
        let done = store.change_session(session.id, version, change).await.unwrap();
        assert!(matches!(done, Cas::Done(_)), "{done:?}");
    }
    let stale = store.change_session(session.id, session.version, &set_rules).await.unwrap();
    assert!(matches!(stale, Cas::Stale(_)), "{stale:?}");
    let entry = |at, old: Option<&NetworkRules>, new: Option<&NetworkRules>| NetworkChangeRecord {
        session_id: session.id,
        tenant: TENANT.to_owned(),
        principal: by.principal.clone(),
        peer: by.peer.clone(),
        old: old.cloned(),
        new: new.cloned(),
        at,
    };
    let found = store.network_changes(10).await.unwrap();
    let at = |index: usize| found.get(index).map(|entry| entry.at).unwrap_or_default();
    let before = session.network.as_ref();
    assert_eq!(found, [entry(at(0), before, Some(&rules)), entry(at(1), Some(&rules), None)]);
    assert!(at(0) > Micros(0) && at(1) >= at(0));
    assert_eq!(store.network_changes(1).await.unwrap().len(), 1);
}
