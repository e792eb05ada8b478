//! Tests of the shutdown: in order, in time, and without leftovers.

use std::time::Duration;

use airlock_server::{
    config::Config,
    wiring::{Options, Server, StartError},
};
use tokio::net::{TcpListener, TcpStream};
use tonic_health::pb::{
    HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient,
};

use crate::{
    PATIENCE,
    edge::{
        raw::{Outcome, call},
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
    assert!(end.is(tonic::Code::Unavailable, "SHUTTING_DOWN"), "{end:?}");
    tokio::time::timeout(PATIENCE, stop).await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_socket_and_the_store_are_free_again() {
    let world = World::with("[limits]\nshutdown_grace = \"2s\"\n").await;
    let address = world.server.local_addr();
    let channel = world.plain();
    assert_eq!(
        call(&channel, "/airlock.v1.SessionService/List", "executor", b"").await.code,
        tonic::Code::Ok
    );
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
    let options = Options { listener: Some(listener), ..Options::default() };
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
    assert_eq!(outcome.code, tonic::Code::Ok, "{outcome:?}");
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

    let mut no_profile = world.config.clone();
    no_profile.profiles.default = "nowhere".to_owned();
    let error = Server::start(no_profile).await.err().unwrap().to_string();
    assert!(error.contains("the profile `nowhere` does not exist") && error.contains("strict"), "{error}");
    world.server.shut_down().await;
}
