//! Tests of approvals.

use airlock_domain::{ApprovalId, Cause, ExecutionResult, ExecutionState};

use super::{
    fixtures::{HOUR, TENANT, approval, create, end, first, opened, queued, step, waiting},
    sessions::later,
};
use crate::{
    ApprovalAnswer, ApprovalQuery, Cas, Store, StoreError, Transition,
    record::{ApprovalRecord, ApprovalState, Micros},
};

pub(super) fn answer(state: ApprovalState) -> ApprovalAnswer {
    ApprovalAnswer {
        state,
        decided_by: "bob".to_owned(),
        reason: "because \u{feff}".to_owned(),
        remember: None,
    }
}

pub(crate) async fn an_approval_reads_back_as_it_was_written(store: &dyn Store) {
    let session = opened(store, TENANT).await;
    let new = waiting(&session, HOUR);
    let asked = new.approval.clone().unwrap();
    let record = create(store, new).await;
    assert_eq!(record.approval_id, Some(asked.id));
    let wanted =
        ApprovalRecord { created: record.created, expires: Micros(record.created.0 + HOUR), ..asked };
    assert_eq!(store.approval(wanted.id).await.unwrap(), Some(wanted));
    assert_eq!(store.approval(ApprovalId::new()).await.unwrap(), None);
}

pub(crate) async fn an_approval_is_answered_once(store: &dyn Store) {
    let session = opened(store, TENANT).await;
    for (first, second) in
        [(ApprovalState::Allowed, ApprovalState::Denied), (ApprovalState::Denied, ApprovalState::Allowed)]
    {
        let record = create(store, waiting(&session, HOUR)).await;
        let id = record.approval_id.unwrap();
        let before = store.approval(id).await.unwrap().unwrap();
        let Cas::Done(answered) = store.answer_approval(id, &answer(first)).await.unwrap() else {
            panic!("not done")
        };
        let answer_given = answer(first);
        let wanted = ApprovalRecord {
            state: first,
            decided_by: answer_given.decided_by,
            reason: answer_given.reason,
            ..before
        };
        assert_eq!(answered, wanted);
        let again = store.answer_approval(id, &answer(second)).await.unwrap();
        assert_eq!(again, Cas::Stale(wanted.clone()));
        assert_eq!(store.approval(id).await.unwrap(), Some(wanted));
        assert_eq!(store.execution(record.id).await.unwrap(), Some(record));
    }
    let missing = store.answer_approval(ApprovalId::new(), &answer(ApprovalState::Allowed)).await;
    assert_eq!(missing.unwrap(), Cas::Missing);
}

pub(crate) async fn an_answer_after_its_time_does_not_count(store: &dyn Store) {
    let session = opened(store, TENANT).await;
    let slow = create(store, waiting(&session, HOUR)).await.approval_id.unwrap();
    let early = store.answer_approval(slow, &answer(ApprovalState::Expired)).await.unwrap();
    assert!(matches!(early, Cas::Stale(approval) if approval.state == ApprovalState::Open));

    let short = create(store, waiting(&session, 1_000)).await.approval_id.unwrap();
    later(store, 3_000).await;
    let late = store.answer_approval(short, &answer(ApprovalState::Allowed)).await.unwrap();
    assert!(matches!(late, Cas::Stale(approval) if approval.state == ApprovalState::Open));
    let over = store.expired_approvals(10).await.unwrap();
    assert_eq!(over.iter().map(|approval| approval.id).collect::<Vec<_>>(), [short]);
    let expire = ApprovalAnswer {
        state: ApprovalState::Expired,
        decided_by: String::new(),
        reason: String::new(),
        remember: None,
    };
    let expired = store.answer_approval(short, &expire).await.unwrap();
    assert!(matches!(expired, Cas::Done(approval) if approval.state == ApprovalState::Expired));
    assert_eq!(store.expired_approvals(10).await.unwrap(), vec![]);
}

pub(crate) async fn leaving_the_wait_withdraws_what_is_open(store: &dyn Store) {
    let session = opened(store, TENANT).await;
    let ends = create(store, waiting(&session, HOUR)).await;
    let allowed = create(store, waiting(&session, HOUR)).await;
    let id = allowed.approval_id.unwrap();
    store.answer_approval(id, &answer(ApprovalState::Allowed)).await.unwrap();
    let queue = Transition { state: Some(ExecutionState::Queued), ..Transition::default() };
    let queued = step(store, &allowed, queue).await;
    let over = ExecutionResult::not_started(Cause::QueueExpired);
    step(store, &ends, end(over.clone())).await;
    step(store, &queued, end(over)).await;
    let withdrawn = store.approval(ends.approval_id.unwrap()).await.unwrap().unwrap();
    assert_eq!(withdrawn.state, ApprovalState::Withdrawn);
    let late = store.answer_approval(withdrawn.id, &answer(ApprovalState::Allowed)).await.unwrap();
    assert_eq!(late, Cas::Stale(withdrawn));
    let kept = store.approval(id).await.unwrap().unwrap();
    assert_eq!(kept.state, ApprovalState::Allowed);
}

pub(crate) async fn asking_again_withdraws_the_first_question(store: &dyn Store) {
    let session = opened(store, TENANT).await;
    let record = create(store, waiting(&session, HOUR)).await;
    let first_question = record.approval_id.unwrap();
    let second = ApprovalRecord { binding: [4; 32], ..approval(&record) };
    let ask = Transition { approval: Some((second.clone(), HOUR)), ..Transition::default() };
    let asked = step(store, &record, ask).await;
    assert_eq!((asked.approval_id, asked.version), (Some(second.id), 2));
    let first_question = store.approval(first_question).await.unwrap().unwrap();
    assert_eq!(first_question.state, ApprovalState::Withdrawn);
    assert_eq!(store.approval(second.id).await.unwrap().unwrap().state, ApprovalState::Open);

    let queued = queued(store, &session).await;
    let back = Transition {
        state: Some(ExecutionState::PendingApproval),
        approval: Some((approval(&queued), HOUR)),
        ..Transition::default()
    };
    let back = step(store, &queued, back).await;
    let history = store.state_changes(back.id, 1).await.unwrap();
    assert_eq!(history[0].approval_id, back.approval_id);
}

pub(crate) async fn open_approvals_are_listed_oldest_first(store: &dyn Store) {
    let session = opened(store, TENANT).await;
    let other = opened(store, TENANT).await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(create(store, waiting(&session, HOUR)).await.approval_id.unwrap());
    }
    let elsewhere = create(store, waiting(&other, HOUR)).await.approval_id.unwrap();
    store.answer_approval(ids[1], &answer(ApprovalState::Denied)).await.unwrap();
    let list = async |query: ApprovalQuery, size| {
        let page = store.approvals(&query, &first(size)).await.unwrap();
        (page.items.iter().map(|approval| approval.id).collect::<Vec<_>>(), page.next)
    };
    let open = ApprovalQuery::default;
    assert_eq!(list(open(), 10).await, (vec![ids[0], ids[2], elsewhere], None));
    let of_session = ApprovalQuery { session_id: Some(session.id), ..open() };
    assert_eq!(list(of_session.clone(), 10).await, (vec![ids[0], ids[2]], None));
    let denied = ApprovalQuery { states: vec![ApprovalState::Denied], ..of_session };
    assert_eq!(list(denied, 10).await, (vec![ids[1]], None));
    let (items, next) = list(open(), 2).await;
    assert_eq!(items, [ids[0], ids[2]]);
    let rest = crate::PageQuery { size: 2, token: next };
    let rest = store.approvals(&open(), &rest).await.unwrap();
    assert_eq!((rest.items.len(), rest.items[0].id, rest.next), (1, elsewhere, None));
}

pub(crate) async fn an_answer_is_one_of_three(store: &dyn Store) {
    let session = opened(store, TENANT).await;
    let id = create(store, waiting(&session, HOUR)).await.approval_id.unwrap();
    for state in [ApprovalState::Open, ApprovalState::Withdrawn] {
        let error = store.answer_approval(id, &answer(state)).await.unwrap_err();
        assert!(matches!(error, StoreError::Refused(_)));
    }
    assert_eq!(store.approval(id).await.unwrap().unwrap().state, ApprovalState::Open);
}
