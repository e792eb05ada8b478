//! A value is kept for a bounded time, read again before this time ends, and dropped when the server no longer gives it.

use std::{
    io,
    sync::{Arc, Mutex},
    time::Duration,
};

use airlock_vault::{Place, Settings, Vault, VaultError};
use tokio::time;

use crate::fixture::{READ, Server, TOKEN, VALUE, place, read};

async fn after(seconds: u64) {
    time::pause();
    time::advance(Duration::from_secs(seconds)).await;
    time::resume();
}

#[tokio::test]
async fn a_value_is_read_again_before_its_time_ends() {
    let server = Server::start().await;
    let vault = Vault::new(server.settings());
    for (seconds, requests) in [(0, 1), (30, 0), (15, 1), (30, 0), (120, 1)] {
        after(seconds).await;
        assert_eq!(read(&vault).await.unwrap(), VALUE);
        assert_eq!(server.lines().len(), requests, "after {seconds} s");
    }
}

#[tokio::test]
async fn a_kept_value_bridges_a_failure_of_the_server_until_its_time_ends() {
    let server = Server::start().await;
    let vault = Vault::new(server.settings());
    assert_eq!(read(&vault).await.unwrap(), VALUE);
    server.state().instead = Some((503, "{}".to_owned()));
    after(50).await;
    assert_eq!(read(&vault).await.unwrap(), VALUE);
    assert_eq!(server.lines(), [READ, READ], "it was requested again");
    after(15).await;
    assert!(matches!(read(&vault).await, Err(VaultError::Unavailable(503))));
}

/// A log in memory.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn no_line_of_the_log_contains_a_secret() {
    let log = Log::default();
    let lines = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing_subscriber::filter::LevelFilter::TRACE)
        .with_writer(move || lines.clone())
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let server = Server::start().await;
    let vault = Vault::new(server.settings());
    assert_eq!(read(&vault).await.unwrap(), VALUE);
    server.state().instead = Some((503, format!("{VALUE} {TOKEN}")));
    after(50).await;
    assert_eq!(read(&vault).await.unwrap(), VALUE);
    let text = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(text.contains("its kept value is used"), "{text}");
    assert!(!text.contains(VALUE) && !text.contains(TOKEN) && !text.contains("team/api"), "{text}");
}

#[tokio::test]
async fn a_value_that_is_revoked_is_dropped() {
    for status in [403, 404] {
        let server = Server::start().await;
        let vault = Vault::new(server.settings());
        assert_eq!(read(&vault).await.unwrap(), VALUE);
        server.state().instead = Some((status, "{}".to_owned()));
        after(50).await;
        assert!(read(&vault).await.is_err(), "{status}");
        // Also for later failures that would permit a kept value.
        server.state().instead = Some((503, "{}".to_owned()));
        assert!(read(&vault).await.is_err(), "{status}");
    }
}

#[tokio::test]
async fn a_shorter_lease_shortens_the_time() {
    let server = Server::start().await;
    let vault = Vault::new(server.settings());
    let first = Place::new("kv", "team/api", "token", 1).unwrap();
    for (lease, requests) in [(12, 1), (2_764_800, 0)] {
        server.state().lease = lease;
        assert_eq!(*vault.read(&first).await.unwrap(), VALUE);
        after(10).await;
        server.lines();
        assert_eq!(*vault.read(&first).await.unwrap(), VALUE);
        assert_eq!(server.lines().len(), requests, "lease {lease}");
        after(100).await;
    }
}

#[tokio::test]
async fn reads_at_the_same_time_share_one_request() {
    let server = Server::start().await;
    let vault = Vault::new(server.settings());
    let (one, other) = (place(), Place::new("secret", "team/api", "other", 2).unwrap());
    let (a, b, c, d) = tokio::join!(vault.read(&one), vault.read(&one), vault.read(&other), vault.read(&one));
    for value in [a, b, d] {
        assert_eq!(*value.unwrap(), VALUE);
    }
    assert_eq!(*c.unwrap(), "another");
    assert_eq!(server.lines(), [READ, READ], "one for each place");
}

#[tokio::test]
async fn without_a_time_nothing_is_kept() {
    let server = Server::start().await;
    let vault = Vault::new(Settings { cache: Duration::ZERO, ..server.settings() });
    for _ in 0..2 {
        assert_eq!(read(&vault).await.unwrap(), VALUE);
    }
    assert_eq!(server.lines(), [READ, READ]);
}
