//! A server that is still opening its store is alive, but not ready.

use std::net::SocketAddr;

use airlock_server::{config::Config, wiring::Server};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

use crate::edge::{until, world::loopback};

/// Returns the response for `path`, or `None` if no probes are answered yet.
async fn get(address: SocketAddr, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address).await.ok()?;
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes()).await.ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.ok()?;
    Some(answer)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_whose_store_takes_long_to_open_is_alive_and_not_ready() {
    // A database that accepts connections and does not respond, as during the migrations of another server.
    let database = TcpListener::bind((loopback(), 0)).await.unwrap();
    let free = TcpListener::bind((loopback(), 0)).await.unwrap();
    let probes = free.local_addr().unwrap();
    drop(free);
    let folder = tempfile::tempdir().unwrap();
    let text = format!(
        "server_id = \"s\"\n[listen]\naddress = \"{}:0\"\nprobes = \"{probes}\"\ninsecure_loopback = true\n\
         [store.postgres]\nurl = \"postgres://airlock@{}/airlock\"\nsslmode = \"disable\"\nconnect_timeout = \"5m\"\n\
         [outputs]\ndirectory = \"{}\"\n\
         [[identity]]\nname = \"dev\"\ntenant = \"dev\"\nroles = [\"executor\"]\nmatch = \"loopback\"\n",
        loopback(),
        database.local_addr().unwrap(),
        folder.path().display(),
    );
    let starting = Server::start(Config::parse(&text, "server.toml").unwrap());
    let asked = async {
        until("the probe reports that the server is alive", async || {
            get(probes, "/healthz").await.is_some_and(|answer| answer.starts_with("HTTP/1.1 200 "))
        })
        .await;
        let ready = get(probes, "/readyz").await.unwrap();
        assert!(ready.starts_with("HTTP/1.1 503 ") && ready.contains("not open yet"), "{ready}");
    };
    tokio::select! {
        _ = starting => panic!("the store does not respond, but the server has started or stopped"),
        () = asked => {}
    }
    // The start was abandoned, so its probes must end.
    until("the probes stop when the start fails", async || get(probes, "/healthz").await.is_none()).await;
}
