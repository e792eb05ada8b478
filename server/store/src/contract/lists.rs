//! Tests of lists: pages, filters and visibility.

use airlock_domain::{ExecutionId, ExecutionState, OutputState};

use super::fixtures::{
    HOUR, MANY, OTHER, TENANT, create, denied, execution, finished, first, labels, new, offer, opened,
    put_output, queued, runner, session, step, waiting,
};
use crate::{
    ApprovalQuery, ExecutionQuery, OutputBy, PageQuery, SessionQuery, Store, StoreError,
    record::{ApprovalState, ExecutionRecord, Micros, SessionRecord, SessionState},
};

pub(crate) async fn pages_hold_each_execution_once_newest_first(store: &dyn Store) {
    let session = opened(store, TENANT).await;
    let mut made = Vec::new();
    for _ in 0..7 {
        made.push(queued(store, &session).await);
    }
    made.reverse();
    for size in [1, 2, 3, 7, 8] {
        let (all, pages) = every_page(store, &ExecutionQuery::default(), size).await;
        assert_eq!(all, made, "pages of {size}");
        assert_eq!(pages, 7usize.div_ceil(size as usize), "pages of {size}");
    }
    let none = ExecutionQuery { tenant: Some("nobody".to_owned()), ..ExecutionQuery::default() };
    assert_eq!(every_page(store, &none, 3).await, (Vec::new(), 1));
}

async fn every_page(store: &dyn Store, query: &ExecutionQuery, size: u32) -> (Vec<ExecutionRecord>, usize) {
    let mut page = first(size);
    let mut all = Vec::new();
    for pages in 1.. {
        let got = store.executions(query, &page).await.unwrap();
        assert!(got.items.len() <= size as usize);
        all.extend(got.items);
        page.token = got.next;
        if page.token.is_none() {
            return (all, pages);
        }
    }
    unreachable!()
}

pub(crate) async fn pages_stay_stable_under_inserts(store: &dyn Store) {
    let session = opened(store, TENANT).await;
    let mut made = Vec::new();
    for _ in 0..6 {
        made.push(queued(store, &session).await.id);
    }
    made.reverse();
    let query = ExecutionQuery::default();
    let mut page = first(2);
    let mut seen = Vec::new();
    loop {
        let got = store.executions(&query, &page).await.unwrap();
        seen.extend(got.items.into_iter().map(|record| record.id));
        queued(store, &session).await;
        page.token = got.next;
        if page.token.is_none() {
            break;
        }
    }
    assert_eq!(seen, made);
}

async fn ids(store: &dyn Store, query: ExecutionQuery) -> Vec<ExecutionId> {
    let page = store.executions(&query, &first(10)).await.unwrap();
    page.items.into_iter().map(|record| record.id).collect()
}

fn of(states: &[ExecutionState]) -> ExecutionQuery {
    ExecutionQuery { states: states.to_vec(), ..ExecutionQuery::default() }
}

pub(crate) async fn executions_are_filtered(store: &dyn Store) {
    let session = opened(store, TENANT).await;
    let second = opened(store, TENANT).await;
    let waits = queued(store, &session).await.id;
    let elsewhere = queued(store, &second).await.id;
    let bobs = ExecutionRecord { principal: "bob".to_owned(), ..execution(&session) };
    let bobs = create(store, new(bobs)).await.id;

    let all = ExecutionQuery::default;
    assert_eq!(ids(store, all()).await, [bobs, elsewhere, waits]);
    let of_session = ExecutionQuery { session_id: Some(second.id), ..all() };
    assert_eq!(ids(store, of_session).await, [elsewhere]);
    let of_bob = ExecutionQuery { principal: Some("bob".to_owned()), ..all() };
    assert_eq!(ids(store, of_bob).await, [bobs]);
    let of_bob_elsewhere =
        ExecutionQuery { principal: Some("bob".to_owned()), session_id: Some(second.id), ..all() };
    assert_eq!(ids(store, of_bob_elsewhere).await, []);
}

pub(crate) async fn executions_are_filtered_by_state(store: &dyn Store) {
    use ExecutionState::{Finished, Queued, Running, Starting};
    let session = opened(store, TENANT).await;
    let second = opened(store, TENANT).await;
    let waits = queued(store, &session).await.id;
    let starts = step(store, &queued(store, &session).await, offer()).await.id;
    let ended = finished(store, &session).await.id;
    queued(store, &second).await;

    assert_eq!(ids(store, of(&[Finished])).await, [ended]);
    assert_eq!(ids(store, of(&[Starting, Running])).await, [starts]);
    assert_eq!(ids(store, of(&[Finished, Starting])).await, [ended, starts]);
    let on_runner = |name| ExecutionQuery { runner_id: Some(runner(name)), ..of(&[Starting, Running]) };
    assert_eq!(ids(store, on_runner("runner-1")).await, [starts]);
    assert_eq!(ids(store, on_runner("runner-2")).await, []);
    let queue = ExecutionQuery { session_id: Some(session.id), ..of(&[Queued]) };
    assert_eq!(ids(store, queue).await, [waits]);
}

pub(crate) async fn ended_executions_with_output_to_store_are_found(store: &dyn Store) {
    let session = opened(store, TENANT).await;
    let live = step(store, &queued(store, &session).await, offer()).await;
    put_output(store, &live, OutputState::Live).await;
    let mut wanted = Vec::new();
    for (output, unstored) in [
        (OutputState::None, false),
        (OutputState::Live, true),
        (OutputState::Storing, true),
        (OutputState::Stored, false),
        (OutputState::Partial { from: 1 }, false),
        (OutputState::Lost, false),
    ] {
        let ended = finished(store, &session).await;
        put_output(store, &ended, output).await;
        if unstored {
            wanted.insert(0, ended.id);
        }
    }
    let query = ExecutionQuery { unstored: true, ..ExecutionQuery::default() };
    assert_eq!(ids(store, query).await, wanted);
}

pub(crate) async fn outputs_that_are_old_are_found_oldest_first(store: &dyn Store) {
    let session = opened(store, TENANT).await;
    let ended = async |output| {
        let record = finished(store, &session).await;
        put_output(store, &record, output).await;
        record
    };
    let first = ended(OutputState::Stored).await;
    let second = ended(OutputState::Partial { from: 3 }).await;
    for other in [OutputState::None, OutputState::Live, OutputState::Storing, OutputState::Lost] {
        ended(other).await;
    }
    queued(store, &session).await;
    let old = async |before, at_most| store.outputs_ended_before(before, at_most).await.unwrap();
    let later = Micros(store.now().await.unwrap().0 + HOUR);
    assert_eq!(old(later, 9).await, [first.id, second.id]);
    assert_eq!(old(later, 1).await, [first.id]);
    assert_eq!(old(first.ended.unwrap(), 9).await, []);
    assert!(store.set_output(first.id, OutputState::Lost, OutputBy::Retention).await.unwrap());
    assert_eq!(old(later, 9).await, [second.id]);
}

pub(crate) async fn sessions_are_filtered(store: &dyn Store) {
    let open = opened(store, TENANT).await;
    let add = async |session: SessionRecord| {
        store.create_session(session.clone(), MANY).await.unwrap();
        session.id
    };
    let closed = add(SessionRecord { state: SessionState::Closed, ..session(TENANT) }).await;
    let lost = add(SessionRecord { state: SessionState::Lost, ..session(TENANT) }).await;
    let bobs = add(SessionRecord {
        principal: "bob".to_owned(),
        runner_id: runner("runner-2"),
        labels: labels(&[("team", "red")]),
        ..session(TENANT)
    })
    .await;

    let ids = async |query: SessionQuery| -> Vec<_> {
        let page = store.sessions(&query, &first(10)).await.unwrap();
        page.items.into_iter().map(|session| session.id).collect()
    };
    let all = SessionQuery::default;
    assert_eq!(ids(all()).await, [bobs, lost, open.id]);
    let states = vec![SessionState::Closed, SessionState::Lost];
    assert_eq!(ids(SessionQuery { states, ..all() }).await, [lost, closed]);
    assert_eq!(ids(SessionQuery { principal: Some("bob".to_owned()), ..all() }).await, [bobs]);
    assert_eq!(ids(SessionQuery { runner_id: Some(runner("runner-2")), ..all() }).await, [bobs]);
    let red = vec![("team".to_owned(), "red".to_owned())];
    assert_eq!(ids(SessionQuery { labels: red, ..all() }).await, [bobs]);
    let some = store.sessions(&all(), &first(2)).await.unwrap();
    let rest = PageQuery { size: 2, token: some.next };
    let rest = store.sessions(&all(), &rest).await.unwrap();
    assert_eq!((rest.items.len(), rest.items[0].id, rest.next), (1, open.id, None));
}

pub(crate) async fn a_tenant_sees_nothing_of_another(store: &dyn Store) {
    let mine = opened(store, TENANT).await;
    let theirs = opened(store, OTHER).await;
    for session in [&mine, &theirs] {
        create(store, waiting(session, HOUR)).await;
        create(store, denied(session)).await;
    }
    let tenant = Some(TENANT.to_owned());
    let sessions = SessionQuery { tenant: tenant.clone(), ..SessionQuery::default() };
    let sessions = store.sessions(&sessions, &first(10)).await.unwrap().items;
    assert_eq!(sessions.iter().map(|session| session.id).collect::<Vec<_>>(), [mine.id]);

    let executions = ExecutionQuery { tenant: tenant.clone(), ..ExecutionQuery::default() };
    let page = store.executions(&executions, &first(1)).await.unwrap();
    let token = page.next.unwrap();
    let foreign = ExecutionQuery { tenant: Some(OTHER.to_owned()), ..ExecutionQuery::default() };
    let stolen = PageQuery { size: 10, token: Some(token) };
    let refused = store.executions(&foreign, &stolen).await.unwrap_err();
    assert!(matches!(refused, StoreError::BadPageToken));
    let mine_only = store.executions(&executions, &first(10)).await.unwrap().items;
    assert!(mine_only.len() == 2 && mine_only.iter().all(|record| record.tenant == TENANT));
    let in_theirs = ExecutionQuery { session_id: Some(theirs.id), ..executions };
    assert!(store.executions(&in_theirs, &first(10)).await.unwrap().items.is_empty());

    let approvals = ApprovalQuery { tenant, states: vec![ApprovalState::Open], session_id: None };
    let approvals = store.approvals(&approvals, &first(10)).await.unwrap().items;
    assert!(approvals.len() == 1 && approvals.iter().all(|approval| approval.tenant == TENANT));
}

pub(crate) async fn labels_are_compared_as_they_are(store: &dyn Store) {
    let session = opened(store, TENANT).await;
    let odd = [("a.b", "1"), ("quote\"", "'; --"), ("$", "null"), ("empty", ""), ("n", "7")];
    let mut record = execution(&session);
    record.spec.labels = labels(&odd);
    let record = create(store, new(record)).await;
    let found = async |pairs: &[(&str, &str)]| {
        let query =
            ExecutionQuery { labels: labels(pairs).into_iter().collect(), ..ExecutionQuery::default() };
        store.executions(&query, &first(10)).await.unwrap().items == [record.clone()]
    };
    for pair in odd {
        assert!(found(&[pair]).await, "{pair:?}");
    }
    assert!(found(&odd).await);
    for pair in
        [("a", "1"), ("a.b", "2"), ("a.b", ""), ("A.B", "1"), ("n", "7.0"), ("missing", ""), ("%", "%")]
    {
        assert!(!found(&[pair]).await, "{pair:?}");
        assert!(!found(&[odd[0], pair]).await, "{pair:?}");
    }
}

pub(crate) async fn forged_tokens_are_refused(store: &dyn Store) {
    let session = opened(store, TENANT).await;
    queued(store, &session).await;
    queued(store, &session).await;
    let query = ExecutionQuery::default();
    let good = store.executions(&query, &first(1)).await.unwrap().next.unwrap();
    let flipped = format!("{}{}", if good.starts_with('A') { "B" } else { "A" }, &good[1..]);
    let mut cut = good.clone();
    cut.pop();
    let long = "A".repeat(100_000);
    for bad in ["", " ", "1", "' OR 1=1 --", "\u{0}", &flipped, &cut, &format!("{good}A"), &long] {
        let page = PageQuery { size: 1, token: Some(bad.to_owned()) };
        for error in [
            store.executions(&query, &page).await.unwrap_err(),
            store.sessions(&SessionQuery::default(), &page).await.unwrap_err(),
            store.approvals(&ApprovalQuery::default(), &page).await.unwrap_err(),
            store.runners(&page).await.unwrap_err(),
        ] {
            assert!(matches!(error, StoreError::BadPageToken), "{bad:?}: {error:?}");
        }
    }
    let page = PageQuery { size: 1, token: Some(good) };
    assert_eq!(store.executions(&query, &page).await.unwrap().items.len(), 1);
    let other_filter = ExecutionQuery { states: vec![ExecutionState::Queued], ..ExecutionQuery::default() };
    let error = store.executions(&other_filter, &page).await.unwrap_err();
    assert!(matches!(error, StoreError::BadPageToken));
}

pub(crate) async fn pages_of_large_rows_end_early(store: &dyn Store) {
    let session = opened(store, TENANT).await;
    let large = 128 * 1024 - 1;
    for _ in 0..50 {
        let mut record = execution(&session);
        record.spec.command.text = vec![b'x'; large];
        create(store, new(record)).await;
    }
    let page = store.executions(&ExecutionQuery::default(), &first(50)).await.unwrap();
    assert!(page.items.len() < 50 && page.next.is_some(), "{}", page.items.len());
    let (all, _) = every_page(store, &ExecutionQuery::default(), 50).await;
    assert_eq!(all.len(), 50);
    let entries = store.audit(0, 50).await.unwrap();
    assert!(!entries.is_empty() && entries.len() < 50);
}

pub(crate) async fn page_sizes_are_bounded(store: &dyn Store) {
    let session = opened(store, TENANT).await;
    queued(store, &session).await;
    queued(store, &session).await;
    let query = ExecutionQuery::default();
    let none = store.executions(&query, &first(0)).await.unwrap();
    assert_eq!((none.items.len(), none.next.is_some()), (1, true));
    let all = store.executions(&query, &first(u32::MAX)).await.unwrap();
    assert_eq!((all.items.len(), all.next), (2, None));
}
