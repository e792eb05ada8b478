//! Attempts to reach a target that the rules do not allow, by its name or by its addresses.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use airlock_egress::{Limits, Outcome};
use std::time::Duration;

use crate::{
    fixture::{Fixture, LISTED, UNLISTED, allow, rules, status},
    target::Target,
};

#[tokio::test]
async fn a_target_that_no_rule_allows_is_refused() {
    let (fixture, target) = (Fixture::new(), Target::web().await);
    let beside = target.beside(UNLISTED).await;
    let port = target.port;
    let execution = fixture.serve(&allow(&["web.test", "*.wild.test"], port)).await;
    for name in [
        "other.test",
        "inside.test",
        "xweb.test",
        "web.test.other.test",
        "a.web.test",
        "wild.test",
        "web",
        "test",
    ] {
        let answer = execution.get(&format!("http://{name}:{port}/")).await;
        assert_eq!(status(&answer), 403, "{name}: {answer}");
        assert_eq!(execution.status(&format!("{name}:{port}")).await, 403, "{name}");
    }
    assert!(fixture.answers.asked().is_empty(), "a refused name is not resolved");
    assert_eq!((target.connections(), beside.connections()), (0, 0));
    assert_eq!(status(&execution.get(&format!("http://web.test:{port}/")).await), 200, "the control");
}

#[tokio::test]
async fn another_port_is_refused() {
    let (fixture, target, other) = (Fixture::new(), Target::web().await, Target::web().await);
    let execution = fixture.serve(&allow(&["web.test/tcp"], target.port)).await;
    for port in [other.port, 80, 443, 22, 1] {
        assert_eq!(execution.status(&format!("web.test:{port}")).await, 403, "{port}");
    }
    for port in ["0", "65536", "-1", "", "+443", "4 43", "0x1bb"] {
        let head = format!("CONNECT web.test:{port} HTTP/1.1\r\n{}\r\n", execution.header());
        let answer = execution.send(head).await;
        assert!(matches!(status(&answer), 400 | 403), "{port}: {answer}");
    }
    assert_eq!(other.connections(), 0);
    assert_eq!(execution.status(&format!("web.test:{}", target.port)).await, 200, "the control");
}

#[tokio::test]
async fn spellings_of_a_refused_address_are_refused() {
    let (fixture, target) = (Fixture::new(), Target::web().await);
    let port = target.port;
    let execution = fixture.serve(&["web.test".to_owned(), format!("{LISTED}:{port}/tcp")]).await;
    let beside = target.beside(UNLISTED).await;
    for host in [
        "127.0.0.9",
        "2130706441",
        "0x7f000009",
        "0x7f.0.0.9",
        "0177.0.0.011",
        "127.9",
        "127.0.9",
        "127.0.0.9.",
        "[::ffff:127.0.0.9]",
        "[::ffff:7f00:9]",
        "[64:ff9b::7f00:9]",
        "[2002:7f00:9::]",
        "[::127.0.0.9]",
        "0.0.0.0",
        "0",
        "[::]",
        "[::1]",
        "[fe80::1%lo]",
        "[::1%25lo]",
        "169.254.169.254",
        "[fd00:ec2::254]",
        "localhost",
        "１２７.0.0.9",
    ] {
        let head = format!("CONNECT {host}:{port} HTTP/1.1\r\n{}\r\n", execution.header());
        let answer = execution.send(head).await;
        assert!(matches!(status(&answer), 400 | 403), "{host}: {answer}");
        let answer = execution.get(&format!("http://{host}:{port}/")).await;
        assert!(matches!(status(&answer), 400 | 403), "{host}: {answer}");
    }
    assert_eq!((target.connections(), beside.connections()), (0, 0));
    assert_eq!(execution.status(&format!("{LISTED}:{port}")).await, 200, "the control");
}

#[tokio::test]
async fn a_name_with_an_address_that_is_not_public_is_refused() {
    let (fixture, target) = (Fixture::new(), Target::web().await);
    let port = target.port;
    let execution = fixture.serve(&allow(&["web.test/tcp"], port)).await;
    let addresses: [IpAddr; 14] = [
        UNLISTED.into(),
        Ipv4Addr::UNSPECIFIED.into(),
        Ipv4Addr::new(10, 0, 0, 1).into(),
        Ipv4Addr::new(172, 16, 0, 1).into(),
        Ipv4Addr::new(192, 168, 0, 1).into(),
        Ipv4Addr::new(100, 64, 0, 1).into(),
        Ipv4Addr::new(169, 254, 169, 254).into(),
        Ipv4Addr::BROADCAST.into(),
        Ipv6Addr::LOCALHOST.into(),
        UNLISTED.to_ipv6_mapped().into(),
        "64:ff9b::7f00:9".parse().unwrap(),
        "2002:7f00:9::".parse().unwrap(),
        "fe80::1".parse().unwrap(),
        "fd00:ec2::254".parse().unwrap(),
    ];
    for address in addresses {
        fixture.answers.set("web.test", &[&[address]]);
        assert_eq!(execution.status(&format!("web.test:{port}")).await, 403, "{address}");
        fixture.answers.set("web.test", &[&[LISTED.into(), address]]);
        assert_eq!(execution.status(&format!("web.test:{port}")).await, 403, "mixed with {address}");
    }
    assert_eq!(target.connections(), 0);
    fixture.answers.set("web.test", &[&[LISTED.into()]]);
    assert_eq!(execution.status(&format!("web.test:{port}")).await, 200, "the control");
}

#[tokio::test]
async fn a_name_is_resolved_once_per_connection() {
    let (fixture, target) = (Fixture::new(), Target::web().await);
    let beside = target.beside(UNLISTED).await;
    let port = target.port;
    let execution = fixture.serve(&allow(&["web.test"], port)).await;
    fixture.answers.set("web.test", &[&[LISTED.into()], &[UNLISTED.into()]]);
    let answer = execution.get(&format!("http://web.test:{port}/")).await;
    assert_eq!(status(&answer), 200, "the checked address was used: {answer}");
    assert_eq!(fixture.answers.asked(), ["web.test"]);
    assert_eq!((target.connections(), beside.connections()), (1, 0));
    // The next request gets the second answer, and it is checked, too.
    assert_eq!(status(&execution.get(&format!("http://web.test:{port}/")).await), 403);
    assert_eq!(beside.connections(), 0);
}

#[tokio::test]
async fn a_redirect_to_an_internal_address_is_refused() {
    let fixture = Fixture::new();
    let inside = Target::web().await;
    let location = format!("http://{UNLISTED}:{}/", inside.port);
    let redirect = format!(
        "HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    );
    let target = Target::answers(&redirect).await;
    let execution = fixture.serve(&allow(&["web.test"], target.port)).await;
    let answer = execution.get(&format!("http://web.test:{}/", target.port)).await;
    assert_eq!(status(&answer), 302, "the control");
    assert!(answer.contains(&location));
    assert_eq!(status(&execution.get(&location).await), 403);
    assert_eq!(inside.connections(), 0);
}

#[tokio::test]
async fn names_are_normalized_before_they_are_compared() {
    let (fixture, target) = (Fixture::new(), Target::web().await);
    let port = target.port;
    let execution = fixture.serve(&allow(&["web.test"], port)).await;
    let deny = [format!("other.test:{port}")];
    execution.layers.send(rules(&allow(&["web.test", "other.test"], port), &deny)).unwrap();
    for name in ["other.test", "OTHER.test", "other.test.", "Other.Test."] {
        let answer = execution.get(&format!("http://{name}:{port}/")).await;
        assert!(matches!(status(&answer), 400 | 403), "{name}: {answer}");
    }
    assert_eq!(target.connections(), 0);
    for name in ["web.test", "WEB.test", "web.test."] {
        let answer = execution.get(&format!("http://{name}:{port}/")).await;
        assert_eq!(status(&answer), 200, "the control: {name}: {answer}");
    }
    assert_eq!(fixture.answers.asked(), ["web.test"; 3]);
}

#[tokio::test]
async fn a_resolver_without_an_answer_does_not_hold_a_request() {
    let limits = Limits { connect: Duration::from_millis(200), lookups: 1, ..Limits::default() };
    let (fixture, target) = (Fixture::with(limits), Target::web().await);
    let port = target.port;
    let mut execution = fixture.serve(&allow(&["web.test", "never.test", "none.test"], port)).await;
    assert_eq!(status(&execution.get(&format!("http://never.test:{port}/")).await), 504);
    assert_eq!(execution.report().await.outcome, Outcome::Failed);
    assert_eq!(status(&execution.get(&format!("http://none.test:{port}/")).await), 502);
    assert_eq!(status(&execution.get(&format!("http://web.test:{port}/")).await), 200, "the control");
}

#[tokio::test]
async fn only_some_addresses_of_a_name_are_used() {
    let limits = Limits { addresses: 2, ..Limits::default() };
    let (fixture, target) = (Fixture::with(limits), Target::web().await);
    let port = target.port;
    let execution = fixture.serve(&allow(&["web.test"], port)).await;
    let many = vec![IpAddr::from(LISTED); 10_000];
    fixture.answers.set("web.test", &[&many]);
    assert_eq!(status(&execution.get(&format!("http://web.test:{port}/")).await), 200);
    // An address that is cut off is not used either.
    fixture.answers.set("web.test", &[&[LISTED.into(), LISTED.into(), UNLISTED.into()]]);
    assert_eq!(status(&execution.get(&format!("http://web.test:{port}/")).await), 200);
    assert_eq!(target.connections(), 2);
}

#[tokio::test]
async fn every_layer_must_allow_a_target() {
    use std::sync::Arc;

    use airlock_network::{Layer, LayerName, Layers, Rules};
    let (fixture, target) = (Fixture::new(), Target::web().await);
    let port = target.port;
    let execution = fixture.serve(&allow(&["web.test"], port)).await;
    let url = format!("http://web.test:{port}/");
    let layer =
        |name, names: &[&str]| Layer { name, rules: Rules::parse(false, &allow(names, port), &[]).unwrap() };
    let (both, one): (&[&str], &[&str]) = (&["web.test", "other.test"], &["other.test"]);
    let layers = |request| {
        let layers = vec![layer(LayerName::Profile, both), layer(LayerName::Request, request)];
        Arc::new(Layers::new(layers))
    };
    execution.layers.send(layers(one)).unwrap();
    let answer = execution.get(&url).await;
    assert_eq!(status(&answer), 403);
    assert!(answer.contains("request"), "the answer names the layer: {answer}");
    execution.layers.send(Arc::new(Layers::new(Vec::new()))).unwrap();
    assert_eq!(status(&execution.get(&url).await), 403, "no layer allows nothing");
    execution.layers.send(layers(both)).unwrap();
    assert_eq!(status(&execution.get(&url).await), 200, "the control");
}
