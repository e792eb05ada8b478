//! Tests of the upstream proxy: the targets that the proxy requests from it, and the targets that it must not request.

use std::sync::{Arc, Mutex};

use airlock_egress::{Outcome, Upstream};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    task::JoinSet,
};

use crate::fixture::{Fixture, LISTED, allow, head_of, soon, status};

/// An upstream proxy that answers each CONNECT with these bytes, and records the requests.
struct Proxy {
    port: u16,
    seen: Arc<Mutex<Vec<String>>>,
    _tasks: JoinSet<()>,
}

impl Proxy {
    async fn start(answer: &'static [u8]) -> Self {
        let listener = TcpListener::bind((LISTED, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let record = Arc::clone(&seen);
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut open = Vec::new();
            while let Ok((mut stream, _)) = listener.accept().await {
                let head = head_of(&mut stream).await;
                record.lock().unwrap().push(head);
                let _ = stream.write_all(answer).await;
                open.push(stream);
            }
        });
        Self { port, seen, _tasks: tasks }
    }

    fn fixture(&self, resolves: bool) -> Fixture {
        let address = format!("http://{LISTED}:{}", self.port);
        Fixture::behind(Upstream::new(&address, Some(b"user:hunter22"), resolves).unwrap())
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.seen.lock().unwrap())
    }
}

const OPEN: &[u8] = b"HTTP/1.1 200 Connection established\r\n\r\nSSH-2.0-first\r\n";

#[tokio::test]
async fn the_upstream_proxy_gets_the_checked_address_or_the_name() {
    for (resolves, target, expected) in [
        (false, "web.test:22", Some("127.0.0.1:22")),
        (true, "web.test:22", Some("web.test:22")),
        // Only the upstream proxy may know it.
        (true, "unknown.test:22", Some("unknown.test:22")),
        (false, "unknown.test:22", None),
        // An address that the rules do not list is refused before the upstream proxy is asked.
        (false, "inside.test:22", None),
        (true, "inside.test:22", None),
        (true, "denied.test:22", None),
    ] {
        let proxy = Proxy::start(OPEN).await;
        let fixture = proxy.fixture(resolves);
        let names = allow(&["web.test/tcp", "unknown.test/tcp", "inside.test/tcp"], 22);
        let execution = fixture.serve(&names).await;
        let (mut stream, head) = execution.tunnel(target).await;
        assert_eq!(status(&head) == 200, expected.is_some(), "{resolves} {target}: {head}");
        let seen = proxy.take();
        let heads = expected.map(|place| {
            format!("CONNECT {place} HTTP/1.1\r\nHost: {place}\r\nProxy-Authorization: Basic dXNlcjpodW50ZXIyMg==\r\n\r\n")
        });
        assert_eq!(seen, heads.into_iter().collect::<Vec<_>>(), "{resolves} {target}");
        if expected.is_some() {
            let mut first = [0; 15];
            soon(stream.read_exact(&mut first)).await.unwrap();
            assert_eq!(&first, b"SSH-2.0-first\r\n", "the target may speak first");
        }
    }
}

#[tokio::test]
async fn an_upstream_proxy_that_refuses_is_reported() {
    static LONG: [u8; 20_000] = [b'x'; 20_000];
    for (opens, answer) in [
        (true, OPEN),
        (true, b"HTTP/1.0 200 \r\n\r\n"),
        (false, b"HTTP/1.1 403 Forbidden\r\n\r\n"),
        (false, b"HTTP/1.1 407 Who\r\n\r\n"),
        (false, b"HTTP/1.1 2000 \r\n\r\n"),
        (false, b"HTTP/2 200\r\n\r\n"),
        (false, b"SSH-2.0\r\n\r\n"),
        (false, &LONG),
    ] {
        let proxy = Proxy::start(answer).await;
        let fixture = proxy.fixture(false);
        let mut execution = fixture.serve(&allow(&["web.test/tcp"], 22)).await;
        let (stream, head) = execution.tunnel("web.test:22").await;
        let text = String::from_utf8_lossy(&answer[..answer.len().min(40)]).into_owned();
        assert_eq!(status(&head), if opens { 200 } else { 502 }, "{text}: {head}");
        drop(stream);
        if !opens {
            let report = execution.report().await;
            assert_eq!(report.outcome, Outcome::Failed);
            assert!(report.remedy.unwrap().contains("upstream"), "{text}");
        }
    }
}

#[test]
fn the_address_of_an_upstream_proxy_is_plain_and_its_credential_is_not_shown() {
    for wrong in [
        "",
        "proxy",
        "proxy:3128",
        "https://proxy:3128",
        "socks5://proxy",
        "http://user:pass@proxy",
        "http://",
        "http://proxy/path",
        "http://proxy/?q",
    ] {
        assert!(Upstream::new(wrong, None, false).is_err(), "{wrong}");
    }
    let upstream = Upstream::new("http://proxy.example", Some(b"user:hunter22"), false).unwrap();
    let shown = format!("{upstream:?}");
    assert!(shown.contains("3128") && !shown.contains("hunter22") && !shown.contains("dXNl"), "{shown}");
}
