//! Attempts to use a proxy without its credential, after its end, or to reach the proxy through itself.

use std::sync::Arc;

use base64::{Engine, prelude::BASE64_STANDARD};

use crate::{
    lab::Lab,
    proxy::{Execution, credential},
    row::{Message, Row, any, connect, get, http, only},
};

const ACCESS: &str = "proxy: credential";
const CHAINED: &str = "proxy: through itself";

/// A request with a header that depends on the tokens.
fn with(header: Header) -> Message {
    Arc::new(move |lab, execution| {
        let header = header(lab, execution);
        format!("GET http://web.test/hidden HTTP/1.1\r\n{header}Connection: close\r\n\r\n").into_bytes()
    })
}

fn basic(text: &str) -> String {
    format!("Proxy-Authorization: Basic {}\r\n", BASE64_STANDARD.encode(text))
}

/// Returns the header with a credential.
type Header = fn(&Lab, &Execution) -> String;

pub(crate) fn rows() -> Vec<Row> {
    let headers: [(&str, Header); 12] = [
        ("none", |_, _| String::new()),
        ("a neighbour's token", |lab, _| credential(&lab.neighbour.token)),
        ("the token of an execution that ended", |lab, _| basic(&format!("airlock:{}", lab.ended))),
        ("an empty password", |_, _| basic("airlock:")),
        ("a part of the token", |_, own| basic(&format!("airlock:{}", &own.token.expose()[1..]))),
        ("the token and more", |_, own| basic(&format!("airlock:{}0", own.token.expose()))),
        ("the token and NUL", |_, own| basic(&format!("airlock:{}\0", own.token.expose()))),
        ("the token in upper case", |_, own| {
            basic(&format!("airlock:{}", own.token.expose().to_uppercase()))
        }),
        ("the token as the user name", |_, own| basic(own.token.expose())),
        ("another scheme", |_, own| format!("Proxy-Authorization: Bearer {}\r\n", own.token.expose())),
        ("the header for the target", |_, own| own.header().replace("Proxy-", "")),
        ("two credentials", |lab, own| own.header() + &credential(&lab.neighbour.token)),
    ];
    let mut rows: Vec<Row> = headers
        .into_iter()
        .map(|(name, header)| {
            Row::new(ACCESS, name, only(&["web.test"]), with(header)).but_sent(get("http://web.test/hidden"))
        })
        .collect();
    let second = "GET http://web.test/ HTTP/1.1\r\n{auth}\r\n";
    let hidden = "GET http://web.test/hidden HTTP/1.1\r\n{more}Connection: close\r\n\r\n";
    let bare = format!("{second}{}", hidden.replace("{more}", ""));
    let both = format!("{second}{}", hidden.replace("{more}", "{auth}"));
    rows.push(
        Row::new(ACCESS, "only in the first request", only(&["web.test"]), http(&bare)).but_sent(http(&both)),
    );
    rows.push(
        Row::new(ACCESS, "in the user name of the URL", any(), get("http://airlock:x@web.test/hidden"))
            .but_sent(get("http://web.test/hidden")),
    );
    rows.extend(chained());
    rows
}

fn chained() -> Vec<Row> {
    let inner = "CONNECT 10.0.0.1:80 HTTP/1.1\r\n{auth}\r\n";
    let own = || any().and(&["127.0.0.1:{proxy}/tcp", "10.0.0.1:80/tcp"]);
    vec![
        Row::new(
            CHAINED,
            "a tunnel to the proxy",
            any().and(&["10.0.0.1:80/tcp"]),
            connect("127.0.0.1:{proxy}", inner),
        )
        .but_under(own()),
        Row::new(CHAINED, "a request to the proxy", any(), get("http://127.0.0.1:{proxy}/hidden"))
            .but(any(), get("http://web.test/hidden")),
        Row::new(
            CHAINED,
            "a tunnel in a tunnel",
            only(&["web.test:80", "10.0.0.1:80/tcp"]),
            connect("web.test:80", inner),
        )
        .but_sent(http(inner)),
        Row::new(
            CHAINED,
            "a second tunnel behind a refused one",
            only(&["10.0.0.1:80/tcp"]),
            connect("evil.test:80", inner),
        )
        .but_sent(http(inner)),
    ]
}
