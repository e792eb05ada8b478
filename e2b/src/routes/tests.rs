//! Tests of requests without a server: who may call what.

use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use base64::{Engine as _, engine::general_purpose::STANDARD_NO_PAD};
use bytes::Bytes;
use http::HeaderMap;
use http_body_util::{BodyExt as _, Full};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::{
    account::{Account, Accounts},
    body::boxed,
    config::LimitsConfig,
    process::Processes,
    registry::Registry,
    sandbox::{Life, OnTimeout, Sandbox},
    token::AccessToken,
    watcher::Watchers,
};

const KEYS: [&str; 2] = ["e2b_one", "e2b_two"];

/// Returns a front with two API keys and one sandbox of each.
fn front() -> (Arc<Front>, Vec<Arc<Sandbox>>) {
    let accounts = Accounts::unreachable(&KEYS);
    let registry = Registry::new(LimitsConfig::default(), CancellationToken::new());
    let sandboxes: Vec<_> = KEYS.iter().map(|key| sandbox(accounts.of_key(key).unwrap())).collect();
    sandboxes.iter().for_each(|sandbox| registry.insert(sandbox));
    let templates = [("base".to_owned(), String::new())].into();
    (Arc::new(Front { accounts, registry, templates, transfers: Arc::new(Semaphore::new(1)) }), sandboxes)
}

fn sandbox(account: &Arc<Account>) -> Arc<Sandbox> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    Arc::new(Sandbox {
        id: format!("isandbox{}", NEXT.fetch_add(1, Ordering::Relaxed)),
        account: Arc::clone(account),
        session: "s".to_owned(),
        token: AccessToken::new().unwrap(),
        traffic_token: AccessToken::new().unwrap(),
        template: "base".to_owned(),
        metadata: std::collections::BTreeMap::new(),
        envs: std::collections::BTreeMap::new(),
        started: SystemTime::now(),
        on_timeout: OnTimeout::Kill,
        request: None,
        command_max: Duration::from_secs(60),
        processes: Processes::new(8),
        watchers: Watchers::new(1),
        streams: Arc::new(Semaphore::new(1)),
        life: tokio::sync::watch::Sender::new(Life::running(Duration::from_secs(60))),
        ended: CancellationToken::new(),
        place: std::sync::Mutex::default(),
    })
}

async fn send(front: &Arc<Front>, call: &str, headers: &[(&str, &str)], body: &str) -> (u16, String) {
    let (method, uri) = call.split_once(' ').unwrap();
    let mut request = Request::builder().method(method).uri(uri);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(boxed(Full::new(Bytes::copy_from_slice(body.as_bytes())))).unwrap();
    let response = Box::pin(answer(Arc::clone(front), request)).await;
    let status = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (status, String::from_utf8(body.to_vec()).unwrap())
}

#[tokio::test]
async fn an_api_key_does_not_see_the_sandboxes_of_another_one() {
    let (front, sandboxes) = front();
    let (own, foreign) = (&sandboxes[0].id, &sandboxes[1].id);
    let key = [("x-api-key", KEYS[0])];
    let (status, list) = send(&front, "GET /v2/sandboxes", &key, "").await;
    assert!(status == 200 && list.contains(own) && !list.contains(foreign), "{list}");
    for (call, body) in [
        ("GET /sandboxes/ID", ""),
        ("POST /sandboxes/ID/timeout", "{\"timeout\":1}"),
        ("POST /sandboxes/ID/refreshes", "{\"duration\":1}"),
        ("POST /sandboxes/ID/connect", "{}"),
        ("POST /v2/sandboxes/ID/connect", "{}"),
        ("POST /sandboxes/ID/resume", "{}"),
        ("POST /sandboxes/ID/pause", "{\"memory\":false}"),
        ("POST /sandboxes/ID/fork", "{}"),
        ("POST /sandboxes/ID/snapshots", "{}"),
        ("PUT /sandboxes/ID/network", "{}"),
        ("GET /sandboxes/ID/metrics", ""),
        ("GET /sandboxes/metrics?sandbox_ids=ID", ""),
        ("GET /sandboxes/ID/logs", ""),
        ("DELETE /sandboxes/ID", ""),
    ] {
        let (status, answer) = send(&front, &call.replace("ID", foreign), &key, body).await;
        assert_eq!(status, 404, "{call}: {answer}");
        // The control: the own sandbox exists. The server of the test does not.
        let (status, answer) = send(&front, &call.replace("ID", own), &key, body).await;
        assert_ne!(status, 404, "{call}: {answer}");
    }
    assert!(front.registry.by_id(foreign).is_some(), "it still runs");
}

fn signature(sandbox: &Sandbox, path: &str, operation: &str, expiration: Option<u64>) -> String {
    let mut raw = format!("{path}:{operation}::{}", sandbox.token.text());
    if let Some(expiration) = expiration {
        raw.push_str(&format!(":{expiration}"));
    }
    let digest = STANDARD_NO_PAD.encode(Sha256::digest(raw.as_bytes()));
    url::form_urlencoded::byte_serialize(format!("v1_{digest}").as_bytes()).collect()
}

#[tokio::test]
async fn a_signed_url_is_for_one_file_one_operation_and_a_time() {
    let (front, sandboxes) = front();
    let sandbox = &sandboxes[0];
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let plain = signature(sandbox, "a", "read", None);
    let (soon, past) = (now + 600, now - 1);
    let (valid, expired) =
        (signature(sandbox, "a", "read", Some(soon)), signature(sandbox, "a", "read", Some(past)));
    let foreign = format!("49983-{}.x.example", sandboxes[1].id);
    let own = format!("49983-{}.x.example", sandbox.id);
    // The server of the test does not exist, so a permitted request is answered with 503.
    for (what, call, host, expected) in [
        ("plain", format!("GET /files?path=a&signature={plain}"), "", 503),
        ("at its own host", format!("GET /files?path=a&signature={plain}"), own.as_str(), 503),
        ("at another host", format!("GET /files?path=a&signature={plain}"), foreign.as_str(), 401),
        (
            "before its time",
            format!("GET /files?path=a&signature={valid}&signature_expiration={soon}"),
            "",
            503,
        ),
        (
            "after its time",
            format!("GET /files?path=a&signature={expired}&signature_expiration={past}"),
            "",
            401,
        ),
        (
            "a later time",
            format!("GET /files?path=a&signature={expired}&signature_expiration={soon}"),
            "",
            401,
        ),
        ("without its time", format!("GET /files?path=a&signature={valid}"), "", 401),
        ("another path", format!("GET /files?path=a/../b&signature={plain}"), "", 401),
        ("another user", format!("GET /files?path=a&username=user&signature={plain}"), "", 401),
        ("another operation", format!("POST /files?path=a&signature={plain}"), "", 401),
        ("two paths", format!("GET /files?path=a&path=b&signature={plain}"), "", 401),
    ] {
        let headers: &[_] = if host.is_empty() { &[] } else { &[("host", host)] };
        let (status, answer) = send(&front, &call, headers, "").await;
        assert_eq!(status, expected, "{what}: {answer}");
    }
    sandbox.life.send_replace(Life::paused(Duration::from_secs(60)));
    let (status, _) = send(&front, &format!("GET /files?path=a&signature={plain}"), &[], "").await;
    assert_eq!(status, 502, "a paused sandbox has no files");
}

#[tokio::test]
async fn limits_are_refusals_that_the_sdks_do_not_repeat() {
    let (front, sandboxes) = front();
    let key = [("x-api-key", KEYS[0])];
    let places = Arc::clone(&sandboxes[0].account.places);
    let _all = places.acquire_many_owned(2).await.unwrap();
    let (status, answer) = send(&front, "POST /v2/sandboxes", &key, "{}").await;
    assert_eq!(status, 429, "{answer}");
    let (status, answer) = send(&front, "POST /v2/sandboxes", &key, "{\"templateID\":\"x\"}").await;
    assert_eq!(status, 404, "{answer}");
    let unsupported = [
        "{\"mcp\":{\"a\":{}}}",
        "{\"iam\":{\"tokens\":{}}}",
        "{\"volumeMounts\":[{\"name\":\"a\",\"path\":\"b\"}]}",
        "{\"autoPause\":true}",
        "{\"autoResume\":{\"enabled\":true}}",
    ];
    for body in unsupported {
        let (status, answer) = send(&front, "POST /v2/sandboxes", &key, body).await;
        assert_eq!(status, 501, "{body}: {answer}");
    }
    let sandbox = &sandboxes[0];
    let _stream = sandbox.stream().unwrap();
    let headers = [
        ("e2b-sandbox-id", sandbox.id.as_str()),
        ("x-access-token", sandbox.token.text()),
        ("content-type", "application/connect+json"),
    ];
    let start = "\u{0}\u{0}\u{0}\u{0}\u{2}{}";
    let (status, answer) = send(&front, "POST /process.Process/Start", &headers, start).await;
    let last: Value = serde_json::from_str(answer.get(5..).unwrap()).unwrap();
    assert_eq!((status, last["error"]["code"].as_str()), (200, Some("resource_exhausted")), "{answer}");
}

#[test]
fn a_sandbox_is_named_by_headers_or_by_the_host() {
    let headers = |list: &[(&'static str, &str)]| -> HeaderMap {
        list.iter()
            .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
            .collect::<HeaderMap>()
    };
    let expected = |port, sandbox: &str| Some(Target { port, sandbox: sandbox.to_owned() });
    let named = headers(&[("e2b-sandbox-id", "iabc"), ("e2b-sandbox-port", "49983")]);
    assert_eq!(target(&named, None), expected(ENVD_PORT, "iabc"));
    assert_eq!(target(&headers(&[("host", "8000-iabc.example.com:443")]), None), expected(8000, "iabc"));
    let authority = "49983-iabc.example.com".parse().unwrap();
    assert_eq!(target(&HeaderMap::new(), Some(&authority)), expected(ENVD_PORT, "iabc"));
    for (what, wrong) in [
        ("no number", headers(&[("e2b-sandbox-id", "iabc"), ("e2b-sandbox-port", "x")])),
        ("a port out of range", headers(&[("host", "70000-iabc.example.com")])),
        ("an address", headers(&[("host", "127.0.0.1:3000")])),
        ("another host", headers(&[("host", "my-server.example.com")])),
    ] {
        assert_eq!(target(&wrong, None), None, "{what}");
    }
}
