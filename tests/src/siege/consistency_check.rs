//! The consistency check. Every execution exists on every server and has a permitted result. It ran once, its output
//! was delivered completely and once, and it left no resources.

use std::{collections::BTreeSet, fs, path::Path};

use airlock_client::v1;
use futures::{StreamExt as _, stream};

use super::{
    field::{Field, Plan, RUNNERS, SERVERS},
    fire::Trouble,
    load::{self, Done, Load, Told, close, insist, key, until},
};
use crate::{
    chaos::actor::{Permits, follow},
    fleet::runner_name,
};

/// The number of executions that are checked concurrently.
const AT_ONCE: usize = 8;
const PAGE: i32 = 200;

/// Compares everything with its script.
///
/// # Panics
/// At the first violated guarantee.
pub(super) async fn check(field: &Field, load: &Load, done: &[Done], plan: Plan, troubles: &[Trouble]) {
    let ran = load::anywhere(field.fleet.path(), RUNNERS);
    for (name, count) in &ran {
        assert_eq!(*count, 1, "{name} ran {count} times");
    }
    let each = done.iter().enumerate().map(|(number, one)| check_one(field, one, plan, number, troubles));
    stream::iter(each).buffer_unordered(AT_ONCE).collect::<Vec<()>>().await;
    listed(field, done).await;
    let audit = "SELECT count(*), count(DISTINCT execution_id) FROM";
    for table in ["audit_opened", "audit_closed"] {
        let counted = field.database.0.ask(&format!("{audit} {table}"));
        assert_eq!(counted, format!("{0}|{0}", done.len()), "{table}: each execution once");
    }
    let client = field.client(0);
    for session in &load.shared {
        close(&client, session).await;
    }
    nothing_is_left(field.fleet.path()).await;
    let mut tally = field.tally.lock().unwrap();
    tally.agreed = done.len();
    tally.bytes = done.iter().map(|one| one.told.bytes).sum();
}

async fn check_one(field: &Field, one: &Done, plan: Plan, number: usize, troubles: &[Trouble]) {
    let (name, id) = (&one.part.name, &one.id);
    let mut first: Option<v1::Execution> = None;
    for server in 0..usize::from(SERVERS) {
        let client = field.fleet.client(&[server]);
        let now = until(&format!("server {server} has the output of {name}, {id}, stored"), async || {
            let now = client.execution(id).await.ok()?;
            matches!(now.output_state(), v1::OutputState::Stored | v1::OutputState::None).then_some(now)
        })
        .await;
        assert_eq!(now.result, one.end.result, "{name}: a result does not change");
        let first = first.get_or_insert_with(|| now.clone());
        assert_eq!(*first, now, "{name}, {id}: all servers report the same");
    }
    let at_one = field.fleet.client(&[number % usize::from(SERVERS)]);
    let ledger =
        follow(at_one.clone(), id.clone()).await.unwrap_or_else(|error| panic!("{name}, {id}: {error}"));
    assert_eq!(Told::of(&ledger), one.told, "{name}, {id}: a repeated request returns the same result");
    one.part.agrees(&one.end, &ledger, one.ran, permits(one, troubles));
    let spec = one.part.spec(&one.session, &key(plan));
    let again = insist(&format!("{name} is asked for again"), || at_one.start(spec.clone())).await;
    assert_eq!(again.execution_id, *id, "{name}: one key, one execution");
}

/// Returns the deviations that the faults of its runner permit during its time span.
fn permits(one: &Done, troubles: &[Trouble]) -> Permits {
    let affected = |told: bool| {
        troubles.iter().any(|trouble| {
            let meets = trouble.span.0 <= one.span.1 && one.span.0 <= trouble.span.1;
            trouble.told == told && trouble.runner == one.end.runner_id && meets
        })
    };
    Permits { lost: affected(false), drained: affected(true) }
}

/// Checks that every server lists exactly the accepted executions.
async fn listed(field: &Field, done: &[Done]) {
    let accepted: BTreeSet<&str> = done.iter().map(|one| one.id.as_str()).collect();
    for server in 0..usize::from(SERVERS) {
        let client = field.fleet.client(&[server]);
        let (mut ids, mut page_token) = (BTreeSet::new(), String::new());
        loop {
            let request = v1::ExecutionServiceListRequest {
                page: Some(v1::PageRequest { page_size: PAGE, page_token: page_token.clone() }),
                ..Default::default()
            };
            let page = insist("executions are listed", || client.executions(request.clone())).await;
            ids.extend(page.executions.into_iter().map(|one| one.execution_id));
            page_token = page.next_page_token;
            if page_token.is_empty() {
                break;
            }
        }
        assert!(
            ids.iter().map(String::as_str).collect::<BTreeSet<_>>() == accepted,
            "server {server} lists other executions"
        );
    }
}

/// Checks that no runner has a session, a spool or a directory to remove.
async fn nothing_is_left(fleet: &Path) {
    for number in 0..usize::from(RUNNERS) {
        for directory in ["sessions", "trash", "spool"] {
            let directory = fleet.join(runner_name(number)).join(directory);
            until(&format!("{} is empty", directory.display()), async || {
                let left = fs::read_dir(&directory).map(Iterator::count).unwrap_or_default();
                (left == 0).then_some(())
            })
            .await;
        }
    }
}
