//! Request smuggling: a second request hides behind a head on which two parsers could disagree. In the control, the
//! same bytes arrive in a tunnel that the proxy does not look into.

use crate::row::{Row, any, http};

const SMUGGLED: &str = "proxy: smuggling";
const INSIDE: &str = "proxy: smuggling in a tunnel";
const CHUNKS: &str = "proxy: smuggling by chunks";

/// The headers of the first request.
const HEADERS: [(&str, &str); 36] = [
    ("CL.TE", "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n"),
    ("TE.CL", "Transfer-Encoding: chunked\r\nContent-Length: 6\r\n"),
    ("TE.TE", "Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n"),
    ("TE.TE in another order", "Transfer-Encoding: x\r\nTransfer-Encoding: chunked\r\n"),
    ("two equal lengths", "Content-Length: 5\r\nContent-Length: 5\r\n"),
    ("two lengths", "Content-Length: 5\r\nContent-Length: 6\r\n"),
    ("a list of lengths", "Content-Length: 5, 5\r\n"),
    ("a length with a plus sign", "Content-Length: +5\r\n"),
    ("a negative length", "Content-Length: -5\r\n"),
    ("a hexadecimal length", "Content-Length: 0x5\r\n"),
    ("an empty length", "Content-Length:\r\n"),
    ("a length with a blank", "Content-Length: 5 5\r\n"),
    ("a length above 64 bits", "Content-Length: 18446744073709551616\r\n"),
    ("two encodings", "Transfer-Encoding: gzip, chunked\r\n"),
    ("chunked twice", "Transfer-Encoding: chunked, chunked\r\n"),
    ("an unknown encoding", "Transfer-Encoding: xchunked\r\n"),
    ("identity", "Transfer-Encoding: identity\r\n"),
    ("an encoding in quotes", "Transfer-Encoding: \"chunked\"\r\n"),
    ("an encoding with a parameter", "Transfer-Encoding: chunked;q=1\r\n"),
    ("an encoding behind a vertical tab", "Transfer-Encoding: \x0bchunked\r\n"),
    ("a folded encoding", "Transfer-Encoding:\r\n chunked\r\n"),
    ("a folded header", "X-A: one\r\n two\r\n"),
    ("a first header that is folded", " X-A: one\r\n"),
    ("a header that begins with a tab", "X-A: one\r\n\ttwo: three\r\n"),
    ("a blank before the colon", "Content-Length : 5\r\n"),
    ("a blank in a name", "X A: one\r\n"),
    ("a line without a colon", "X-A\r\n"),
    ("an empty name", ": one\r\n"),
    ("LF without CR", "X-A: one\nX-B: two\r\n"),
    ("CR without LF", "X-A: one\rX-B: two\r\n"),
    ("an end of LF LF", "X-A: one\n\nGET / HTTP/1.1\r\n"),
    ("an end of CR CR", "X-A: one\r\rGET / HTTP/1.1\r\n"),
    ("NUL in a value", "X-A: a\0b\r\n"),
    ("NUL in a name", "X\0A: a\r\n"),
    ("DEL in a value", "X-A: a\x7fb\r\n"),
    ("ESC in a value", "X-A: a\x1b[31mb\r\n"),
];

/// Bodies in chunks of the first request.
const BODIES: [(&str, &str); 8] = [
    ("a request behind the last chunk", "0\r\n\r\n"),
    ("a signed size", "+5\r\nhello\r\n0\r\n\r\n"),
    ("a size with a prefix", "0x5\r\nhello\r\n0\r\n\r\n"),
    ("a size that wraps around", "10000000000000005\r\nhello\r\n0\r\n\r\n"),
    ("no line end behind a chunk", "5\r\nhelloXX0\r\n\r\n"),
    ("LF in an extension", "5;\nx\r\nhello\r\n0\r\n\r\n"),
    ("LF behind a size", "5\nhello\n0\n\n"),
    ("a trailer that names a length", "0\r\nContent-Length: 5\r\n\r\n"),
];

/// Headers of a request to the tunnel's target, which the proxy serves. Another server must not see them.
const TUNNELED: [(&str, &str); 7] = [
    ("another Host", "GET /hidden HTTP/1.1\r\nHost: evil.test\r\n"),
    ("an internal address as Host", "GET /hidden HTTP/1.1\r\nHost: 169.254.169.254\r\n"),
    ("no Host", "GET /hidden HTTP/1.1\r\n"),
    ("two Hosts", "GET /hidden HTTP/1.1\r\nHost: web.test\r\nHost: evil.test\r\n"),
    ("an absolute URL", "GET http://evil.test/hidden HTTP/1.1\r\nHost: evil.test\r\n"),
    (
        "two lengths",
        "POST /hidden HTTP/1.1\r\nHost: web.test\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n",
    ),
    (
        "an upgrade",
        "GET / HTTP/1.1\r\nHost: web.test\r\nConnection: Upgrade\r\nUpgrade: websocket, hidden\r\n",
    ),
];

pub(crate) fn rows() -> Vec<Row> {
    let hidden = "GET http://web.test/hidden HTTP/1.1\r\nHost: web.test\r\nConnection: close\r\n{auth}\r\n";
    let begin = "POST http://web.test/ HTTP/1.1\r\nHost: web.test\r\n{auth}";
    let mut rows: Vec<Row> = HEADERS
        .iter()
        .map(|(name, headers)| {
            let text = match headers.strip_prefix(' ') {
                Some(_) => {
                    format!("POST http://web.test/ HTTP/1.1\r\n{headers}{{auth}}\r\n0\r\n\r\n{hidden}")
                }
                None => format!("{begin}{headers}\r\n0\r\n\r\n{hidden}"),
            };
            Row::new(SMUGGLED, name, any(), http(&text)).but_in_a_raw_tunnel()
        })
        .collect();
    rows.extend(BODIES.iter().map(|(name, body)| {
        let text = format!("{begin}Transfer-Encoding: chunked\r\n\r\n{body}{hidden}");
        Row::new(CHUNKS, name, any(), http(&text)).but_in_a_raw_tunnel()
    }));
    rows.extend(TUNNELED.iter().map(|(name, head)| {
        let text = format!("CONNECT web.test:80 HTTP/1.1\r\n{{auth}}\r\n{head}\r\n");
        let raw = crate::row::only(&["web.test:80/tcp"]);
        Row::new(INSIDE, name, any(), http(&text)).but_under(raw)
    }));
    rows
}
