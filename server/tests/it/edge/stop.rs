//! Tests of the shutdown: in order, in time, without leftovers, and with steps that hang.
//!
//! A lock on the store stops the shutdown between its steps. A reported end cannot be written, and leases cannot be
//! handed over.

use std::{fs, path::Path, time::Duration};

use airlock_domain::ExecutionId;
use airlock_proto::v1::{self, execution_service_client::ExecutionServiceClient};
use airlock_server::{
    config::Config,
    wiring::{LocalEngines, Options, Server, StartError},
};
use sqlx::{Connection as _, SqliteConnection, sqlite::SqliteConnectOptions};
use tokio::{
    net::{TcpListener, TcpStream},
    time::timeout,
};
use tonic::{Code, Request, Status, transport::Channel};
use tonic_health::pb::{
    HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient,
};

use crate::{
    PATIENCE,
    edge::{
        collector::Collector,
        raw::{Outcome, call},
        runner::{RunStream, link_up},
        until,
        world::World,
    },
};

#[tokio::test(flavor = "multi_thread")]
async fn watchers_of_health_see_the_end_coming() {
    let world = World::new().await;
    let mut health = HealthClient::new(world.plain());
    let mut watch = health.watch(HealthCheckRequest::default()).await.unwrap().into_inner();
    assert_eq!(watch.message().await.unwrap().unwrap().status(), ServingStatus::Serving);
    let stop = tokio::spawn(world.server.shut_down());
    assert_eq!(watch.message().await.unwrap().unwrap().status(), ServingStatus::NotServing);
    // A watch has no end, so the server ends it.
    let end: Outcome = watch.message().await.unwrap_err().into();
    assert!(end.is(Code::Unavailable, "SHUTTING_DOWN"), "{end:?}");
    timeout(PATIENCE, stop).await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_socket_and_the_store_are_free_again() {
    let world = World::with("[limits]\nshutdown_grace = \"2s\"\n").await;
    let address = world.server.local_addr();
    let channel = world.plain();
    assert_eq!(call(&channel, "/airlock.v1.SessionService/List", "executor", b"").await.code, Code::Ok);
    // Both use the same clock, and `biased` polls in this order, so a suspended machine does not fail the
    // test.
    tokio::select! {
        biased;
        () = world.server.shut_down() => {}
        () = tokio::time::sleep(Duration::from_secs(7)) => panic!("the stop took its grace period, and no more than the limits of the later steps"),
    }
    assert!(TcpStream::connect(address).await.is_err());

    let mut config = world.config.clone();
    config.listen.address = address;
    let again = Server::start(config).await.unwrap();
    assert_eq!(again.local_addr(), address);
    again.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_task_is_left() {
    let world = World::new().await;
    let before = tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let mut config = world.config.clone();
    let folder = tempfile::tempdir().unwrap();
    config.store.path = Some(folder.path().join("airlock.db"));
    let server = Server::start(config).await.unwrap();
    assert!(tokio::runtime::Handle::current().metrics().num_alive_tasks() > before);
    server.shut_down().await;
    until("there are no more tasks than before", async || {
        tokio::runtime::Handle::current().metrics().num_alive_tasks() <= before
    })
    .await;
    world.server.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_can_be_embedded_on_a_given_socket() {
    let folder = tempfile::tempdir().unwrap();
    let mut config = Config::embedded("dev", folder.path());
    let identity = "name = \"dev\"\ntenant = \"dev\"\nroles = [\"executor\"]\nmatch = \"loopback\"\n";
    config.identities.push(toml::from_str(identity).unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let options = Options { listener: Some(listener), ..Options::new(&LocalEngines) };
    let server = Server::start_with(config, options).await.unwrap();
    assert_eq!(server.local_addr(), address);
    let channel =
        tonic::transport::Endpoint::from_shared(format!("http://{address}")).unwrap().connect_lazy();
    let outcome = crate::edge::raw::send(
        &channel,
        "/airlock.v1.SessionService/List",
        None,
        crate::edge::raw::framed(b""),
    )
    .await;
    assert_eq!(outcome.code, Code::Ok, "{outcome:?}");
    server.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_start_says_why() {
    let world = World::new().await;
    let mut taken = world.config.clone();
    taken.listen.address = world.server.local_addr();
    let error = Server::start(taken).await.err().unwrap();
    assert!(matches!(error, StartError::Bind { .. }), "{error}");

    let mut same_store = world.config.clone();
    same_store.listen.address.set_port(0);
    let error = Server::start(same_store).await.err().unwrap();
    assert!(matches!(error, StartError::Store(_)), "{error}");

    let mut shared = world.config.clone();
    shared.listen.address.set_port(0);
    shared.store.path = Some(world.folder().join("other/store.db"));
    shared.outputs.directory = None;
    shared.outputs.s3 = Some(toml::from_str("bucket = \"outputs\"").unwrap());
    let error = Server::start_with(shared, Options::new(&LocalEngines)).await.err().unwrap().to_string();
    assert!(error.contains("no engine for S3 (`outputs.s3`); use `airlock-server`"), "{error}");

    let mut no_profile = world.config.clone();
    no_profile.profiles.default = "nowhere".to_owned();
    let error = Server::start(no_profile).await.err().unwrap().to_string();
    assert!(error.contains("the profile `nowhere` does not exist") && error.contains("strict"), "{error}");
    world.server.shut_down().await;
}

/// The number of the system call in which SQLite sleeps between two attempts to get a lock.
const SLEEPS: &str = if cfg!(target_arch = "aarch64") { "115 " } else { "230 " };

fn spec(command: &str) -> v1::ExecutionSpec {
    v1::ExecutionSpec { command: command.to_owned(), ..Default::default() }
}

async fn store(world: &World) -> SqliteConnection {
    let options = SqliteConnectOptions::new()
        .filename(world.config.store.path.as_ref().unwrap())
        .busy_timeout(PATIENCE);
    SqliteConnection::connect_with(&options).await.unwrap()
}

/// Waits until the server has recorded this link in the store, so that only reports are written afterwards.
async fn until_announced(store: &mut SqliteConnection) {
    until("the link is announced", async || {
        let links = sqlx::query_scalar::<_, i64>("SELECT count(*) FROM links").fetch_one(&mut *store).await;
        links.unwrap() == 1
    })
    .await;
}

/// Waits until a thread waits for the store's lock. Otherwise it sleeps in another system call.
async fn until_store_is_waited_for() {
    until("the report is at the store", async || {
        let threads = fs::read_dir("/proc/self/task").unwrap().flatten();
        let says = |thread: &Path, file| fs::read_to_string(thread.join(file)).unwrap_or_default();
        threads.map(|thread| thread.path()).any(|thread| {
            says(&thread, "comm").starts_with("sqlx-sqlite") && says(&thread, "syscall").starts_with(SLEEPS)
        })
    })
    .await;
}

async fn start(channel: Channel) -> Status {
    let mut request = Request::new(v1::ExecutionServiceStartRequest { spec: Some(spec("pwd")) });
    request.metadata_mut().insert("authorization", "Bearer executor".parse().unwrap());
    ExecutionServiceClient::new(channel).start(request).await.unwrap_err()
}

/// Returns the outcome of a view.
async fn end_of(mut view: RunStream) -> Outcome {
    loop {
        match view.message().await {
            Ok(Some(_)) => {}
            Ok(None) => return Status::ok("").into(),
            Err(status) => return status.into(),
        }
    }
}

/// Returns the state, whether the lease is held, and the number of closed audit entries.
async fn row(store: &mut SqliteConnection, id: ExecutionId) -> (String, bool, i64) {
    let query = "SELECT state, lease_until > CAST(unixepoch('subsec') * 1000000 AS INTEGER), \
        (SELECT count(*) FROM audit_closed WHERE audit_closed.execution_id = executions.id) \
        FROM executions WHERE id = ?";
    sqlx::query_as(query).bind(id.to_string()).fetch_one(store).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_takes_its_steps_in_their_order() {
    let collector = Collector::default();
    let endpoint = collector.listen().await;
    let more = format!("[telemetry]\notlp_endpoint = \"{endpoint}\"\nmetrics_interval = \"1h\"\n");
    let world = World::installed(&more).await;
    let mut link = link_up(&world).await;
    let (ending_view, ending) = link.run(&world, spec("pwd"), None).await;
    let (running_view, running) = link.run(&world, spec("ls"), None).await;
    let client = world.plain();
    let mut health = HealthClient::new(client.clone());
    let mut watch = health.watch(HealthCheckRequest::default()).await.unwrap().into_inner();
    assert_eq!(watch.message().await.unwrap().unwrap().status(), ServingStatus::Serving);
    let (mut lock, mut store) = (store(&world).await, store(&world).await);
    until_announced(&mut store).await;
    sqlx::query("BEGIN IMMEDIATE").execute(&mut lock).await.unwrap();
    link.ended(&ending, 0).await;
    until_store_is_waited_for().await;

    let stop = tokio::spawn(world.server.shut_down());
    assert_eq!(watch.message().await.unwrap().unwrap().status(), ServingStatus::NotServing, "the first step");
    for view in [ending_view, running_view] {
        let end = timeout(PATIENCE, end_of(view)).await.unwrap();
        assert!(
            end.is(Code::Unavailable, "SHUTTING_DOWN"),
            "a view ends with a status from which a client can resume: {end:?}"
        );
    }
    let refused: Outcome = start(client).await.into();
    assert!(refused.is(Code::Unavailable, "SHUTTING_DOWN"), "no new work is accepted: {refused:?}");
    let link = tokio::spawn(link.end());
    for id in [ending.execution_id, running.execution_id] {
        assert_eq!(
            row(&mut store, id).await,
            ("RUNNING".to_owned(), true, 0),
            "the result is not written, so the lease is not handed over"
        );
    }
    assert!(!link.is_finished() && !stop.is_finished(), "links are not closed earlier");

    sqlx::query("ROLLBACK").execute(&mut lock).await.unwrap();
    let end = timeout(PATIENCE, link).await.unwrap().unwrap();
    assert_eq!(end.code, Code::Unavailable, "{end:?}");
    // The end of the link shows that this step has completed.
    assert_eq!(row(&mut store, ending.execution_id).await.0, "FINISHED", "a reported end is written");
    assert_eq!(row(&mut store, ending.execution_id).await.2, 1, "and its audit entry is closed");
    assert_eq!(row(&mut store, running.execution_id).await, ("RUNNING".to_owned(), false, 0), "handed over");
    timeout(PATIENCE, stop).await.unwrap().unwrap();
    let spans: Vec<String> = collector.spans().into_iter().map(|span| span.name).collect();
    for name in ["airlock.v1.ExecutionService/Run", "airlock.v1.ExecutionService/Start"] {
        assert!(spans.iter().any(|span| span == name), "the last spans are sent: no `{name}` in {spans:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_whose_steps_hang_ends_all_the_same() {
    // It accepts connections and never responds.
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", silent.local_addr().unwrap());
    let more = format!("[limits]\nshutdown_grace = \"1s\"\n[telemetry]\notlp_endpoint = \"{endpoint}\"\n");
    let world = World::installed(&more).await;
    let mut link = link_up(&world).await;
    // Neither the view nor the link is read from here on.
    let (_view, job) = link.run(&world, spec("pwd"), None).await;
    let mut lock = store(&world).await;
    sqlx::query("BEGIN EXCLUSIVE").execute(&mut lock).await.unwrap();
    link.ended(&job, 0).await;
    let address = world.server.local_addr();
    timeout(PATIENCE, world.server.shut_down()).await.expect("every step has a bound");
    assert!(TcpStream::connect(address).await.is_err(), "nobody listens");
    sqlx::query("ROLLBACK").execute(&mut lock).await.unwrap();
    let (state, _, closed) = row(&mut lock, job.execution_id).await;
    assert!(
        (state.as_str(), closed) == ("RUNNING", 0) || (state.as_str(), closed) == ("FINISHED", 1),
        "{state} {closed}"
    );
}
