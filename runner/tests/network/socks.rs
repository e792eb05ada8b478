//! SOCKS5: messages, and attempts to misuse it. All phases are sent at once.

use std::sync::Arc;

use crate::row::{Message, Row, only};

const SOCKS: &str = "proxy: SOCKS";
const GREETING: &[u8] = &[5, 1, 2];
/// Bytes behind the request, which must not arrive.
const FIRST: &[u8] = b"GET /hidden HTTP/1.1\r\nHost: web.test\r\n\r\n";

fn password(token: &str) -> Vec<u8> {
    let length = u8::try_from(token.len()).unwrap();
    [&b"\x01\x07airlock"[..], &[length], token.as_bytes()].concat()
}

/// A request with this command, address type and address.
fn request(command: u8, kind: u8, address: &[u8], port: u16) -> Vec<u8> {
    [&[5, command, 0, kind], address, &port.to_be_bytes()].concat()
}

fn name(text: &[u8]) -> Vec<u8> {
    [&[u8::try_from(text.len()).unwrap()], text].concat()
}

/// Connects to a name.
pub(crate) fn by_name(host: &str, port: u16) -> Message {
    asked(request(1, 3, &name(host.as_bytes()), port))
}

/// Sends a request with the credential, and further bytes.
fn asked(request: Vec<u8>) -> Message {
    Arc::new(move |_, execution| [GREETING, &password(execution.token.expose()), &request, FIRST].concat())
}

/// Sends these bytes, and then a valid request.
fn begun(bytes: &[u8]) -> Message {
    let bytes = [bytes, &request(1, 3, &name(b"web.test"), 80), FIRST].concat();
    Arc::new(move |_, _| bytes.clone())
}

pub(crate) fn rows() -> Vec<Row> {
    let web = || only(&["web.test:80/tcp"]);
    let row = |name: &str, message: Message| Row::new(SOCKS, name, web(), message);
    let good = || by_name("web.test", 80);
    let v4 = |command, address: [u8; 4]| asked(request(command, 1, &address, 80));
    let mapped = |last: [u8; 4]| [&[0; 10][..], &[255, 255], &last].concat();
    let mut rows = vec![
        row("NUL behind a name", asked(request(1, 3, &name(b"web.test\0"), 80))).but_sent(good()),
        row("NUL in a name", asked(request(1, 3, &name(b"web.test\0.evil.test"), 80))).but_sent(good()),
        row("a line end in a name", asked(request(1, 3, &name(b"web.test\r\nX: a"), 80))).but_sent(good()),
        row("a blank behind a name", asked(request(1, 3, &name(b"web.test "), 80))).but_sent(good()),
        row("a port in a name", asked(request(1, 3, &name(b"web.test:80"), 80))).but_sent(good()),
        row("a URL as a name", asked(request(1, 3, &name(b"http://web.test"), 80))).but_sent(good()),
        row("a user in a name", asked(request(1, 3, &name(b"a@web.test"), 80))).but_sent(good()),
        row("an empty name", asked(request(1, 3, &name(b""), 80))).but_sent(good()),
        row("bytes that are not UTF-8", asked(request(1, 3, &name(b"web.test\xff"), 80))).but_sent(good()),
        row("an overlong encoding of a dot", asked(request(1, 3, &name(b"web\xc0\xaetest"), 80)))
            .but_sent(good()),
        row("BIND", asked(request(2, 3, &name(b"web.test"), 80))).but_sent(good()),
        row("UDP ASSOCIATE", asked(request(3, 3, &name(b"web.test"), 80))).but_sent(good()),
        row("the RESOLVE of Tor", asked(request(0xf0, 3, &name(b"web.test"), 80))).but_sent(good()),
        row("an unknown address type", asked(request(1, 2, &name(b"web.test"), 80))).but_sent(good()),
        row("SOCKS4", begun(b"\x04\x01\x00\x50\xcb\x00\x71\x07user\0")).but_sent(good()),
        row("SOCKS4a", begun(b"\x04\x01\x00\x50\x00\x00\x00\x01user\0web.test\0")).but_sent(good()),
        row("SOCKS4 to metadata", begun(b"\x04\x01\x00\x50\xa9\xfe\xa9\xfe\0"))
            .but(only(&["169.254.169.254:80/tcp"]), v4(1, [169, 254, 169, 254])),
        row("no authentication", begun(&[5, 1, 0])).but_sent(good()),
        row("GSSAPI", begun(&[5, 1, 1])).but_sent(good()),
        row("no method at all", begun(&[5, 0])).but_sent(good()),
        row("the request in place of the password", begun(GREETING)).but_sent(good()),
        row("an empty password", begun(&[GREETING, &password("")].concat())).but_sent(good()),
        row("a wrong password", begun(&[GREETING, &password(&"0".repeat(64))].concat())).but_sent(good()),
        row("metadata as an address", v4(1, [169, 254, 169, 254]))
            .but_under(only(&["169.254.169.254:80/tcp"])),
        row("metadata as a mapped address", asked(request(1, 4, &mapped([169, 254, 169, 254]), 80)))
            .but_under(only(&["169.254.169.254:80/tcp"])),
        row("an address as a name", by_name("0xa9fea9fe", 80)).but_under(only(&["169.254.169.254:80/tcp"])),
    ];
    for (label, token) in
        [("the token of a neighbour", true), ("the token of an execution that ended", false)]
    {
        let stolen: Message = Arc::new(move |lab, _| {
            let token = if token { lab.neighbour.token.expose() } else { &lab.ended };
            [GREETING, &password(token), &request(1, 3, &name(b"web.test"), 80), FIRST].concat()
        });
        rows.push(row(label, stolen).but_sent(good()));
    }
    rows
}
