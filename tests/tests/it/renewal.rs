//! All certificates, the CA and the tokens of a server, a runner and a client are replaced while commands run: no call
//! fails, no view breaks, and the runner's link remains.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a test")]

use std::{
    fs,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use airlock_client::{
    Client, ClientError, Credentials, Files, From, Patience, Settings,
    v1::{self, ExecutionSpec},
};
use airlock_tests::{
    pki::{Pair, Pki},
    process::until,
    reader::{Story, run},
    site::{PATIENCE, Site, sha256},
};
use tokio::task::JoinHandle;

const TOKEN: &str = "the-token-that-comes-after-and-is-long-enough";

/// Replaces a file atomically, as deployments do.
fn put(from: &Path, to: &Path) {
    let aside = to.with_extension("new");
    fs::copy(from, &aside).unwrap();
    fs::rename(aside, to).unwrap();
}

fn put_pair(from: &Pair, to: &Pair) {
    put(&from.certificate, &to.certificate);
    put(&from.key, &to.key);
}

fn put_text(text: &str, to: &Path) {
    let aside = to.with_extension("text");
    fs::write(&aside, text).unwrap();
    fs::rename(aside, to).unwrap();
}

/// Reports whether a server with a certificate of only this CA accepts this token.
async fn answers(settings: &Settings, pki: &Pki, token: &str) -> bool {
    let mut settings = settings.clone();
    (settings.ca, settings.files) = (Some(fs::read(pki.ca()).unwrap()), None);
    settings.credentials = Credentials::Token(token.to_owned());
    settings.patience.call = Duration::ZERO;
    match Client::connect(settings).await {
        Ok(client) => client.executions(v1::ExecutionServiceListRequest::default()).await.is_ok(),
        Err(_) => false,
    }
}

async fn until_it_is(what: &str, wanted: bool, mut is: impl AsyncFnMut() -> bool) {
    let begun = tokio::time::Instant::now();
    while is().await != wanted {
        assert!(begun.elapsed() < PATIENCE, "{what}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Calls without a pause; each call must succeed at its first attempt.
fn calls(client: Client, stop: Arc<AtomicBool>) -> (Arc<AtomicU64>, JoinHandle<Result<(), ClientError>>) {
    let done = Arc::new(AtomicU64::new(0));
    let count = done.clone();
    let task = tokio::spawn(async move {
        while !stop.load(Ordering::Relaxed) {
            client.executions(v1::ExecutionServiceListRequest::default()).await?;
            count.fetch_add(1, Ordering::Relaxed);
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Ok(())
    });
    (done, task)
}

/// Returns a client that follows its files, and does not retry.
async fn client_of(site: &Site, token_file: &Path) -> (Client, Settings, String) {
    let mut settings = site.settings();
    let Credentials::Token(token) = settings.credentials.clone() else { panic!("the agent has a token") };
    fs::write(token_file, &token).unwrap();
    settings.files =
        Some(Files { ca: Some(site.pki.ca()), token: Some(token_file.to_owned()), certificate: None });
    settings.patience = Patience { call: Duration::ZERO, ..Patience::default() };
    (Client::connect(settings.clone()).await.unwrap(), settings, token)
}

fn in_session(session: &str, command: &str) -> ExecutionSpec {
    ExecutionSpec {
        command: command.to_owned(),
        session_id: session.to_owned(),
        allow_concurrent: true,
        ..Default::default()
    }
}

/// Reads an execution to its end.
fn view_of(client: &Client, id: String) -> JoinHandle<Result<Story, ClientError>> {
    let client = client.clone();
    tokio::spawn(async move {
        let mut events = client.attach(id, From::Beginning);
        let mut story = Story::default();
        while let Some(event) = events.next().await? {
            story.take(event);
        }
        Ok(story)
    })
}

/// Deploys both CAs, then every certificate, then only the new CA. Returns the new CA.
async fn replace_authority(site: &Site, settings: &Settings, token: &str) -> Pki {
    let old = Pki::new(&site.path().join("old"));
    put(&site.pki.ca(), &old.ca());
    let new = Pki::new(&site.path().join("new"));
    let both = fs::read_to_string(old.ca()).unwrap() + &fs::read_to_string(new.ca()).unwrap();
    put_text(&both, &site.pki.ca());
    let place = |name: &str| Pair {
        certificate: site.path().join(format!("pki/{name}.pem")),
        key: site.path().join(format!("pki/{name}.key")),
    };
    put_pair(&new.issue("runner-1", &[]), &place("runner-1"));
    put_pair(&new.issue("server", &["localhost"]), &place("server"));
    let shows = async || answers(settings, &new, token).await;
    until_it_is("the new certificate is shown", true, shows).await;
    put(&new.ca(), &site.pki.ca());
    new
}

/// Adds a second token, replaces the client's file, then removes the first token.
async fn replace_token(site: &Site, settings: &Settings, client: &Client, (new, first): (&Pki, &str)) {
    let file = site.path().join("server.toml");
    let text = fs::read_to_string(&file).unwrap();
    let (before, after) = (sha256(first.as_bytes()), sha256(TOKEN.as_bytes()));
    let second = format!(
        "{text}\n[[identity]]\nname = \"agent-2\"\ntenant = \"acme\"\n\
         roles = [\"executor\", \"approver\", \"admin\"]\nprofiles = [\"sandboxed\", \"strict\"]\n\
         match = {{ token_sha256 = \"{after}\" }}\n"
    );
    put_text(&second, &file);
    until_it_is("the second token counts", true, async || answers(settings, new, TOKEN).await).await;
    put_text(TOKEN, &site.path().join("agent.token"));
    until_it_is("the client uses it", true, async || {
        let spec = ExecutionSpec { command: "true".into(), ..Default::default() };
        client.start(spec).await.unwrap().principal == "agent-2"
    })
    .await;
    put_text(&second.replace(&before, &sha256(b"nobody's")), &file);
    until_it_is("the first is nobody's", false, async || answers(settings, new, first).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_is_replaced_under_load_and_no_call_view_or_link_is_lost() {
    // The test polls with tokens that are not yet valid.
    let site = Site::with_tables("[limits]\nauthentication_failures_per_minute = 1000000\n", "");
    let (_server, runner) = (site.server(&[]), site.runner(&[]));
    site.ready().await;
    let (client, settings, token) = client_of(&site, &site.path().join("agent.token")).await;

    // A long view, and continuous calls.
    let session = client.create_session(v1::SessionServiceCreateRequest::default()).await.unwrap().session_id;
    let long = "until [ -e /workspace/enough ]; do echo line; sleep 0.01; done";
    let view = view_of(&client, client.start(in_session(&session, long)).await.unwrap().execution_id);
    let stop = Arc::new(AtomicBool::new(false));
    let (done, calling) = calls(client.clone(), stop.clone());
    until("calls continue", PATIENCE, || done.load(Ordering::Relaxed) > 10);

    let new = replace_authority(&site, &settings, &token).await;
    replace_token(&site, &settings, &client, (&new, &token)).await;

    // Operations that need new connections of the runner work: outputs and exchanges.
    let last = in_session(&session, "touch /workspace/enough; echo done");
    assert_eq!(run(&client, last).await.unwrap().stdout, b"done\n");
    let story = view.await.unwrap().unwrap();
    assert_eq!(story.exit_code(), Some(0));
    assert!(story.missing == 0 && story.stdout.starts_with(b"line\n"));
    client.stat(&session, b"/workspace/enough").await.unwrap();
    stop.store(true, Ordering::Relaxed);
    calling.await.unwrap().unwrap();
    let log = runner.output();
    assert_eq!(log.matches(" linked ").count(), 1, "the link stays: {log}");
}
