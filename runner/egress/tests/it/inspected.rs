//! The inspection of TLS: who is inspected, which requests pass, and which certificates are accepted.

use std::sync::Arc;

use airlock_egress::{Inspection, Outcome, Trust};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::{
    fixture::{Execution, Fixture, allow, soon, status},
    site::{Reply, Site, ask, authority, handshake, request_rules},
};

fn inspection(site: &Site, rules: &[&str]) -> Arc<Inspection> {
    Arc::new(Inspection::new(site.trust(), request_rules(rules, site.port), Vec::new()).unwrap())
}

async fn prepared(rules: &[&str]) -> (Fixture, Site, Execution, Arc<Inspection>) {
    let (fixture, site) = (Fixture::new(), Site::start(Reply::Reflect).await);
    let inspection = inspection(&site, rules);
    let execution = fixture.inspect(&allow(&["web.test", "other.test"], site.port), &inspection).await;
    (fixture, site, execution, inspection)
}

#[tokio::test]
async fn only_permitted_requests_reach_an_inspected_host() {
    let (_fixture, site, mut execution, inspection) =
        prepared(&["GET,HEAD web.test:PORT/repos/", "POST web.test:PORT/search"]).await;
    let target = format!("web.test:{}", site.port);
    for (passes, line, header) in [
        (true, "GET /repos/a", ""),
        (true, "GET /repos/a?x=/../y", ""),
        (true, "POST /search", "Content-Length: 0\r\n"),
        (false, "POST /repos/a", "Content-Length: 0\r\n"),
        (false, "DELETE /repos/a", ""),
        (false, "get /repos/a", ""),
        (false, "GET /search", ""),
        (false, "GET /", ""),
        (false, "GET /repos/../admin", ""),
        (false, "GET /repos/%2e%2e/admin", ""),
        (false, "GET /repos/..%2fadmin", ""),
        (false, "GET /repos/a", "X-HTTP-Method-Override: DELETE\r\n"),
        (false, "GET /repos/a", "x-original-url: /admin\r\n"),
    ] {
        let request = format!("{line} HTTP/1.1\r\nHost: {target}\r\n{header}Connection: close\r\n\r\n");
        let answer = ask(&execution, &inspection, &target, &request).await;
        let expected = if passes { 200 } else { 403 };
        assert_eq!(status(&answer), expected, "{line} {header}: {answer}");
        assert_eq!(site.take().is_empty(), !passes, "{line} {header}");
        let report = execution.report().await;
        assert_eq!(report.outcome, if passes { Outcome::Allowed } else { Outcome::Refused }, "{line}");
        assert!(!format!("{report:?}").contains("admin"), "a report contains no path: {report:?}");
        if !passes {
            assert!(answer.contains("remedy: "), "{answer}");
        }
    }
}

#[tokio::test]
async fn a_tunnel_has_one_host() {
    let (_fixture, site, execution, inspection) = prepared(&["web.test:PORT", "other.test:PORT"]).await;
    let target = format!("web.test:{}", site.port);
    let port = site.port;
    for (passes, label, head) in [
        (true, "the same host", format!("GET / HTTP/1.1\r\nHost: {target}\r\n")),
        (true, "without its port", "GET / HTTP/1.1\r\nHost: WEB.test\r\n".to_owned()),
        (false, "another host", format!("GET / HTTP/1.1\r\nHost: other.test:{port}\r\n")),
        (false, "another port", "GET / HTTP/1.1\r\nHost: web.test:1\r\n".to_owned()),
        (false, "no host", "GET / HTTP/1.1\r\n".to_owned()),
        (false, "two hosts", format!("GET / HTTP/1.1\r\nHost: {target}\r\nHost: {target}\r\n")),
        (false, "absolute", format!("GET http://other.test:{port}/ HTTP/1.1\r\nHost: other.test:{port}\r\n")),
        (false, "absolute, the same", format!("GET https://{target}/ HTTP/1.1\r\nHost: {target}\r\n")),
        (false, "a tunnel", format!("CONNECT other.test:{port} HTTP/1.1\r\nHost: other.test:{port}\r\n")),
        (
            false,
            "two lengths",
            format!(
                "POST / HTTP/1.1\r\nHost: {target}\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n"
            ),
        ),
    ] {
        let request = format!("{head}Connection: close\r\n\r\n");
        let answer = ask(&execution, &inspection, &target, &request).await;
        assert_eq!(status(&answer), if passes { 200 } else { 400 }, "{label}: {answer}");
        let seen = site.take();
        assert_eq!(seen.contains(&format!("host: {target}\r\n")), passes, "{label}: {seen}");
        assert_eq!(seen.is_empty(), !passes, "{label}");
    }
}

#[tokio::test]
async fn an_upgrade_and_http2_do_not_leave_the_inspection() {
    let (_fixture, site, execution, inspection) = prepared(&["web.test:PORT"]).await;
    let target = format!("web.test:{}", site.port);
    let request = format!(
        "GET / HTTP/1.1\r\nHost: {target}\r\nConnection: upgrade, close\r\nUpgrade: websocket\r\n\r\n"
    );
    ask(&execution, &inspection, &target, &request).await;
    assert!(!site.take().contains("upgrade"), "the target sees no upgrade");
    for (works, alpn) in [(true, &["h2", "http/1.1"][..]), (false, &["h2"])] {
        let (stream, _) = execution.tunnel(&target).await;
        let stream = handshake(stream, &authority(&inspection), "web.test", alpn).await;
        assert_eq!(stream.is_some(), works, "{alpn:?}");
        if let Some(stream) = stream {
            assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"http/1.1"[..]));
        }
    }
}

#[tokio::test]
async fn neither_plain_http_nor_a_raw_entry_avoids_the_inspection() {
    let (fixture, site) = (Fixture::new(), Site::start(Reply::Reflect).await);
    let inspection = inspection(&site, &["GET web.test:PORT/allowed"]);
    let execution = fixture.inspect(&allow(&["web.test/tcp"], site.port), &inspection).await;
    let target = format!("web.test:{}", site.port);
    let answer = execution.get(&format!("http://{target}/other")).await;
    assert_eq!(status(&answer), 403, "{answer}");
    // Bytes that are neither TLS nor HTTP would pass a raw tunnel.
    let (mut stream, _) = execution.tunnel(&target).await;
    stream.write_all(b"\x00raw").await.unwrap();
    let mut rest = Vec::new();
    let _ = soon(stream.read_to_end(&mut rest)).await;
    assert!(rest.is_empty() && site.take().is_empty());
    // The handshake names another host of the same server.
    let (stream, _) = execution.tunnel(&target).await;
    assert!(handshake(stream, &authority(&inspection), "other.test", &[]).await.is_none());
    // The control: without the inspection, the raw tunnel passes.
    let raw = fixture.serve(&allow(&["web.test/tcp"], site.port)).await;
    let (stream, _) = raw.tunnel(&target).await;
    assert!(handshake(stream, std::slice::from_ref(&site.authority), "web.test", &[]).await.is_some());
}

#[tokio::test]
async fn other_hosts_are_not_decrypted() {
    let (_fixture, site, execution, inspection) = prepared(&["web.test:PORT"]).await;
    let target = format!("other.test:{}", site.port);
    let (stream, _) = execution.tunnel(&target).await;
    assert!(handshake(stream, &authority(&inspection), "other.test", &[]).await.is_none());
    let (stream, _) = execution.tunnel(&target).await;
    let site_only = std::slice::from_ref(&site.authority);
    assert!(handshake(stream, site_only, "other.test", &[]).await.is_some());
}

#[tokio::test]
async fn a_target_with_a_wrong_certificate_gets_no_request() {
    let (fixture, site) = (Fixture::new(), Site::start(Reply::Reflect).await);
    fixture.answers.set("unnamed.test", &[&[crate::fixture::LISTED.into()]]);
    let stranger = Site::start(Reply::Reflect).await;
    let request = |target: &str| format!("GET / HTTP/1.1\r\nHost: {target}\r\nConnection: close\r\n\r\n");
    let rules = &["web.test:PORT", "unnamed.test:PORT"];
    for (passes, label, trust, name) in [
        (true, "the control", site.trust(), "web.test"),
        (false, "another authority", stranger.trust(), "web.test"),
        (false, "a name that the certificate lacks", site.trust(), "unnamed.test"),
    ] {
        let made = Inspection::new(trust, request_rules(rules, site.port), Vec::new());
        let inspection = Arc::new(made.unwrap());
        let mut execution = fixture.inspect(&allow(&[name], site.port), &inspection).await;
        let target = format!("{name}:{}", site.port);
        let answer = ask(&execution, &inspection, &target, &request(&target)).await;
        assert_eq!(status(&answer), if passes { 200 } else { 502 }, "{label}: {answer}");
        assert_eq!(site.take().is_empty(), !passes, "{label}");
        let expected = if passes { Outcome::Allowed } else { Outcome::Failed };
        assert_eq!(execution.report().await.outcome, expected, "{label}");
    }
    assert!(Trust::new(&[]).is_err(), "nothing would be verified");
}

#[tokio::test]
async fn each_execution_has_an_authority_of_its_own() {
    let (fixture, site, execution, inspection) = prepared(&["web.test:PORT"]).await;
    let other = self::inspection(&site, &["web.test:PORT"]);
    let neighbour = fixture.inspect(&allow(&["web.test"], site.port), &other).await;
    let target = format!("web.test:{}", site.port);
    for (works, execution, trusted) in
        [(true, &execution, &inspection), (false, &execution, &other), (true, &neighbour, &other)]
    {
        let (stream, _) = execution.tunnel(&target).await;
        assert_eq!(handshake(stream, &authority(trusted), "web.test", &[]).await.is_some(), works);
    }
    assert!(!inspection.certificates().contains("PRIVATE KEY"));
}
