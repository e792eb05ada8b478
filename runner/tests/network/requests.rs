//! Requests of plain HTTP that name their target in two ways, in a wrong form, or that ask for another protocol.

use std::sync::Arc;

use crate::row::{Message, Row, any, connect, http, only};

const TARGET: &str = "proxy: form of the target";
const UPGRADE: &str = "proxy: upgrade";
const HEAD: &str = "proxy: size and time of a head";

/// The control of most rows.
const PLAIN: &str = "GET http://web.test/hidden HTTP/1.1\r\n{auth}Connection: close\r\n\r\n";

/// Heads without the credential and the end. Each names `web.test`, which is allowed, in a way that is refused.
const HEADS: [(&str, &str); 29] = [
    ("another Host", "GET http://web.test/hidden HTTP/1.1\r\nHost: evil.test\r\n"),
    ("an empty Host", "GET http://web.test/hidden HTTP/1.1\r\nHost:\r\n"),
    ("two Hosts", "GET http://web.test/hidden HTTP/1.1\r\nHost: web.test\r\nHost: evil.test\r\n"),
    ("two equal Hosts", "GET http://web.test/hidden HTTP/1.1\r\nHost: web.test\r\nHost: web.test\r\n"),
    ("a list of Hosts", "GET http://web.test/hidden HTTP/1.1\r\nHost: web.test, evil.test\r\n"),
    ("a path behind the Host", "GET http://web.test/hidden HTTP/1.1\r\nHost: web.test/evil\r\n"),
    ("a user name in the Host", "GET http://web.test/hidden HTTP/1.1\r\nHost: a@web.test\r\n"),
    ("a user name in the URL", "GET http://evil.test@web.test/hidden HTTP/1.1\r\n"),
    ("an allowed user name in the URL", "GET http://web.test@evil.test/hidden HTTP/1.1\r\n"),
    ("a backslash in the URL", "GET http://evil.test\\@web.test/hidden HTTP/1.1\r\n"),
    ("a fragment in the host", "GET http://web.test#@evil.test/hidden HTTP/1.1\r\n"),
    ("a path", "GET /hidden HTTP/1.1\r\nHost: web.test\r\n"),
    ("a path with two slashes", "GET //web.test/hidden HTTP/1.1\r\nHost: web.test\r\n"),
    ("an asterisk", "OPTIONS * HTTP/1.1\r\nHost: web.test\r\nX: hidden\r\n"),
    ("https", "GET https://web.test/hidden HTTP/1.1\r\n"),
    ("ftp", "GET ftp://web.test/hidden HTTP/1.1\r\n"),
    ("gopher", "GET gopher://web.test:80/_hidden HTTP/1.1\r\n"),
    ("file", "GET file:///etc/hidden HTTP/1.1\r\nHost: web.test\r\n"),
    ("HTTP/2.0", "GET http://web.test/hidden HTTP/2.0\r\n"),
    ("HTTP/0.9", "GET http://web.test/hidden\r\n"),
    ("a blank in the URL", "GET http://web.test/hidden x HTTP/1.1\r\n"),
    ("a tab for a blank", "GET\thttp://web.test/hidden HTTP/1.1\r\n"),
    ("an empty line before", "\r\nGET http://web.test/hidden HTTP/1.1\r\n"),
    ("a character outside ASCII", "GET http://web.test/hidden\u{e4} HTTP/1.1\r\n"),
    ("NUL in the URL", "GET http://web.test/hidden\0 HTTP/1.1\r\n"),
    ("CR in the URL", "GET http://web.test/hidden\r HTTP/1.1\r\n"),
    ("a fourth word", "GET http://web.test/ HTTP/1.1 hidden\r\n"),
    (
        "MASQUE, for UDP over a proxy",
        "GET https://web.test/.well-known/masque/udp/10.0.0.1/443/ HTTP/1.1\r\nX: hidden\r\n",
    ),
    ("an unknown expectation", "GET http://web.test/hidden HTTP/1.1\r\nExpect: 200-ok\r\n"),
];

/// Targets of CONNECT that are refused, although `web.test:80` is allowed for any protocol.
const TUNNELS: [(&str, &str); 8] = [
    ("CONNECT with a user name", "a@web.test:80"),
    ("CONNECT with an allowed user name", "web.test:80@evil.test:80"),
    ("CONNECT with a URL", "http://web.test:80/"),
    ("CONNECT with a path", "web.test:80/"),
    ("CONNECT with a path as the port", "/web.test:80"),
    ("CONNECT without a port", "web.test"),
    ("CONNECT with a query", "web.test:80?x"),
    ("CONNECT with two targets", "web.test:80,evil.test:80"),
];

pub(crate) fn rows() -> Vec<Row> {
    let names = |row: Row| row.resolved("evil.test", &[&["203.0.113.7"]]);
    let web = || only(&["web.test:80"]);
    let mut rows: Vec<Row> = HEADS
        .iter()
        .map(|(name, head)| {
            let text = format!("{head}{{auth}}Connection: close\r\n\r\n");
            names(Row::new(TARGET, name, web(), http(&text))).but_sent(http(PLAIN))
        })
        .collect();
    let first = "GET /hidden HTTP/1.1\r\nHost: web.test\r\n\r\n";
    let raw = || only(&["web.test:80/tcp"]);
    rows.extend(TUNNELS.iter().map(|(name, target)| {
        names(Row::new(TARGET, name, raw(), connect(target, first))).but_sent(connect("web.test:80", first))
    }));
    let other = format!("CONNECT web.test:80 HTTP/1.1\r\nHost: evil.test:80\r\n{{auth}}\r\n{first}");
    let row = Row::new(TARGET, "CONNECT with another Host", raw(), http(&other));
    rows.push(row.but_sent(connect("web.test:80", first)));
    let length = format!(
        "CONNECT web.test:80 HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n{{auth}}\r\n{first}"
    );
    let row = Row::new(TARGET, "CONNECT with two lengths", raw(), http(&length));
    rows.push(row.but_sent(connect("web.test:80", first)));
    rows.extend(upgrades());
    rows.extend(heads());
    rows
}

/// Headers that concern one hop. The target must not see them.
fn upgrades() -> Vec<Row> {
    let rows = [
        ("WebSocket", "Connection: Upgrade, close\r\nUpgrade: websocket, hidden\r\n"),
        ("WebSocket that Connection does not name", "Connection: close\r\nUpgrade: websocket, hidden\r\n"),
        ("h2c", "Connection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\nHTTP2-Settings: hidden\r\n"),
        (
            "connect-udp",
            "Connection: Upgrade, close\r\nUpgrade: connect-udp, hidden\r\nCapsule-Protocol: ?1\r\n",
        ),
        ("TLS", "Connection: Upgrade, close\r\nUpgrade: TLS/1.2, hidden\r\n"),
        ("a header that Connection names", "Connection: close, X-Own\r\nX-Own: hidden\r\n"),
        ("Proxy-Connection", "Connection: close\r\nProxy-Connection: hidden\r\n"),
        ("TE", "Connection: close\r\nTE: hidden\r\n"),
        ("Trailer", "Connection: close\r\nTrailer: hidden\r\n"),
    ];
    let mut rows: Vec<Row> = rows
        .into_iter()
        .map(|(name, headers)| {
            let text = format!("GET http://web.test/ HTTP/1.1\r\nHost: web.test\r\n{headers}{{auth}}\r\n");
            Row::new(UPGRADE, name, any(), http(&text)).but_in_a_raw_tunnel()
        })
        .collect();
    let trace = "TRACE http://web.test/ HTTP/1.1\r\n{auth}Connection: close\r\n\r\n";
    let row = Row::new(UPGRADE, "TRACE, which would show the credential", any(), http(trace));
    rows.push(row.mark("proxy-authorization").but_in_a_raw_tunnel());
    let preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nhidden";
    rows.push(Row::new(UPGRADE, "the preface of HTTP/2", any(), http(preface)).but_in_a_raw_tunnel());
    rows
}

/// Heads that are too long or never end. The control is shorter or ends.
fn heads() -> Vec<Row> {
    let begin = "GET http://web.test/hidden HTTP/1.1\r\n{auth}Connection: close\r\n";
    let row = |name: &str, text: String| Row::new(HEAD, name, any(), http(&text)).but_sent(http(PLAIN));
    let bytes = |bytes: &'static [u8]| -> Message { Arc::new(move |_, _| bytes.to_vec()) };
    vec![
        row("a header of 64 KiB", format!("{begin}X-A: {}\r\n\r\n", "a".repeat(64 * 1024))),
        row("a header without an end", format!("{begin}X-A: {}", "a".repeat(256 * 1024))),
        row("101 headers", format!("{begin}{}\r\n", "X-A: a\r\n".repeat(101))),
        row("headers without an end", format!("{begin}{}", "X-A: a\r\n".repeat(20_000))),
        row(
            "a URL of 64 KiB",
            format!("GET http://web.test/hidden{} HTTP/1.1\r\n{{auth}}\r\n", "a".repeat(64 * 1024)),
        ),
        row("a head that stops", begin.to_owned()),
        row("a head that stops in a header", format!("{begin}X-A: a")),
        Row::new(HEAD, "a greeting of SOCKS that stops", any(), bytes(b"\x05\x02")).but_sent(http(PLAIN)),
    ]
}
