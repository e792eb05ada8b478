//! Tunnels without `/tcp`: their first bytes must be a TLS handshake for the requested name. In the control, a rule with
//! `/tcp` lets the same bytes through.

use std::sync::Arc;

use crate::row::{Message, Row, any, only};

const TLS: &str = "proxy: first bytes of a tunnel";
/// The session ID of a handshake. It must not arrive.
const SESSION: &[u8; 32] = b"hidden hidden hidden hidden hidd";

/// An extension of a ClientHello.
fn extension(kind: u16, data: &[u8]) -> Vec<u8> {
    let length = u16::try_from(data.len()).unwrap().to_be_bytes();
    [&kind.to_be_bytes()[..], &length, data].concat()
}

/// The extension with server names.
fn names(names: &[&[u8]]) -> Vec<u8> {
    let sized = |bytes: &[u8]| [&u16::try_from(bytes.len()).unwrap().to_be_bytes()[..], bytes].concat();
    let list: Vec<u8> = names.iter().flat_map(|name| [vec![0], sized(name)].concat()).collect();
    extension(0, &sized(&list))
}

/// A ClientHello with the usual extensions and these.
fn hello(more: &[Vec<u8>]) -> Vec<u8> {
    let usual = [
        extension(0x2b, &[4, 3, 4, 3, 3]),
        extension(0x0d, &[0, 4, 4, 3, 8, 4]),
        extension(0x0a, &[0, 2, 0, 0x1d]),
        extension(0x0b, &[1, 0]),
        extension(0x33, &[&[0, 36, 0, 0x1d, 0, 32][..], &[9; 32]].concat()),
    ];
    let extensions: Vec<u8> = more.iter().chain(&usual).flatten().copied().collect();
    let length = u16::try_from(extensions.len()).unwrap().to_be_bytes();
    let suites = [0, 4, 0x13, 1, 0xc0, 0x2f];
    let body = [&[3, 3][..], &[7; 32], &[32], SESSION, &suites, &[1, 0], &length, &extensions].concat();
    let size = u32::try_from(body.len()).unwrap().to_be_bytes();
    [&[1], &size[1..], &body].concat()
}

/// Wraps a message into records of at most `size` bytes.
fn records(message: &[u8], size: usize) -> Vec<u8> {
    let record =
        |part: &[u8]| [&[22, 3, 1][..], &u16::try_from(part.len()).unwrap().to_be_bytes(), part].concat();
    message.chunks(size).flat_map(record).collect()
}

fn named(name: &[u8]) -> Vec<u8> {
    records(&hello(&[names(&[name])]), 1 << 14)
}

fn tunnel(bytes: Vec<u8>) -> Message {
    Arc::new(move |_, execution| {
        let head = format!("CONNECT web.test:443 HTTP/1.1\r\n{}\r\n", execution.header());
        [head.as_bytes(), &bytes].concat()
    })
}

pub(crate) fn rows() -> Vec<Row> {
    let good = named(b"web.test");
    let one = 1 << 14;
    let ech = extension(0xfe0d, &[&[0, 0, 1, 0, 1, 7, 0, 0, 0, 4][..], b"data"].concat());
    let alpn = extension(0x10, b"\x00\x03\x02h2");
    let mut cut = good.clone();
    cut.truncate(100);
    let long = [&[22, 3, 1, 0x40, 0, 1, 0xff, 0xff, 0xff][..], SESSION, &[0; 40_000]].concat();
    let mut rows: Vec<Row> = [
        ("another name", named(b"hidden.test")),
        ("a name below", named(b"a.web.test")),
        ("the parent", named(b"test")),
        ("a similar name", named(b"web.test.evil.test")),
        ("no name", records(&hello(&[]), one)),
        ("an empty list of names", records(&hello(&[names(&[])]), one)),
        ("an empty name", named(b"")),
        ("NUL in a name", named(b"web.test\0.evil.test")),
        ("NUL behind a name", named(b"web.test\0")),
        ("a blank behind a name", named(b"web.test ")),
        ("an address as the name", named(b"203.0.113.7")),
        ("two names", records(&hello(&[names(&[b"web.test", b"evil.test"])]), one)),
        ("two lists of names", records(&hello(&[names(&[b"web.test"]), names(&[b"evil.test"])]), one)),
        ("another name in many records", records(&hello(&[names(&[b"evil.test"])]), 9)),
        ("another outer name, with ECH", records(&hello(&[names(&[b"evil.test"]), ech]), one)),
        ("another name, for HTTP/2", records(&hello(&[names(&[b"evil.test"]), alpn]), one)),
        ("two handshakes", [named(b"evil.test"), good.clone()].concat()),
        ("a handshake that stops", cut),
        ("a handshake without an end", long),
        ("data before the handshake", [&b"\x17\x03\x03\x00\x06hidden"[..], &good].concat()),
        ("an alert before the handshake", [&b"\x15\x03\x03\x00\x02\x01\x00"[..], &good].concat()),
        ("SSL 2", b"\x80\x2e\x01\x03\x01\x00\x15\x00\x00\x00\x10hidden".to_vec()),
        ("SSH", b"SSH-2.0-hidden\r\n".to_vec()),
        ("SOCKS", b"\x05\x01\x00\x05\x01\x00\x03\x06hidden\x00\x50".to_vec()),
        ("HTTP/2 without TLS", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nhidden".to_vec()),
        ("a request to a proxy", b"GET http://evil.test/hidden HTTP/1.1\r\n\r\n".to_vec()),
        ("plain HTTP to another host", b"GET /hidden HTTP/1.1\r\nHost: evil.test\r\n\r\n".to_vec()),
        ("a request in lower case", b"get /hidden HTTP/1.1\r\nHost: web.test\r\n\r\n".to_vec()),
        ("PostgreSQL", b"\x00\x00\x00\x10\x00\x03\x00\x00hidden\x00\x00".to_vec()),
        ("QUIC", b"\xc3\x00\x00\x00\x01\x08hidden00".to_vec()),
        (
            "DNS over TCP",
            b"\x00\x18\x00\x01\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x06hidden\x00\x00\x01\x00\x01"
                .to_vec(),
        ),
    ]
    .into_iter()
    .map(|(name, bytes)| Row::new(TLS, name, any(), tunnel(bytes)).but_under(only(&["web.test:443/tcp"])))
    .collect();
    let split = tunnel(records(&hello(&[names(&[b"evil.test"])]), 1));
    let row = Row::new(TLS, "another name in records of one byte", any(), split);
    // Each byte of the session ID is in a record of its own.
    rows.push(row.mark("h\x16\x03\x01\0\x01i").but_under(only(&["web.test:443/tcp"])));
    // The handshake of all rows is one that the proxy accepts.
    rows.push(
        Row::new(TLS, "the handshake of another target", any(), tunnel(named(b"evil.test")))
            .but_sent(tunnel(good)),
    );
    rows
}
