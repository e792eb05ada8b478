//! Tests of several servers on one store, with runners that are linked to one or all of them.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use airlock_domain::{
    CancelledBy, Cause, Epoch, ExecutionId, ExecutionState, FromRunner, JobPhase, LinkState, NetworkRules,
    OutputState, RunnerHello, RunnerId, SessionId, Started, ToRunner,
};
use airlock_output::stream::LinkUnavailable;
use airlock_store::{
    NetworkChange, PageQuery,
    record::{ExecutionRecord, LiveExecution, SessionState},
    testing::{self, PATIENCE},
};

use super::support::{Runner, World, exited, hello, run, who};
use crate::{
    api::{CreateSession, UpdateSession},
    fleet::PeerClient,
    links::LinkRefusal,
    reconcile::reconcile_once,
    runners::RunnerState,
    services::Services,
};

/// The servers of a test by name. The name is also the address.
#[derive(Clone, Default)]
pub(super) struct Peers(Arc<Mutex<HashMap<String, Services>>>);

impl Peers {
    fn add(&self, name: &str, services: &Services) {
        self.0.lock().unwrap().insert(name.to_owned(), services.clone());
    }

    fn get(&self, name: &str) -> Result<Services, LinkUnavailable> {
        self.0.lock().unwrap().get(name).cloned().ok_or(LinkUnavailable::NotConnected)
    }
}

#[async_trait::async_trait]
impl PeerClient for Peers {
    async fn tell(&self, address: &str, runner: &RunnerId, message: ToRunner) -> Result<(), LinkUnavailable> {
        self.get(address)?.links.tell(runner, message).await
    }

    async fn hint_session(&self, address: &str, session: SessionId) -> Result<(), LinkUnavailable> {
        self.get(address)?.sessions.hinted(session).await.map_err(|_| LinkUnavailable::NotConnected)
    }

    async fn open_output(
        &self,
        _: &str,
        _: &RunnerId,
        _: ExecutionId,
        _: &str,
    ) -> Result<(), LinkUnavailable> {
        Err(LinkUnavailable::NotConnected)
    }

    async fn open_exchange(&self, _: &str, _: &RunnerId, _: &str) -> Result<(), LinkUnavailable> {
        Err(LinkUnavailable::NotConnected)
    }
}

/// A lease that ends only when the test advances the time.
const LEASE: Duration = Duration::from_secs(600);

/// A fixture with two servers that can reach each other.
struct Two {
    world: World,
    second: Services,
}

impl Two {
    async fn new() -> Self {
        Self::with_lease(Duration::from_secs(3600)).await
    }

    async fn with_lease(lease: Duration) -> Self {
        let peers = Peers::default();
        let world = Box::pin(World::with_peers(|limits| limits.lease = lease, Arc::new(peers.clone()))).await;
        let second = Box::pin(world.another_with("server-2", Arc::new(peers.clone()))).await;
        peers.add("server-1", &world.services);
        peers.add("server-2", &second);
        Self { world, second }
    }

    /// Creates a runner with a link to each server: one epoch, two links.
    async fn runner(&self) -> (Runner, Runner) {
        self.runner_of(hello("r", Epoch::new())).await
    }

    /// Creates a runner that answers probes, with a link to each server.
    async fn probed_runner(&self) -> (Runner, Runner) {
        self.runner_of(RunnerHello { answers_probes: true, ..hello("r", Epoch::new()) }).await
    }

    async fn runner_of(&self, hello: RunnerHello) -> (Runner, Runner) {
        let mut first = Runner::to(&self.world.services, &self.world, hello.clone()).await.unwrap();
        let mut second = Runner::to(&self.second, &self.world, hello).await.unwrap();
        first.reconciled().await;
        second.reconciled().await;
        (first, second)
    }

    /// Kills the first server and lets its leases expire.
    async fn killed(&self) {
        self.world.kill().await;
        self.world.pass(LEASE + Duration::from_secs(1)).await;
        self.second.reconciler.hints.reconcile_now();
    }

    /// Waits until a server has read that the other has a link to the runner.
    async fn until_seen(&self, services: &Services) {
        let page = PageQuery { size: 10, token: None };
        testing::until("the runner is seen", async || {
            services.reconciler.hints.reconcile_now();
            let connected = services.runners.list(&[RunnerState::Connected], &page).await.unwrap();
            !connected.items.is_empty() && !services.reconciler.presence.all_known().is_empty()
        })
        .await;
    }
}

async fn until(world: &World, id: ExecutionId, done: impl Fn(&ExecutionRecord) -> bool) -> ExecutionRecord {
    world.until_true(id, done).await
}

#[tokio::test]
async fn an_end_that_comes_through_any_server_counts_once() {
    let two = Two::new().await;
    let (mut first, mut second) = two.runner().await;
    let session = two.world.session(&mut first).await;
    let record = two.world.start(&session, "touch a").await;
    let job = first.next_job().await;
    for runner in [&mut first, &mut second] {
        runner.accept(&job).await;
        runner.runs(&job).await;
    }
    second.ends(&job, 3).await;
    first.ends(&job, 3).await;
    let ended = two.world.finished(record.id).await;
    assert_eq!(ended.result.unwrap().cause, Cause::Exited { code: 3 });
    assert_eq!(
        ended.owner_server.as_deref(),
        Some("server-2"),
        "the server that recorded the end stores the output"
    );
    let history = two.world.store.state_changes(record.id, 0).await.unwrap();
    let ends = history.iter().filter(|step| step.state == ExecutionState::Finished).count();
    assert_eq!(ends, 1);
    // The first server has freed the slot, although the second wrote the step.
    let page = PageQuery { size: 10, token: None };
    let view = two.world.services.runners.list(&[], &page).await.unwrap().items.pop().unwrap();
    assert_eq!(view.running, 0);
}

#[tokio::test]
async fn a_server_without_a_link_has_one_with_a_link_place_and_tells_through_it() {
    let two = Two::new().await;
    let mut runner = Runner::ready(&two.world).await;
    two.until_seen(&two.second).await;
    let opened = two.second.sessions.create(who("ann"), CreateSession::default());
    let (session, ()) = tokio::join!(opened, runner.open_session());
    let session = session.unwrap();
    assert_eq!(session.state, SessionState::Open);
    let record = two.second.executions.start(who("ann"), run(session.id, "touch a")).await.unwrap();
    assert_eq!(record.owner_server.as_deref(), Some("server-2"));
    let job = runner.take().await;
    assert_eq!(job.execution_id, record.id);
    let placed = two.world.until(record.id, ExecutionState::Running).await;
    assert_eq!(placed.owner_server.as_deref(), Some("server-1"), "the server with the link controls it");

    let network = Some(NetworkChange::Set(NetworkRules::default()));
    let change = UpdateSession { network, ..UpdateSession::default() };
    let after = two.second.sessions.update(who("ann"), session.id, change).await.unwrap();
    assert_eq!(runner.new_network().await, (after.version, after.network));

    two.second.executions.cancel(who("ann"), record.id, CancelledBy::Admin).await.unwrap();
    assert_eq!(runner.expect_end(record.id).await, Cause::Cancelled(CancelledBy::Admin));
    runner.report(&job, JobPhase::Ended, Some(exited(0))).await;
    let waited = two.second.executions.wait(who("ann"), record.id, PATIENCE).await.unwrap();
    assert_eq!(waited.state, ExecutionState::Finished);
}

#[tokio::test]
async fn what_a_server_cannot_reach_any_more_is_driven_by_one_that_can() {
    let two = Two::new().await;
    let (mut first, mut second) = two.runner().await;
    let session = two.world.session(&mut first).await;
    let record = two.world.start(&session, "touch a").await;
    let job = first.take().await;
    second.accept(&job).await;
    second.runs(&job).await;
    drop(first);
    until(&two.world, record.id, |now| {
        let there = now.owner_server.as_deref() == Some("server-2");
        there && (now.state, now.link) == (ExecutionState::Running, Some(LinkState::Connected))
    })
    .await;
    drop(second);
    until(&two.world, record.id, |now| now.link == Some(LinkState::Unreachable)).await;
}

#[tokio::test]
async fn leases_that_are_handed_over_are_taken_at_once() {
    let two = Two::with_lease(Duration::from_secs(3600)).await;
    let (mut first, mut second) = two.runner().await;
    let session = two.world.session(&mut first).await;
    let record = two.world.start(&session, "touch a").await;
    let job = first.take().await;
    second.accept(&job).await;
    second.runs(&job).await;
    two.world.services.shut_down().await;
    let servers = two.world.store.servers().await.unwrap();
    assert_eq!(servers.iter().map(|server| server.id.as_str()).collect::<Vec<_>>(), ["server-2"]);
    until(&two.world, record.id, |now| now.owner_server.as_deref() == Some("server-2")).await;
    second.ends(&job, 0).await;
    two.world.finished(record.id).await;
}

#[tokio::test]
async fn an_offer_of_a_server_that_died_is_made_again_by_another_and_not_twice() {
    let two = Two::with_lease(Duration::from_millis(1)).await;
    let (mut first, mut second) = two.runner().await;
    let session = two.world.session(&mut first).await;
    let record = two.world.start(&session, "touch a").await;
    let job = first.next_job().await;
    // The server dies before the runner has answered.
    two.world.kill().await;
    let again = loop {
        // An earlier message may ask to open the session.
        if let ToRunner::StartJob(job) = second.next().await {
            break job;
        }
    };
    assert_eq!((again.execution_id, again.attempt), (record.id, job.attempt), "the same offer");
    assert_eq!(again.epoch, job.epoch);
}

#[tokio::test]
async fn what_is_on_its_way_to_a_server_is_not_missing() {
    let two = Two::with_lease(Duration::from_millis(1)).await;
    let epoch = Epoch::new();
    let probed = |epoch| {
        let mut hello = hello("r", epoch);
        hello.answers_probes = true;
        hello
    };
    let mut first = Runner::to(&two.world.services, &two.world, probed(epoch)).await.unwrap();
    first.reconciled().await;
    // The second link has reported everything so far. Later reports are still on their way.
    let mut second = Runner::to(&two.second, &two.world, probed(epoch)).await.unwrap();
    let session = two.world.session(&mut first).await;
    let record = two.world.start(&session, "touch a").await;
    let job = first.take().await;
    two.world.until(record.id, ExecutionState::Running).await;
    two.world.kill().await;
    second.say(FromRunner::Reconciled).await;
    let ToRunner::Probe { number } = second.next().await else { panic!("the runner is asked first") };
    assert_eq!(two.world.get(record.id).await.state, ExecutionState::Running);
    assert_eq!(two.world.store.session(session.id).await.unwrap().unwrap().state, SessionState::Open);
    second.opened(session.id).await;
    second.accept(&job).await;
    second.runs(&job).await;
    second.say(FromRunner::Probed { number }).await;
    until(&two.world, record.id, |now| now.owner_server.as_deref() == Some("server-2")).await;
    second.ends(&job, 0).await;
    assert_eq!(two.world.cause(record.id).await, Cause::Exited { code: 0 });
    assert_eq!(two.world.store.session(session.id).await.unwrap().unwrap().state, SessionState::Open);
}

#[tokio::test]
async fn a_job_that_another_server_placed_meanwhile_is_not_missing_later() {
    let two = Two::with_lease(LEASE).await;
    let (mut first, mut second) = two.probed_runner().await;
    let session = two.world.session(&mut first).await;
    let record = two.world.start(&session, "touch a").await;
    let job = first.take().await;
    second.accept(&job).await;
    second.runs(&job).await;
    // The second server read the queue before the first placed the job, and tries to place it only now.
    let seen = LiveExecution {
        state: ExecutionState::Queued,
        version: record.version,
        ..LiveExecution::from(&two.world.get(record.id).await)
    };
    two.second.reconciler.execution.placement.place(&session, &seen).await.unwrap();
    two.killed().await;
    until(&two.world, record.id, |now| now.owner_server.as_deref() == Some("server-2")).await;
    // More reconciliations than a probe, its answer and the reaction take.
    for _ in 0..4 {
        reconcile_once(&two.second.reconciler).await.unwrap();
        second.answer_probes().await;
    }
    assert_eq!(two.world.get(record.id).await.state, ExecutionState::Running);
    second.ends(&job, 0).await;
    assert_eq!(two.world.cause(record.id).await, Cause::Exited { code: 0 });
}

#[tokio::test]
async fn a_late_refusal_of_an_earlier_attempt_is_no_answer_to_the_next() {
    let two = Two::with_lease(LEASE).await;
    let (mut first, mut second) = two.probed_runner().await;
    let session = two.world.session(&mut first).await;
    let record = two.world.start(&session, "touch a").await;
    let refused = first.next_job().await;
    first.refuses(&refused, "past_not_after").await;
    let lost = first.next_job().await;
    assert_eq!(lost.attempt, refused.attempt + 1);
    // The first server dies before its second offer is sent.
    two.killed().await;
    second.refuses(&refused, "past_not_after").await;
    let again = loop {
        if let ToRunner::StartJob(job) = second.next().await {
            break job;
        }
    };
    assert_eq!((again.execution_id, again.attempt), (record.id, lost.attempt), "the same offer");
}

#[tokio::test]
async fn what_is_still_missing_after_the_answer_is_lost() {
    let two = Two::with_lease(Duration::from_millis(1)).await;
    let mut first = Runner::to(&two.world.services, &two.world, hello("r", Epoch::new())).await.unwrap();
    first.reconciled().await;
    let session = two.world.session(&mut first).await;
    let record = two.world.start(&session, "touch a").await;
    let job = first.take().await;
    two.world.until(record.id, ExecutionState::Running).await;
    two.world.kill().await;
    let mut forgetful = hello("r", job.epoch);
    forgetful.answers_probes = true;
    let mut second = Runner::to(&two.second, &two.world, forgetful).await.unwrap();
    second.say(FromRunner::Reconciled).await;
    let answer = async {
        loop {
            if let ToRunner::Probe { number } = second.next().await {
                second.say(FromRunner::Probed { number }).await;
            }
        }
    };
    let lost = two.world.finished(record.id);
    let ended = tokio::select! {
        ended = lost => ended,
        () = answer => unreachable!("the call asks without an end"),
    };
    let result = ended.result.unwrap();
    assert_eq!((result.cause, result.started), (Cause::RunnerLost, Started::Yes));
    two.world.until_session(session.id, |session| session.state == SessionState::Lost).await;
}

#[tokio::test]
async fn a_life_that_was_followed_by_another_is_fenced_everywhere() {
    let two = Two::new().await;
    let (old, new) = (Epoch::new(), Epoch::new());
    let mut late = Runner::to(&two.second, &two.world, hello("r", old)).await.unwrap();
    late.reconciled().await;
    let mut runner = Runner::to(&two.world.services, &two.world, hello("r", new)).await.unwrap();
    runner.reconciled().await;
    tokio::time::timeout(PATIENCE, late.handle.ended())
        .await
        .expect("its link is ended where it has not come back");
    let refused = Runner::to(&two.second, &two.world, hello("r", old)).await;
    assert!(matches!(refused, Err(LinkRefusal::Fenced)));
}

#[tokio::test]
async fn a_runner_without_a_free_slot_sends_the_work_back_and_it_is_not_refused_for_that() {
    let world = World::with(|limits| limits.attempts = 2).await;
    let mut runner = Runner::ready(&world).await;
    let session = world.session(&mut runner).await;
    let record = world.start(&session, "touch a").await;
    for _ in 0..4 {
        let job = runner.next_job().await;
        runner.refuses(&job, "no_slots").await;
        world.services.reconciler.hints.reconcile_now();
    }
    let job = runner.take().await;
    assert_eq!(job.attempt, 5);
    runner.ends(&job, 0).await;
    assert_eq!(world.cause(record.id).await, Cause::Exited { code: 0 });
}

#[tokio::test]
async fn an_output_whose_server_died_is_stored_by_another() {
    let two = Two::with_lease(Duration::from_millis(1)).await;
    let (mut first, mut second) = two.runner().await;
    let session = two.world.session(&mut first).await;
    let record = two.world.start(&session, "touch a").await;
    let job = first.take().await;
    second.accept(&job).await;
    second.runs(&job).await;
    first.ends(&job, 0).await;
    two.world.finished(record.id).await;
    two.world.kill().await;
    two.world.keeper.ended.lock().unwrap().clear();
    assert_eq!(two.world.get(record.id).await.output, OutputState::Live);
    testing::until("the second server's reconciliation finds it", async || {
        reconcile_once(&two.second.reconciler).await.unwrap();
        two.world.keeper.ended.lock().unwrap().contains(&record.id)
    })
    .await;
}
