//! SOCKS5: what passes, and attempts to misuse it.

use std::net::{Ipv4Addr, Ipv6Addr};

use airlock_egress::{Outcome, Protocol};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::{
    fixture::{Execution, Fixture, LISTED, UNLISTED, allow, is_closed, rest, soon},
    target::Target,
};

const CONNECT: u8 = 1;

/// A target as SOCKS5 writes it.
fn name(name: &[u8], port: u16) -> Vec<u8> {
    let length = u8::try_from(name.len()).unwrap();
    [&[3, length], name, &port.to_be_bytes()].concat()
}

fn v4(address: Ipv4Addr, port: u16) -> Vec<u8> {
    [&[1][..], &address.octets(), &port.to_be_bytes()].concat()
}

fn v6(address: Ipv6Addr, port: u16) -> Vec<u8> {
    [&[4][..], &address.octets(), &port.to_be_bytes()].concat()
}

fn password(token: &str) -> Vec<u8> {
    let length = u8::try_from(token.len()).unwrap();
    [&b"\x01\x07airlock"[..], &[length], token.as_bytes()].concat()
}

/// Sends a request on an authenticated connection, and returns the code of the reply.
async fn ask(execution: &Execution, command: u8, target: &[u8]) -> (TcpStream, Option<u8>) {
    let mut stream = execution.connect().await;
    stream.write_all(&[5, 2, 0, 2]).await.unwrap();
    assert_eq!(read::<2>(&mut stream).await, Some([5, 2]));
    stream.write_all(&password(execution.token.expose())).await.unwrap();
    assert_eq!(read::<2>(&mut stream).await, Some([1, 0]));
    stream.write_all(&[&[5, command, 0], target].concat()).await.unwrap();
    let reply: Option<[u8; 10]> = read(&mut stream).await;
    (stream, reply.map(|reply| reply[1]))
}

async fn read<const N: usize>(stream: &mut TcpStream) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    soon(stream.read_exact(&mut bytes)).await.ok().map(|_| bytes)
}

#[tokio::test]
async fn names_and_addresses_are_decided() {
    let (fixture, target) = (Fixture::new(), Target::echo().await);
    let port = target.port;
    let beside = target.beside(UNLISTED).await;
    let mut execution =
        fixture.serve(&["web.test", &LISTED.to_string()].map(|host| format!("{host}:{port}/tcp"))).await;
    fixture.answers.set("inside.test", &[&[UNLISTED.into()]]);
    let refused: [(&str, Vec<u8>); 17] = [
        ("a name without a rule", name(b"other.test", port)),
        ("another port", name(b"web.test", port ^ 1)),
        ("port 0", name(b"web.test", 0)),
        ("an address without a rule", v4(UNLISTED, port)),
        ("the unspecified address", v4(Ipv4Addr::UNSPECIFIED, port)),
        ("the metadata address", v4(Ipv4Addr::new(169, 254, 169, 254), 80)),
        ("the IPv6 loopback", v6(Ipv6Addr::LOCALHOST, port)),
        ("a mapped address", v6(UNLISTED.to_ipv6_mapped(), port)),
        ("an address as a name", name(b"127.0.0.9", port)),
        ("a decimal address as a name", name(b"2130706441", port)),
        ("NUL in a name", name(b"web.test\0.other.test", port)),
        ("NUL at the end of a name", name(b"web.test\0", port)),
        ("a line end in a name", name(b"web.test\r\nX: a", port)),
        ("a port in a name", name(format!("web.test:{port}").as_bytes(), port)),
        ("an empty name", name(b"", port)),
        ("a name that is not UTF-8", name(b"web.test\xff", port)),
        ("a zone in a name", name(b"fe80::1%lo", port)),
    ];
    for (label, bytes) in refused {
        let (mut stream, code) = ask(&execution, CONNECT, &bytes).await;
        assert_eq!(code, Some(2), "{label}");
        assert!(is_closed(&mut stream).await, "{label}");
    }
    assert_eq!((target.connections(), beside.connections()), (0, 0));
    while execution.reports.try_recv().is_ok() {}
    for (label, bytes) in [
        ("a name", name(b"web.test", port)),
        ("a name in upper case", name(b"WEB.TEST", port)),
        ("an address", v4(LISTED, port)),
        ("a mapped address", v6(LISTED.to_ipv6_mapped(), port)),
    ] {
        let (mut stream, code) = ask(&execution, CONNECT, &bytes).await;
        assert_eq!(code, Some(0), "the control: {label}");
        stream.write_all(b"ping").await.unwrap();
        assert_eq!(read(&mut stream).await.as_ref(), Some(b"ping"), "{label}");
        drop(stream);
        let report = execution.report().await;
        assert_eq!((report.outcome, report.protocol), (Outcome::Allowed, Protocol::Socks5), "{label}");
        assert_eq!((report.bytes_up, report.bytes_down), (4, 4), "{label}");
    }
}

#[tokio::test]
async fn a_name_with_a_refused_address_gets_the_code_of_a_refusal() {
    let (fixture, target) = (Fixture::new(), Target::echo().await);
    let port = target.port;
    let execution = fixture.serve(&allow(&["web.test/tcp", "inside.test/tcp", "none.test/tcp"], port)).await;
    assert_eq!(ask(&execution, CONNECT, &name(b"inside.test", port)).await.1, Some(2));
    assert_eq!(ask(&execution, CONNECT, &name(b"none.test", port)).await.1, Some(4));
    assert_eq!(ask(&execution, CONNECT, &name(b"web.test", port)).await.1, Some(0), "the control");
    drop(target);
    assert_eq!(ask(&execution, CONNECT, &name(b"web.test", port)).await.1, Some(5));
}

#[tokio::test]
async fn other_commands_are_refused() {
    let (fixture, target) = (Fixture::new(), Target::echo().await);
    let execution = fixture.serve(&allow(&["web.test/tcp"], target.port)).await;
    for (label, command) in [("BIND", 2), ("UDP ASSOCIATE", 3), ("RESOLVE", 0xf0), ("none", 0)] {
        let (mut stream, code) = ask(&execution, command, &name(b"web.test", target.port)).await;
        assert_eq!(code, Some(7), "{label}");
        assert!(is_closed(&mut stream).await, "{label}");
    }
    for kind in [0, 2, 5, 0xff] {
        let (_, code) = ask(&execution, CONNECT, &[kind, 1, 1, 1, 1, 0, 80]).await;
        assert_eq!(code, Some(8), "address type {kind}");
    }
    assert_eq!(target.connections(), 0);
    let (_, code) = ask(&execution, CONNECT, &name(b"web.test", target.port)).await;
    assert_eq!(code, Some(0), "the control");
}

#[tokio::test]
async fn the_credential_is_needed() {
    let (fixture, target) = (Fixture::new(), Target::echo().await);
    let execution = fixture.serve(&allow(&["web.test/tcp"], target.port)).await;
    let neighbour = fixture.serve(&[]).await;
    let request = [&[5, 1, 0][..], &name(b"web.test", target.port)].concat();
    let answer = execution.send([&[5, 1, 0][..], &request].concat()).await;
    assert_eq!(answer.as_bytes()[1..], "\u{fffd}".as_bytes()[..], "no method is accepted");
    for wrong in ["", "a", neighbour.token.expose(), &execution.token.expose()[1..]] {
        let bytes = [&[5, 1, 2][..], &password(wrong), &request].concat();
        assert_eq!(execution.send(bytes).await.as_bytes(), [5, 2, 1, 1], "{wrong}");
    }
    // The request without a method, and one that skips the credential.
    assert!(!execution.send(&request).await.as_bytes().starts_with(&[5, 0]));
    assert_eq!(execution.send([&[5, 1, 2][..], &request].concat()).await.as_bytes(), [5, 2]);
    assert_eq!(target.connections(), 0);
    let (_, code) = ask(&execution, CONNECT, &name(b"web.test", target.port)).await;
    assert_eq!(code, Some(0), "the control");
}

#[tokio::test]
async fn a_request_in_one_packet_with_its_first_bytes_is_served() {
    let (fixture, target) = (Fixture::new(), Target::echo().await);
    let execution = fixture.serve(&allow(&["web.test/tcp"], target.port)).await;
    let request = [&[5, 1, 0][..], &name(b"web.test", target.port)].concat();
    let bytes = [&[5, 1, 2][..], &password(execution.token.expose()), &request, b"early"].concat();
    let mut stream = execution.connect().await;
    stream.write_all(&bytes).await.unwrap();
    stream.shutdown().await.unwrap();
    assert!(rest(&mut stream).await.ends_with("early"));
}
