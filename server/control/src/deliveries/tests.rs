//! Tests of the loops in virtual time, on an outbox in memory and with hooks that the tests control.

use std::{
    collections::HashMap,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use airlock_domain::{ExecutionId, HookOutcome};
use airlock_store::{Delivery, DeliveryStore, StoreError, TakeDeliveries, record::Micros};
use tokio::{sync::Notify, time::Instant};

use super::{
    server::{REMOVED, Sender, Sent},
    task::{AT_ONCE, AT_ONCE_PER_TENANT, INTERVAL, RETRY_FIRST},
    *,
};
use crate::{
    hooks::HookReply,
    shared::{Clock, Observer, micros},
};

/// The longest virtual time that a test waits for an expected event.
const PATIENCE: Duration = Duration::from_secs(30 * 24 * 3600);
const MAX_AGE: Duration = Duration::from_secs(24 * 3600);

#[derive(Debug, Clone)]
struct Row {
    delivery: Delivery,
    is_held: bool,
    due: i64,
}

/// The store's part, in memory and by tokio's clock.
struct Outbox {
    begun: Instant,
    rows: Mutex<Vec<Row>>,
    changed: Notify,
}

impl Outbox {
    fn new() -> Arc<Self> {
        Arc::new(Self { begun: Instant::now(), rows: Mutex::default(), changed: Notify::new() })
    }

    fn now(&self) -> i64 {
        micros(self.begun.elapsed())
    }

    fn add(&self, hook: &str) -> ExecutionId {
        self.add_of("t", hook)
    }

    fn add_of(&self, tenant: &str, hook: &str) -> ExecutionId {
        let (execution_id, now) = (ExecutionId::new(), self.now());
        let delivery = Delivery {
            execution_id,
            hook: hook.to_owned(),
            tenant: tenant.to_owned(),
            attempt: 0,
            created: Micros(now),
        };
        self.rows.lock().unwrap().push(Row { delivery, is_held: false, due: now });
        execution_id
    }

    fn owed(&self, hook: &str) -> usize {
        self.rows.lock().unwrap().iter().filter(|row| row.delivery.hook == hook).count()
    }

    /// Waits until the hook has received or lost everything.
    async fn settled(&self, hook: &str) {
        let settled = async {
            while self.owed(hook) > 0 {
                self.changed.notified().await;
            }
        };
        tokio::time::timeout(PATIENCE, settled).await.expect("the deliveries are over");
    }

    fn change<T>(&self, change: impl FnOnce(&mut Vec<Row>) -> T) -> Result<T, StoreError> {
        let changed = change(&mut self.rows.lock().unwrap());
        self.changed.notify_one();
        Ok(changed)
    }
}

fn is_same(row: &Row, delivery: &Delivery) -> bool {
    row.delivery.execution_id == delivery.execution_id && row.delivery.hook == delivery.hook
}

#[async_trait::async_trait]
impl DeliveryStore for Outbox {
    async fn take_deliveries(&self, take: &TakeDeliveries) -> Result<Vec<Delivery>, StoreError> {
        let now = self.now();
        self.change(|rows| {
            let mut of_tenant = HashMap::<String, u32>::new();
            let due = rows.iter_mut().filter(|row| {
                let tenant = &row.delivery.tenant;
                row.delivery.hook == take.hook && row.due <= now && !take.except.contains(tenant)
            });
            due.filter(|row| {
                let taken = of_tenant.entry(row.delivery.tenant.clone()).or_default();
                *taken += 1;
                *taken <= take.per_tenant
            })
            .take(take.at_most as usize)
            .map(|row| {
                row.delivery.attempt += 1;
                (row.is_held, row.due) = (true, now + take.lease_micros);
                row.delivery.clone()
            })
            .collect()
        })
    }

    async fn finish_delivery(&self, delivery: &Delivery) -> Result<bool, StoreError> {
        self.change(|rows| {
            let before = rows.len();
            rows.retain(|row| !is_same(row, delivery));
            rows.len() < before
        })
    }

    async fn delay_delivery(&self, delivery: &Delivery, delay_micros: i64) -> Result<bool, StoreError> {
        let due = self.now() + delay_micros;
        self.change(|rows| {
            let row = rows.iter_mut().find(|row| row.delivery == *delivery);
            row.map(|row| (row.is_held, row.due) = (false, due)).is_some()
        })
    }

    async fn expire_deliveries(&self, age_micros: i64, at_most: u32) -> Result<Vec<Delivery>, StoreError> {
        let now = self.now();
        self.change(|rows| {
            let is_old =
                |row: &Row| row.delivery.created.0 < now - age_micros && (!row.is_held || row.due <= now);
            let old: Vec<Row> =
                rows.iter().filter(|row| is_old(row)).take(at_most as usize).cloned().collect();
            rows.retain(|row| !old.iter().any(|old| is_same(row, &old.delivery)));
            old.into_iter().map(|row| row.delivery).collect()
        })
    }

    async fn oldest_delivery(&self, hook: &str) -> Result<Option<Micros>, StoreError> {
        let rows = self.rows.lock().unwrap();
        Ok(rows.iter().filter(|row| row.delivery.hook == hook).map(|row| row.delivery.created).min())
    }
}

/// The behaviour of a hook.
#[derive(Debug, Clone, Copy)]
enum Behaviour {
    Accepts,
    FailsUntil(u32),
    NeverAnswers,
    /// Never answers about executions of this tenant.
    HangsFor(&'static str),
    Gone,
}

/// Hooks that record the attempts that they receive.
#[derive(Default)]
struct Calls {
    behaviours: HashMap<&'static str, Behaviour>,
    /// The attempts with their times.
    received: Mutex<Vec<(Delivery, Instant)>>,
    running: AtomicUsize,
    most: AtomicUsize,
}

impl Calls {
    fn of(behaviours: impl IntoIterator<Item = (&'static str, Behaviour)>) -> Arc<Self> {
        Arc::new(Self { behaviours: behaviours.into_iter().collect(), ..Self::default() })
    }

    fn attempts(&self, hook: &str) -> Vec<(u32, Instant)> {
        let received = self.received.lock().unwrap();
        let of_hook = received.iter().filter(|(delivery, _)| delivery.hook == hook);
        of_hook.map(|(delivery, at)| (delivery.attempt, *at)).collect()
    }
}

#[async_trait::async_trait]
impl Sender for Calls {
    async fn send(&self, delivery: &Delivery) -> Result<Sent, StoreError> {
        self.received.lock().unwrap().push((delivery.clone(), Instant::now()));
        let running = self.running.fetch_add(1, Ordering::Relaxed) + 1;
        self.most.fetch_max(running, Ordering::Relaxed);
        let failed = || HookReply { outcome: HookOutcome::Unavailable, reason: "it is away".to_owned() };
        let sent = match self.behaviours[delivery.hook.as_str()] {
            Behaviour::FailsUntil(attempt) if delivery.attempt < attempt => Sent::Failed(failed()),
            Behaviour::Accepts | Behaviour::FailsUntil(_) => Sent::Accepted,
            Behaviour::HangsFor(tenant) if delivery.tenant == tenant => std::future::pending().await,
            Behaviour::HangsFor(_) => Sent::Accepted,
            Behaviour::NeverAnswers => std::future::pending().await,
            Behaviour::Gone => Sent::Gone,
        };
        self.running.fetch_sub(1, Ordering::Relaxed);
        Ok(sent)
    }

    fn longest_wait(&self, hook: &str) -> Option<Duration> {
        self.behaviours.contains_key(hook).then_some(Duration::from_secs(30))
    }
}

/// Counts outcomes by hook.
#[derive(Default)]
struct Counts(Mutex<HashMap<(String, &'static str), u32>>);

impl Counts {
    fn of(&self, hook: &str, outcome: &'static str) -> u32 {
        self.0.lock().unwrap().get(&(hook.to_owned(), outcome)).copied().unwrap_or_default()
    }
}

impl Observer for Counts {
    fn result_delivered(&self, hook: &str, outcome: &'static str) {
        *self.0.lock().unwrap().entry((hook.to_owned(), outcome)).or_default() += 1;
    }
}

struct Server {
    counts: Arc<Counts>,
    lifecycle: Lifecycle,
}

fn server(name: &str, outbox: &Arc<Outbox>, calls: &Arc<Calls>) -> Server {
    let (counts, lifecycle) = (Arc::new(Counts::default()), Lifecycle::default());
    let deliveries = Deliveries {
        store: outbox.clone(),
        sender: calls.clone(),
        hooks: calls.behaviours.keys().map(|name| (*name).to_owned()).collect(),
        observer: counts.clone(),
        clock: Arc::new(Clock::new(Micros(0))),
        max_age: MAX_AGE,
        server_id: name.to_owned(),
    };
    start(&Arc::new(deliveries), &lifecycle);
    Server { counts, lifecycle }
}

#[tokio::test(start_paused = true)]
async fn a_result_is_sent_again_with_growing_delays_until_the_hook_accepts_it() {
    let outbox = Outbox::new();
    outbox.add("a");
    let calls = Calls::of([("a", Behaviour::FailsUntil(6))]);
    let server = server("server-1", &outbox, &calls);
    outbox.settled("a").await;
    let attempts = calls.attempts("a");
    assert_eq!(attempts.iter().map(|(attempt, _)| *attempt).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6]);
    for (number, pair) in attempts.windows(2).enumerate() {
        let [(_, first), (_, second)] = pair else { unreachable!() };
        let least = RETRY_FIRST * (1 << number) / 2;
        assert!(*second - *first >= least, "{number}: {:?}", *second - *first);
    }
    assert_eq!((server.counts.of("a", "failed"), server.counts.of("a", "accepted")), (5, 1));
}

#[tokio::test(start_paused = true)]
async fn a_dead_hook_delays_no_other_and_gets_few_calls_at_once() {
    let outbox = Outbox::new();
    for _ in 0..1000 {
        outbox.add("dead");
    }
    let calls = Calls::of([("dead", Behaviour::NeverAnswers), ("live", Behaviour::Accepts)]);
    let _server = server("server-1", &outbox, &calls);
    for _ in 0..20 {
        let begun = Instant::now();
        outbox.add("live");
        outbox.settled("live").await;
        assert!(begun.elapsed() <= 2 * INTERVAL, "{:?}", begun.elapsed());
    }
    assert_eq!(outbox.owed("dead"), 1000);
    assert!(calls.most.load(Ordering::Relaxed) <= AT_ONCE_PER_TENANT + 1);
    assert_eq!(calls.attempts("dead").len(), AT_ONCE_PER_TENANT);
}

#[tokio::test(start_paused = true)]
async fn results_on_which_a_hook_hangs_leave_room_for_other_tenants() {
    let outbox = Outbox::new();
    for _ in 0..100 {
        outbox.add_of("bad", "a");
    }
    let calls = Calls::of([("a", Behaviour::HangsFor("bad"))]);
    let _server = server("server-1", &outbox, &calls);
    // Some of the calls that hang reach their limit during this time.
    for _ in 0..100 {
        let begun = Instant::now();
        outbox.add_of("good", "a");
        let left = async {
            while outbox.owed("a") > 100 {
                outbox.changed.notified().await;
            }
        };
        tokio::time::timeout(PATIENCE, left).await.expect("it is delivered");
        assert!(begun.elapsed() <= 2 * INTERVAL, "{:?}", begun.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn a_backlog_of_many_tenants_uses_all_calls() {
    let outbox = Outbox::new();
    for number in 0..100 {
        outbox.add_of(&format!("t{}", number % 10), "a");
    }
    let calls = Calls::of([("a", Behaviour::NeverAnswers)]);
    let _server = server("server-1", &outbox, &calls);
    while calls.attempts("a").len() < AT_ONCE {
        outbox.changed.notified().await;
    }
    assert_eq!(calls.most.load(Ordering::Relaxed), AT_ONCE);
}

#[tokio::test(start_paused = true)]
async fn a_backlog_is_delivered_without_a_pause_after_each_round() {
    let outbox = Outbox::new();
    for _ in 0..1000 {
        outbox.add("a");
    }
    let calls = Calls::of([("a", Behaviour::Accepts)]);
    let server = server("server-1", &outbox, &calls);
    let begun = Instant::now();
    outbox.settled("a").await;
    assert!(begun.elapsed() <= 2 * INTERVAL, "{:?}", begun.elapsed());
    assert_eq!((calls.attempts("a").len(), server.counts.of("a", "accepted")), (1000, 1000));
    assert!(calls.most.load(Ordering::Relaxed) <= AT_ONCE_PER_TENANT);
}

#[tokio::test(start_paused = true)]
async fn another_server_takes_the_deliveries_of_one_that_died() {
    let outbox = Outbox::new();
    let id = outbox.add("a");
    let hangs = Calls::of([("a", Behaviour::NeverAnswers)]);
    let first = server("server-1", &outbox, &hangs);
    while hangs.attempts("a").is_empty() {
        outbox.changed.notified().await;
    }
    first.lifecycle.stop();
    first.lifecycle.wait().await;
    let calls = Calls::of([("a", Behaviour::Accepts)]);
    let _second = server("server-2", &outbox, &calls);
    outbox.settled("a").await;
    let received = calls.received.lock().unwrap();
    let attempts: Vec<_> =
        received.iter().map(|(delivery, _)| (delivery.execution_id, delivery.attempt)).collect();
    assert_eq!(attempts, [(id, 2)], "only after the lease of the first server");
}

#[tokio::test(start_paused = true)]
async fn a_result_that_no_hook_accepts_is_dropped_and_counted() {
    let outbox = Outbox::new();
    outbox.add("a");
    outbox.add("unknown");
    let calls = Calls::of([("a", Behaviour::FailsUntil(u32::MAX))]);
    let server = server("server-1", &outbox, &calls);
    let begun = Instant::now();
    outbox.settled("a").await;
    outbox.settled("unknown").await;
    assert!(begun.elapsed() >= MAX_AGE && begun.elapsed() <= MAX_AGE + 2 * SWEEP, "{:?}", begun.elapsed());
    assert_eq!((server.counts.of("a", "dropped"), server.counts.of("a", "accepted")), (1, 0));
    assert_eq!(server.counts.of(REMOVED, "dropped"), 1, "the name is not a label");
    assert!(calls.attempts("a").len() >= 24 * 60 / 5);
}

#[tokio::test(start_paused = true)]
async fn a_delivery_of_a_missing_execution_is_over() {
    let outbox = Outbox::new();
    outbox.add("a");
    let calls = Calls::of([("a", Behaviour::Gone)]);
    let server = server("server-1", &outbox, &calls);
    outbox.settled("a").await;
    assert_eq!(calls.attempts("a").len(), 1);
    assert_eq!((server.counts.of("a", "failed"), server.counts.of("a", "accepted")), (0, 0));
}
