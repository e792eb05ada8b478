//! Tests of the questions to hooks: each is asked once, by one of many callers, and its first answer counts.

use airlock_domain::{ExecutionId, HookAnswer, HookBinding, HookOutcome, SessionId};

use super::fixtures::{HOUR, ROOMY, TENANT, create, execution, new, opened};
use crate::{
    Created, HookQuestion, HookQuestionState, Room, StartClaim, Store,
    record::{HookRecord, Micros, SessionRecord},
};

fn claim(session: &SessionRecord, key: Option<&str>) -> StartClaim {
    StartClaim {
        tenant: session.tenant.clone(),
        principal: session.principal.clone(),
        request_id: key.map(str::to_owned),
        request_hash: [1; 32],
        execution_id: ExecutionId::new(),
        session_id: SessionId::new(),
        room: ROOMY,
    }
}

fn question(id: ExecutionId, wait_micros: i64) -> HookQuestion {
    HookQuestion {
        execution_id: id,
        session_id: SessionId::new(),
        tenant: TENANT.to_owned(),
        principal: "ann".to_owned(),
        hook: "guard".to_owned(),
        binding: HookBinding([7; 32]),
        required: true,
        wait_micros,
    }
}

fn answer(outcome: HookOutcome) -> HookAnswer {
    HookAnswer {
        hook: "guard".to_owned(),
        binding: HookBinding([7; 32]),
        outcome,
        reason: "because".to_owned(),
        required: true,
        in_effect: true,
    }
}

pub(crate) async fn a_start_with_a_key_has_the_same_ids_until_it_is_stored(store: &dyn Store) {
    let session = opened(store, TENANT).await;
    let first = claim(&session, Some("k"));
    let ids = (first.execution_id, first.session_id);
    assert_eq!(store.claim_start(&first).await.unwrap(), Ok(ids));
    assert_eq!(store.claim_start(&claim(&session, Some("k"))).await.unwrap(), Ok(ids));
    let other = StartClaim { request_hash: [2; 32], ..claim(&session, Some("k")) };
    assert_eq!(store.claim_start(&other).await.unwrap(), Err(Created::Conflict));
    for different in [
        claim(&session, Some("l")),
        claim(&session, None),
        StartClaim { principal: "bob".to_owned(), ..claim(&session, Some("k")) },
    ] {
        let own = (different.execution_id, different.session_id);
        assert_eq!(store.claim_start(&different).await.unwrap(), Ok(own));
    }
    let mut record = execution(&session);
    (record.id, record.request_id) = (first.execution_id, Some("k".to_owned()));
    let stored = create(store, new(record)).await;
    let again = store.claim_start(&claim(&session, Some("k"))).await.unwrap();
    assert_eq!(again, Err(Created::Existing(stored)));
    assert_eq!(store.claim_start(&other).await.unwrap(), Err(Created::Conflict));
}

pub(crate) async fn a_start_beyond_a_limit_is_not_claimed(store: &dyn Store) {
    let session = opened(store, TENANT).await;
    create(store, new(execution(&session))).await;
    let full = StartClaim { room: Room { executions_per_tenant: 1, ..ROOMY }, ..claim(&session, Some("k")) };
    let refused = Created::Full { limit: "executions_per_tenant", value: 1 };
    assert_eq!(store.claim_start(&full).await.unwrap(), Err(refused));
    let later = claim(&session, Some("k"));
    let ids = (later.execution_id, later.session_id);
    assert_eq!(store.claim_start(&later).await.unwrap(), Ok(ids), "the refused claim left nothing");
}

pub(crate) async fn a_question_is_asked_once_and_its_first_answer_counts(store: &dyn Store) {
    let id = ExecutionId::new();
    let asked = question(id, HOUR);
    assert_eq!(store.ask_hook(&asked).await.unwrap(), HookQuestionState::New);
    let waits = store.ask_hook(&asked).await.unwrap();
    assert!(matches!(waits, HookQuestionState::Asked { wait_micros: 1..=HOUR }), "{waits:?}");
    assert!(store.hook_answers(id).await.unwrap().is_empty());
    let first = answer(HookOutcome::Deny);
    assert_eq!(store.answer_hook(&asked, &first).await.unwrap(), first);
    let second = store.answer_hook(&asked, &answer(HookOutcome::Allow)).await.unwrap();
    assert_eq!(second, first, "the first answer counts");
    assert_eq!(store.ask_hook(&asked).await.unwrap(), HookQuestionState::Answered(first.clone()));
    for other in [
        HookQuestion { binding: HookBinding([8; 32]), ..asked.clone() },
        HookQuestion { hook: "scan".to_owned(), ..asked.clone() },
        question(ExecutionId::new(), HOUR),
    ] {
        assert_eq!(store.ask_hook(&other).await.unwrap(), HookQuestionState::New);
    }
    assert_eq!(store.hook_answers(id).await.unwrap(), std::slice::from_ref(&first));
    let audit = store.hook_audit(10).await.unwrap();
    let at = audit.first().map_or(Micros(0), |entry| entry.at);
    let expected = HookRecord {
        execution_id: id,
        session_id: asked.session_id,
        tenant: asked.tenant,
        principal: asked.principal,
        answer: first,
        at,
    };
    assert_eq!(audit, [expected]);
    assert!(at > Micros(0));
}

pub(crate) async fn a_question_without_an_answer_in_time_is_not_asked_again(store: &dyn Store) {
    let asked = question(ExecutionId::new(), 0);
    assert_eq!(store.ask_hook(&asked).await.unwrap(), HookQuestionState::New);
    let HookQuestionState::Answered(lost) = store.ask_hook(&asked).await.unwrap() else {
        panic!("the time is over");
    };
    assert_eq!((lost.outcome, lost.required), (HookOutcome::Unavailable, true));
    let late = store.answer_hook(&asked, &answer(HookOutcome::Allow)).await.unwrap();
    assert_eq!(late, lost, "a late answer does not count");
    let audit = store.hook_audit(10).await.unwrap();
    assert_eq!(audit.iter().map(|entry| &entry.answer).collect::<Vec<_>>(), [&lost]);
}

pub(crate) async fn of_many_that_ask_a_hook_one_does([one, other]: [&dyn Store; 2]) {
    let session = opened(one, TENANT).await;
    let stores = [one, other, one, other, one, other, one, other];
    let claims = stores.map(|store| {
        let claim = claim(&session, Some("k"));
        async move { store.claim_start(&claim).await.unwrap().unwrap() }
    });
    let ids = futures::future::join_all(claims).await;
    assert!(ids.iter().all(|found| *found == ids[0]), "{ids:?}");
    let asked = question(ids[0].0, HOUR);
    let states = futures::future::join_all(stores.map(|store| store.ask_hook(&asked))).await;
    let new = states.iter().filter(|state| matches!(state, Ok(HookQuestionState::New))).count();
    assert_eq!(new, 1, "{states:?}");
    let given = [HookOutcome::Allow, HookOutcome::Deny].map(answer);
    let answers =
        futures::future::join_all([one.answer_hook(&asked, &given[0]), other.answer_hook(&asked, &given[1])])
            .await;
    let counted: Vec<_> = answers.into_iter().map(Result::unwrap).collect();
    assert_eq!(counted[0], counted[1]);
    assert_eq!(other.hook_audit(10).await.unwrap().len(), 1);
}
