//! The report of each connection, and the answer to a refused one.

use airlock_egress::{Outcome, Protocol};
use airlock_network::LayerName;
use tokio::io::AsyncWriteExt;

use crate::{
    fixture::{Fixture, UNLISTED, allow, rules, status},
    target::Target,
};

#[tokio::test]
async fn a_refusal_names_the_target_the_rule_and_the_remedy() {
    let (fixture, target) = (Fixture::new(), Target::web().await);
    let port = target.port;
    let mut execution = fixture.serve(&allow(&["web.test", "inside.test"], port)).await;
    let deny = [format!("web.test:{port}")];
    execution.layers.send(rules(&allow(&["web.test", "inside.test"], port), &deny)).unwrap();
    for (name, expected) in [("other.test", "no rule"), ("web.test", &deny[0]), ("inside.test", "127.0.0.9")]
    {
        let answer = execution.get(&format!("http://{name}:{port}/")).await;
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert_eq!(status(head), 403);
        assert!(head.contains("content-type: text/plain"), "{head}");
        assert!(head.contains(&format!("x-airlock-refused: {name}:{port} ")), "{head}");
        assert!(
            head.lines().next().unwrap().starts_with(&format!("HTTP/1.1 403 airlock refused {name}:{port} "))
        );
        let lines: Vec<&str> = body.lines().collect();
        assert_eq!(lines.len(), 3, "{body}");
        assert!(lines[0].starts_with(&format!("refused: {name}:{port}")), "{body}");
        assert!(lines[1].starts_with("by: ") && lines[1].contains("profile"), "{body}");
        assert!(lines[2].starts_with("remedy: ") && lines[2].len() > 10, "{body}");
        assert!(body.contains(expected), "{body}");

        let report = execution.report().await;
        assert_eq!((report.host.as_str(), report.port), (name, port));
        assert_eq!((report.outcome, report.protocol), (Outcome::Refused, Protocol::Http));
        assert_eq!(report.layer, Some(LayerName::Profile));
        assert_eq!(format!("remedy: {}", report.remedy.unwrap()), lines[2]);
        assert_eq!((report.bytes_up, report.bytes_down), (0, 0));
    }
    let (_, head) = execution.tunnel(&format!("other.test:{port}")).await;
    assert!(head.starts_with(&format!("HTTP/1.1 403 airlock refused other.test:{port} ")), "{head}");
    assert_eq!(execution.report().await.protocol, Protocol::Connect);
}

#[tokio::test]
async fn long_and_strange_names_are_cut_in_answers_and_reports() {
    let (fixture, target) = (Fixture::new(), Target::web().await);
    let mut execution = fixture.serve(&allow(&["web.test"], target.port)).await;
    for host in
        ["a".repeat(60_000), format!("{}.test", "a".repeat(240)), "xn--a".to_owned(), "a..b".to_owned()]
    {
        let head = format!("CONNECT {host}:443 HTTP/1.1\r\n{}\r\n", execution.header());
        let answer = execution.send(head).await;
        assert!(matches!(status(&answer), 400 | 403), "{answer}");
        assert!(answer.lines().next().unwrap().len() < 300, "{answer}");
        let report = execution.report().await;
        assert_eq!(report.outcome, Outcome::Refused);
        assert!(report.host.len() <= 253, "{}", report.host);
    }
}

#[tokio::test]
async fn a_report_contains_bytes_and_no_contents() {
    let (fixture, target) = (Fixture::new(), Target::web().await);
    let port = target.port;
    let mut execution = fixture.serve(&allow(&["web.test"], port)).await;
    let head = format!(
        "GET http://web.test:{port}/canary-path?canary-query HTTP/1.1\r\nCookie: canary-cookie\r\n{}\
         Connection: close\r\n\r\n",
        execution.header()
    );
    let answer = execution.send(head).await;
    assert_eq!(status(&answer), 200);
    let report = execution.report().await;
    assert_eq!((report.host.as_str(), report.port, report.outcome), ("web.test", port, Outcome::Allowed));
    assert_eq!(report.rule, Some(format!("web.test:{port}")));
    assert_eq!((report.layer, &report.remedy), (None, &None));
    assert_eq!(report.bytes_up, u64::try_from(target.bytes().len()).unwrap());
    assert!(report.bytes_down > 5 && report.duration.as_nanos() > 0);
    let text = format!("{report:?}");
    assert!(!text.contains("canary") && !text.contains(execution.token.expose()), "{text}");
    assert!(
        target.received().contains("canary-path") && target.received().contains("canary-cookie"),
        "the control"
    );
    // An invalid target is reported, too, without the rest of its URL.
    let head =
        format!("GET http://a..b:1/canary HTTP/1.1\r\n{}Connection: close\r\n\r\n", execution.header());
    execution.send(head).await;
    let text = format!("{:?}", execution.report().await);
    assert!(text.contains("a..b") && !text.contains("canary"), "{text}");
}

#[tokio::test]
async fn a_failed_connection_is_reported() {
    let (fixture, target) = (Fixture::new(), Target::web().await);
    let port = target.port;
    drop(target);
    let mut execution = fixture.serve(&allow(&["web.test"], port)).await;
    let answer = execution.get(&format!("http://web.test:{port}/")).await;
    assert!(answer.starts_with("HTTP/1.1 502 the target refused the connection\r\n"), "{answer}");
    let report = execution.report().await;
    assert_eq!(report.outcome, Outcome::Failed);
    assert_eq!(report.remedy.as_deref(), Some("the target refused the connection"));
}

#[tokio::test]
async fn a_full_queue_of_reports_delays_nothing() {
    let (fixture, target) = (Fixture::new(), Target::web().await);
    let port = target.port;
    let execution = fixture.start(&allow(&["web.test"], port), false, 2).await;
    for _ in 0..5 {
        let answer = execution.get(&format!("http://{UNLISTED}:{port}/")).await;
        assert_eq!(status(&answer), 403);
    }
    assert_eq!(execution.events.dropped(), 3);
}

#[tokio::test]
async fn a_cancelled_connection_is_reported() {
    let (fixture, target) = (Fixture::new(), Target::echo().await);
    let mut execution = fixture.serve(&allow(&["web.test/tcp"], target.port)).await;
    let (mut stream, _) = execution.tunnel(&format!("web.test:{}", target.port)).await;
    stream.write_all(b"ping").await.unwrap();
    let mut echoed = [0; 4];
    crate::fixture::soon(tokio::io::AsyncReadExt::read_exact(&mut stream, &mut echoed)).await.unwrap();
    execution.cancel.cancel();
    let report = execution.report().await;
    assert_eq!((report.outcome, report.bytes_up, report.bytes_down), (Outcome::Allowed, 4, 4));
}
