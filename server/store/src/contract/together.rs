//! Tests of several servers on one store: concurrent calls are serializable. Each test gets the stores of
//! two servers on one database, or the same store twice for an engine that supports one server only.

use std::{
    collections::{BTreeSet, HashSet},
    fmt::Debug,
    future::Future,
};

use airlock_domain::{ApprovalId, Cause, Epoch, ExecutionId, ExecutionState};
use futures::{
    FutureExt as _, StreamExt as _,
    future::{BoxFuture, join_all},
    stream,
};

use super::{
    approvals::answer,
    fixtures::{
        HOUR, MANY, OTHER, ROOMY, TENANT, create, denied, end, execution, first, new, offer, opened, queued,
        result, run, runner, session, step, waiting,
    },
    rules::{answer_and_remember, rule},
};
use crate::{
    ApprovalAnswer, Cas, Created, MilestoneQuery, NewExecution, Room, RuleQuery, SessionChange, Store,
    StoreError, Transition,
    record::{ApprovalState, ExecutionRecord, SessionRecord, SessionState},
};

/// The number of rounds of each race. The timing differs between rounds.
const ROUNDS: usize = 12;
/// The number of concurrent callers per server in a race.
const CALLERS: usize = 4;

type Servers<'s> = [&'s dyn Store; 2];

/// Runs the same call concurrently from both servers and returns all results.
async fn race<'s, T, F: Future<Output = T> + 's>(
    servers: Servers<'s>,
    ask: impl Fn(&'s dyn Store, usize) -> F,
) -> Vec<T> {
    join_all((0..CALLERS * 2).map(|caller| ask(servers[caller % 2], caller))).await
}

/// Returns the record of the only call that succeeded, and checks that all others saw that record.
fn only<T: Debug + PartialEq>(outcomes: Vec<Result<Cas<T>, StoreError>>) -> T {
    let mut done = Vec::new();
    let mut late = Vec::new();
    for outcome in outcomes {
        match outcome.unwrap() {
            Cas::Done(record) => done.push(record),
            Cas::Stale(record) => late.push(record),
            Cas::Missing => panic!("missing"),
        }
    }
    assert_eq!((done.len(), late.len()), (1, CALLERS * 2 - 1));
    let done = done.remove(0);
    assert!(late.iter().all(|seen| *seen == done), "{late:?}");
    done
}

pub(crate) async fn each_sees_at_once_what_another_wrote(servers: Servers<'_>) {
    let [one, other] = servers;
    let session = opened(one, TENANT).await;
    assert_eq!(other.session(session.id).await.unwrap(), Some(session.clone()));
    let mut record = queued(other, &session).await;
    for (turn, next) in [offer(), run(), end(result(Cause::Exited { code: 0 }))].into_iter().enumerate() {
        assert_eq!(servers[turn % 2].execution(record.id).await.unwrap(), Some(record.clone()));
        record = step(servers[turn % 2], &record, next).await;
    }
    assert_eq!(
        one.state_changes(record.id, 0).await.unwrap(),
        other.state_changes(record.id, 0).await.unwrap()
    );
    assert_eq!(other.audit(0, 9).await.unwrap()[0].closed, record.ended);
    let told = MilestoneQuery { tenant: TENANT.to_owned(), session_id: None };
    assert_eq!(
        one.milestones(&told, 0, 9).await.unwrap(),
        other.milestones(&told, 0, 9).await.unwrap(),
        "one store has one ID"
    );
}

pub(crate) async fn of_many_that_take_over_a_lease_one_gets_it(servers: Servers<'_>) {
    let session = opened(servers[0], TENANT).await;
    for _ in 0..ROUNDS {
        let record = queued(servers[0], &session).await;
        let taken = only(
            race(servers, |store, caller| {
                let (id, version) = (record.id, record.version);
                async move {
                    let lease = Some((format!("server-{caller}-takes-over"), HOUR));
                    store.transition(id, version, &Transition { lease, ..Transition::default() }).await
                }
            })
            .await,
        );
        assert_eq!(taken.version, record.version + 1);
        let owner = taken.owner_server.clone().unwrap();
        let leases = join_all((0..CALLERS * 2).map(|caller| async move {
            servers[caller % 2].renew_leases(&format!("server-{caller}-takes-over"), 2 * HOUR).await.unwrap()
        }));
        assert_eq!(leases.await.iter().sum::<u64>(), 1, "{owner} alone");
        let over = Transition { lease: Some(("over".to_owned(), 0)), ..Transition::default() };
        step(servers[1], &taken, over).await;
    }
}

pub(crate) async fn of_many_that_offer_one_starts_it(servers: Servers<'_>) {
    let session = opened(servers[0], TENANT).await;
    for _ in 0..ROUNDS {
        let record = queued(servers[1], &session).await;
        let placed = only(
            race(servers, |store, caller| {
                let (id, version) = (record.id, record.version);
                async move {
                    let offer = Some((runner(&format!("runner-{caller}")), Epoch::new()));
                    store.transition(id, version, &Transition { offer, ..super::fixtures::offer() }).await
                }
            })
            .await,
        );
        assert_eq!((placed.attempt, placed.state), (1, ExecutionState::Starting));
        assert_eq!(servers[0].state_changes(record.id, 0).await.unwrap().len(), 2);
    }
}

pub(crate) async fn of_many_ends_the_first_is_the_truth(servers: Servers<'_>) {
    let session = opened(servers[0], TENANT).await;
    for _ in 0..ROUNDS {
        let record = queued(servers[0], &session).await;
        let record = step(servers[1], &record, offer()).await;
        let record = step(servers[0], &record, run()).await;
        let ended = only(
            race(servers, |store, caller| {
                let (id, version) = (record.id, record.version);
                let cause = match caller {
                    0 => Cause::RunnerLost,
                    code => Cause::Exited { code: u8::try_from(code).unwrap() },
                };
                async move { store.transition(id, version, &end(result(cause))).await }
            })
            .await,
        );
        let entries = servers[1].audit(0, 100).await.unwrap();
        let entry = entries.iter().find(|entry| entry.execution_id == record.id).unwrap();
        assert_eq!((entry.closed, entry.cause.as_str()), (ended.ended, ended.result.unwrap().cause.name()));
    }
}

pub(crate) async fn of_many_answers_to_an_approval_one_counts(servers: Servers<'_>) {
    let session = opened(servers[0], TENANT).await;
    for _ in 0..ROUNDS {
        let record = create(servers[0], waiting(&session, HOUR)).await;
        let id = record.approval_id.unwrap();
        let given = only(
            race(servers, |store, caller| async move {
                let state = if caller % 3 == 0 { ApprovalState::Denied } else { ApprovalState::Allowed };
                let decided_by = format!("approver-{caller}");
                store.answer_approval(id, &ApprovalAnswer { decided_by, ..answer(state) }).await
            })
            .await,
        );
        assert_eq!(servers[1].approval(id).await.unwrap(), Some(given));
    }
}

async fn remember(store: &dyn Store, id: ApprovalId, text: &str) -> Result<(), StoreError> {
    answer_and_remember(store, id, vec![rule(text, None)], "rules_per_tenant", 3).await
}

pub(crate) async fn what_many_remember_at_once_is_there_once_and_within_its_limit(servers: Servers<'_>) {
    let session = opened(servers[0], TENANT).await;
    let asked = join_all((0..CALLERS * 4).map(|_| create(servers[0], waiting(&session, HOUR)))).await;
    let asked: Vec<_> = asked.iter().filter_map(|record| record.approval_id).collect();
    let (same, many) = asked.split_at(CALLERS * 2);
    let told = race(servers, |store, caller| remember(store, same[caller], "Bash(a)")).await;
    assert!(told.iter().all(Result::is_ok), "{told:?}");
    let rules = || async {
        let query = RuleQuery { tenant: TENANT.to_owned(), session_id: None };
        servers[1].rules(&query, &first(100)).await.unwrap().items
    };
    assert_eq!(rules().await.len(), 1);

    let told = race(servers, |store, caller| {
        let text = format!("Bash({caller})");
        async move { remember(store, many[caller], &text).await }
    })
    .await;
    let full = told.iter().filter(|told| matches!(told, Err(StoreError::Full { value: 3, .. }))).count();
    assert_eq!((told.iter().filter(|told| told.is_ok()).count(), full), (2, CALLERS * 2 - 2));
    assert_eq!(rules().await.len(), 3);

    let gone = rules().await.remove(0).id;
    let removed = race(servers, |store, _| store.remove_rule(TENANT, gone, "bob")).await;
    assert_eq!(removed.into_iter().filter(|removed| matches!(removed, Ok(Some(_)))).count(), 1);
}

/// Returns the distinct IDs and the number of results that were new.
fn made<T>(
    outcomes: Vec<Result<Created<T>, StoreError>>,
    id: impl Fn(&T) -> String,
) -> (BTreeSet<String>, usize) {
    let mut new_ones = 0;
    let ids = outcomes
        .into_iter()
        .map(|outcome| match outcome.unwrap() {
            Created::New(made) => {
                new_ones += 1;
                id(&made)
            }
            Created::Existing(made) => id(&made),
            Created::Conflict | Created::Full { .. } | Created::Later { .. } => {
                panic!("neither created nor found")
            }
        })
        .collect();
    (ids, new_ones)
}

pub(crate) async fn one_request_at_many_servers_makes_one_thing(servers: Servers<'_>) {
    for round in 0..ROUNDS {
        let key = format!("key-{round}");
        let sessions = race(servers, |store, _| {
            store.create_session(SessionRecord { request_id: Some(key.clone()), ..session(TENANT) }, MANY)
        });
        let (ids, new_ones) = made(sessions.await, |session| session.id.to_string());
        assert_eq!((ids.len(), new_ones), (1, 1));

        let session = opened(servers[0], TENANT).await;
        let executions = race(servers, |store, _| {
            store.create_execution(new(ExecutionRecord {
                request_id: Some(key.clone()),
                ..execution(&session)
            }))
        });
        let (ids, new_ones) = made(executions.await, |record| record.id.to_string());
        assert_eq!((ids.len(), new_ones), (1, 1));
    }
    assert_eq!(servers[1].audit(0, 1_000).await.unwrap().len(), ROUNDS, "and one audit entry");
}

pub(crate) async fn of_many_that_close_a_session_one_does(servers: Servers<'_>) {
    for _ in 0..ROUNDS {
        let session = opened(servers[0], TENANT).await;
        let closed = only(
            race(servers, |store, caller| async move {
                let state = Some((SessionState::Closing, format!("by {caller}")));
                store
                    .change_session(session.id, 1, &SessionChange { state, ..SessionChange::default() })
                    .await
            })
            .await,
        );
        assert_eq!((closed.version, closed.state), (2, SessionState::Closing));
    }
}

pub(crate) async fn limits_hold_across_servers(servers: Servers<'_>) {
    let full = |outcome: &Result<Created<ExecutionRecord>, StoreError>, name: &str| match outcome {
        Ok(Created::New(_)) => false,
        Ok(Created::Full { limit, .. }) if *limit == name => true,
        other => panic!("{other:?}"),
    };
    let made = race(servers, |store, _| store.create_session(session(TENANT), 3)).await;
    assert_eq!(made.iter().filter(|made| matches!(made, Ok(Created::New(_)))).count(), 3);

    for (name, room) in [
        ("executions_per_tenant", Room { executions_per_tenant: 3, ..ROOMY }),
        ("executions_per_session", Room { executions_per_session: 5, ..ROOMY }),
    ] {
        let session = opened(servers[0], TENANT).await;
        let made = race(servers, |store, _| {
            store.create_execution(NewExecution { room, ..new(execution(&session)) })
        });
        let refused = made.await.iter().filter(|made| full(made, name)).count();
        let most = if name == "executions_per_tenant" { 3 } else { 5 };
        assert_eq!(refused, CALLERS * 2 - most, "{name}");
    }
    // By now 8 executions are queued. This limit covers all tenants.
    let sessions = [opened(servers[0], TENANT).await, opened(servers[1], OTHER).await];
    let made = race(servers, |store, caller| {
        let room = Room { queue: 11, ..ROOMY };
        store.create_execution(NewExecution { room, ..new(execution(&sessions[caller / 2 % 2])) })
    });
    assert_eq!(made.await.iter().filter(|made| full(made, "queue")).count(), CALLERS * 2 - 3);
}

pub(crate) async fn milestones_of_many_servers_are_read_in_their_order(servers: Servers<'_>) {
    const LIVES: usize = 30;
    let sessions = [opened(servers[0], TENANT).await, opened(servers[1], TENANT).await];
    let query = MilestoneQuery { tenant: TENANT.to_owned(), session_id: None };
    let lives = stream::iter(0..LIVES).for_each_concurrent(CALLERS * 2, |life| {
        let [one, other] = [servers[life % 2], servers[(life + 1) % 2]];
        let session = &sessions[life / 2 % 2];
        async move {
            let record = queued(one, session).await;
            let record = step(other, &record, offer()).await;
            let record = step(one, &record, run()).await;
            step(other, &record, end(result(Cause::Exited { code: 0 }))).await;
            create(one, denied(session)).await;
        }
    });
    // Each reader continues after the last sequence that it has read, and never reads earlier ones.
    let readers = servers.map(|store| -> BoxFuture<'_, Vec<(ExecutionId, u64)>> {
        let query = query.clone();
        async move {
            let (mut after, mut seen) = (0, Vec::new());
            while seen.len() < 3 * LIVES {
                let found = store.milestones(&query, after, 7).await.unwrap().found;
                after = found.last().map_or(after, |last| last.sequence);
                seen.extend(found.into_iter().map(|told| (told.execution_id, told.sequence)));
            }
            seen
        }
        .boxed()
    });
    let ((), seen) = tokio::join!(lives, join_all(readers));
    assert_eq!(seen[0], seen[1]);
    let numbers: HashSet<_> = seen[0].iter().map(|(_, sequence)| *sequence).collect();
    assert_eq!(numbers.len(), 3 * LIVES);
    let entries = servers[0].audit(0, 1_000).await.unwrap();
    let numbers: Vec<_> = entries.iter().map(|entry| entry.sequence).collect();
    assert_eq!(numbers, (1..=i64::try_from(2 * LIVES).unwrap()).collect::<Vec<_>>());
}

pub(crate) async fn of_many_that_take_from_the_queue_each_gets_others(servers: Servers<'_>) {
    const WAIT: usize = 24;
    for _ in 0..WAIT {
        let session = opened(servers[0], TENANT).await;
        create(servers[0], new(execution(&session))).await;
    }
    let taken = race(servers, |store, caller| async move {
        store.take_queued(&super::queue::taking(&format!("server-{caller}"), 2)).await
    });
    let taken: Vec<_> = taken.await.into_iter().flat_map(|taken| taken.unwrap()).collect();
    let others: HashSet<_> = taken.iter().collect();
    assert_eq!(others.len(), taken.len(), "no execution twice");
    let mut left = WAIT - taken.len();
    // A later call finds the executions that the concurrent calls skipped.
    while left > 0 {
        let more = servers[1].take_queued(&super::queue::taking("server-last", 5)).await.unwrap().len();
        assert!(more > 0, "{left} remain");
        left -= more.min(left);
    }
}

/// A tenant that calls all servers at once gets no more than a tenant that calls a single server.
pub(crate) async fn a_tenant_s_own_limits_hold_across_servers(servers: Servers<'_>) {
    let session = opened(servers[0], TENANT).await;
    let session = &session;
    let ask = |room: Room| {
        race(servers, move |store, _| {
            store.create_execution(NewExecution { room, ..new(execution(session)) })
        })
    };
    let made = ask(Room { starts_per_second: 1, ..ROOMY }).await;
    let mut times = Vec::new();
    for outcome in made {
        match outcome.unwrap() {
            Created::New(record) => times.push(record.created.0),
            Created::Later { limit: "starts_per_second", .. } => {}
            other => panic!("{other:?}"),
        }
    }
    times.sort_unstable();
    assert!(!times.is_empty() && times.windows(2).all(|pair| pair[1] - pair[0] >= 1_000_000), "{times:?}");
    let most = times.len() as u64 + 3;
    let made = ask(Room { queue_per_tenant: most, ..ROOMY }).await;
    assert_eq!(made.iter().filter(|made| matches!(made, Ok(Created::New(_)))).count(), 3);
}

pub(crate) async fn of_many_that_take_deliveries_each_gets_others(servers: Servers<'_>) {
    const OWED: usize = 24;
    let session = opened(servers[0], TENANT).await;
    for _ in 0..OWED {
        create(servers[0], denied(&session)).await;
    }
    let taking = |server: &str, at_most| super::deliveries::taking("classifier", server, at_most);
    let taken = race(servers, |store, caller| async move {
        store.take_deliveries(&taking(&format!("server-{caller}"), 2)).await
    });
    let taken: Vec<_> = taken.await.into_iter().flat_map(|taken| taken.unwrap()).collect();
    let others: HashSet<_> = taken.iter().map(|delivery| delivery.execution_id).collect();
    assert_eq!(others.len(), taken.len(), "no delivery twice");
    let mut left = OWED - taken.len();
    // A later call finds the deliveries that the concurrent calls skipped.
    while left > 0 {
        let more = servers[1].take_deliveries(&taking("server-last", 5)).await.unwrap();
        assert!(!more.is_empty(), "{left} remain");
        left -= more.len();
    }
}
