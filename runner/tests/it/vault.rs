//! Tests of secrets in Vault, with real commands. `airlock-vault` tests the requests to it.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{fs, time::Duration};

use airlock_config::OrNone;
use airlock_domain::{CancelledBy, Cause, Inspection, JobPhase, NetworkRules, Started, ToRunner};
use airlock_runner::config::{BoundSecret, VaultConfig, VaultSecret};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    sync::mpsc,
    task::JoinSet,
};

use crate::{
    fake::Manners,
    fixture::{Fixture, PATIENCE},
    inspected::{Site, VALUE, asks, with_secret},
};

/// A server with the value. It reports each request.
struct FakeVault {
    address: String,
    asked: mpsc::Receiver<String>,
    _tasks: JoinSet<()>,
}

impl FakeVault {
    /// Starts a server that answers, or one that never does.
    async fn start(answers: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let (sender, asked) = mpsc::channel(64);
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut held = Vec::new();
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut request = vec![0; 16 * 1024];
                let count = stream.read(&mut request).await.unwrap_or(0);
                request.truncate(count);
                let _ = sender.send(String::from_utf8_lossy(&request).into_owned()).await;
                let data =
                    format!("{{\"data\": {{\"data\": {{\"token\": \"{VALUE}\"}}, \"metadata\": {{}}}}}}");
                let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{data}", data.len());
                if answers {
                    let _ = stream.write_all(answer.as_bytes()).await;
                }
                held.push(stream);
            }
        });
        Self { address, asked, _tasks: tasks }
    }
}

/// Starts a runner whose secret `API_TOKEN` is in Vault, and is bound to the site.
async fn fixture(
    site: &Site,
    vault: &FakeVault,
    timeout: Duration,
    files: &airlock_mounts::ScratchDir,
) -> Fixture {
    let (ca, token_file) = (files.path().join("ca.pem"), files.path().join("token"));
    fs::write(&ca, &site.authority).unwrap();
    fs::write(&token_file, "hvs.token").unwrap();
    let vault = VaultConfig {
        address: vault.address.clone(),
        insecure_loopback: true,
        token_file,
        kubernetes_role: None,
        kubernetes_mount: "kubernetes".to_owned(),
        namespace: None,
        ca: None,
        timeout,
        cache: Duration::from_secs(60),
    };
    let place = VaultSecret {
        mount: "secret".to_owned(),
        path: "team/api".to_owned(),
        field: "token".to_owned(),
        kv_version: 2,
    };
    let bound = BoundSecret {
        file: None,
        vault: Some(place),
        requests: vec![format!("GET {}/allowed", site.address)],
        header: "authorization".to_owned(),
        aws: None,
        variable: None,
    };
    let network = NetworkRules { allow: vec![site.address.clone()], ..NetworkRules::default() };
    Fixture::with(Manners::default(), |config| {
        config.floor.network = OrNone(Some(network.into()));
        config.egress.ca = Some(ca);
        config.egress.vault = Some(vault);
        config.egress.secrets.insert("API_TOKEN".to_owned(), bound);
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_uses_a_secret_of_vault_that_it_cannot_read() {
    let (mut site, mut vault) = (Site::start().await, FakeVault::start(true).await);
    let files = airlock_mounts::ScratchDir::new();
    let mut it = fixture(&site, &vault, PATIENCE, &files).await;
    let session = it.open("").await;
    let curl = format!(
        "curl -sS --noproxy '' -H \"Authorization: Bearer $API_TOKEN\" https://{}/allowed; env",
        site.address
    );
    for _ in 0..2 {
        let answer = it.said(asks(session, &site, with_secret("API_TOKEN"), &curl)).await;
        assert!(site.seen.recv().await.unwrap().contains(&format!("authorization: Bearer {VALUE}\r\n")));
        assert!(answer.contains("airlock_placeholder_") && !answer.contains(VALUE), "{answer}");
    }
    let asked = vault.asked.recv().await.unwrap();
    assert!(asked.starts_with("GET /v1/secret/data/team/api HTTP/1.1\r\n"), "{asked}");
    assert!(asked.contains("x-vault-token: hvs.token\r\n"), "{asked}");
    assert!(vault.asked.try_recv().is_err(), "the second command uses the kept value");

    // A command without the secret does not read it.
    it.said(asks(session, &site, Inspection::default(), "true")).await;
    assert!(vault.asked.try_recv().is_err());
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_that_vault_does_not_give_stops_the_start_within_the_timeout() {
    let (site, vault) = (Site::start().await, FakeVault::start(false).await);
    let files = airlock_mounts::ScratchDir::new();
    let mut it = fixture(&site, &vault, Duration::from_millis(300), &files).await;
    let session = it.open("").await;
    let (_, result) = it.run(asks(session, &site, with_secret("API_TOKEN"), "true")).await;
    let Cause::SandboxFailed { step, message, hint } = &result.cause else { panic!("{result:?}") };
    assert_eq!(step, "secrets");
    assert!(message.contains("`API_TOKEN`") && message.contains("did not answer within 300ms"), "{message}");
    assert!(hint.contains("airlock-runner doctor"), "{hint}");
    assert_eq!(result.started, Started::No);
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_is_ended_does_not_wait_for_vault() {
    let (site, mut vault) = (Site::start().await, FakeVault::start(false).await);
    let files = airlock_mounts::ScratchDir::new();
    // The longest timeout: the test fails by its own patience before.
    let mut it = fixture(&site, &vault, 10 * PATIENCE, &files).await;
    let session = it.open("").await;
    let id = it.offer(asks(session, &site, with_secret("API_TOKEN"), "true")).await;
    vault.asked.recv().await.unwrap();
    let cause = Cause::Cancelled(CancelledBy::Client);
    it.link.send(ToRunner::EndJob { execution_id: id, cause: cause.clone() }).await;
    let result = it.job(id, JobPhase::Ended).await.result.unwrap();
    assert_eq!(result.cause, cause);
    it.shut_down().await;
}
