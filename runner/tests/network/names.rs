//! Attempts to reach a host that the rules do not allow, by a spelling of its name, by a similar name, or by its port.

use crate::{
    row::{Access, Row, any, connect, get, http, only},
    socks::by_name,
};

const DENIED: &str = "proxy: denied name";
const SIMILAR: &str = "proxy: similar name";
const LOCAL: &str = "proxy: local name";
const PORT: &str = "proxy: port";

/// Spellings of `evil.test`.
const SPELLINGS: [(&str, &str); 9] = [
    ("plain", "evil.test"),
    ("upper case", "EVIL.TEST"),
    ("a final dot", "evil.test."),
    ("upper case and a final dot", "Evil.Test."),
    ("letters of full width", "ｅｖｉｌ.test"),
    ("an ideographic full stop", "evil。test"),
    ("a soft hyphen", "ev\u{ad}il.test"),
    ("a zero-width joiner of words", "ev\u{2060}il.test"),
    ("mathematical letters", "𝐞𝐯𝐢𝐥.test"),
];

/// Names that could be taken for `good.test` or `*.good.test`.
const LOOKALIKES: [(&str, &str); 10] = [
    ("below another name", "good.test.evil.test"),
    ("a longer label", "xgood.test"),
    ("a longer label below", "a.xgood.test"),
    ("the parent", "test"),
    ("a Cyrillic letter", "gооd.test"),
    ("its encoded form", "xn--gd-fmca.test"),
    ("a Greek letter", "gοod.test"),
    ("a dotless letter", "gıod.test"),
    ("a hyphen for a dot", "a-good.test"),
    ("a sibling", "good.test2"),
];

/// Names that `any` does not include, even if they have a public address.
const LOCALS: [&str; 12] = [
    "metadata.google.internal",
    "instance-data.ec2.internal",
    "kubernetes.default.svc",
    "host.docker.internal",
    "intranet.corp",
    "router.home.arpa",
    "nas.lan",
    "printer.local",
    "db.localdomain",
    "x.localhost",
    "vault.private",
    "intranet",
];

fn resolved(row: Row, name: &str) -> Row {
    row.resolved(name, &[&["203.0.113.7"]])
}

fn evil(name: &str, access: Access, message: crate::row::Message) -> Row {
    resolved(Row::new(DENIED, name, access.not(&["evil.test"]), message), "evil.test")
}

pub(crate) fn rows() -> Vec<Row> {
    let mut rows: Vec<Row> =
        SPELLINGS.iter().map(|(name, host)| evil(name, raw(), by_name(host, 80)).but_under(raw())).collect();
    for (name, host) in [("percent-encoded", "%65vil.test"), ("percent-encoded dot", "evil%2etest")] {
        let row = evil(name, any(), get(&format!("http://{host}/hidden")));
        rows.push(row.but(any(), get("http://evil.test/hidden")));
    }
    rows.push(evil("on another port", raw(), by_name("evil.test", 8080)).but_under(raw()));
    rows.push(
        resolved(
            Row::new(
                DENIED,
                "below a denied domain",
                any().not(&["*.evil.test"]),
                get("http://a.b.evil.test/hidden"),
            ),
            "a.b.evil.test",
        )
        .but_under(any()),
    );
    rows.extend(LOOKALIKES.iter().map(|(name, host)| {
        let access = only(&["good.test:80/tcp", "*.good.test:80/tcp"]);
        let ascii = airlock_network::Host::parse(host).unwrap().to_string();
        let row = Row::new(SIMILAR, name, access, by_name(host, 80));
        resolved(row, &ascii).but_under(only(&[&format!("{ascii}:80/tcp")]))
    }));
    rows.push(
        resolved(
            Row::new(
                SIMILAR,
                "the domain of a wildcard",
                only(&["*.good.test:80"]),
                get("http://good.test/hidden"),
            ),
            "good.test",
        )
        .but_under(only(&["good.test:80"])),
    );
    rows.extend(LOCALS.iter().map(|host| {
        let row = Row::new(LOCAL, host, any(), get(&format!("http://{host}/hidden")));
        resolved(row, host).but_under(any().and(&[&format!("{host}:80")]))
    }));
    rows.push(
        resolved(
            Row::new(
                LOCAL,
                "metadata below a wildcard",
                only(&["*.google.internal:80"]),
                get("http://metadata.google.internal/hidden"),
            ),
            "metadata.google.internal",
        )
        .but_under(only(&["metadata.google.internal:80"])),
    );
    rows.extend(ports());
    rows
}

fn raw() -> Access {
    only(&["evil.test:80/tcp", "evil.test:8080/tcp"])
}

fn ports() -> Vec<Row> {
    let web = || only(&["web.test"]);
    let marked = "GET /hidden HTTP/1.1\r\nHost: web.test:8080\r\nConnection: close\r\n\r\n";
    let more = || web().and(&["web.test:8080/tcp", "web.test:53/tcp", "web.test:853/tcp"]);
    vec![
        Row::new(PORT, "CONNECT to another port", web(), connect("web.test:8080", marked)).but_under(more()),
        Row::new(PORT, "a URL with another port", web(), get("http://web.test:8080/hidden")).but_under(more()),
        Row::new(PORT, "SOCKS to another port", web(), by_name("web.test", 53)).but_under(more()),
        Row::new(PORT, "DNS over TLS", web(), by_name("web.test", 853)).but_under(more()),
        Row::new(PORT, "a port that wraps around", more(), connect("web.test:73616", marked))
            .but_sent(connect("web.test:8080", marked)),
        Row::new(PORT, "a port with a sign", more(), get("http://web.test:+8080/hidden"))
            .but_sent(get("http://web.test:8080/hidden")),
        Row::new(PORT, "a port with a leading zero", more(), get("http://web.test:08080/hidden"))
            .but_sent(get("http://web.test:8080/hidden")),
        Row::new(PORT, "two ports", more(), get("http://web.test:80:8080/hidden"))
            .but_sent(get("http://web.test:8080/hidden")),
        Row::new(PORT, "plain HTTP to an address of a range", only(&["10.0.0.0/8:443"]), get("http://10.0.0.1/hidden"))
            .but_under(only(&["10.0.0.0/8:80"])),
        Row::new(PORT, "another port in the Host header", web(), http("GET http://web.test/hidden HTTP/1.1\r\n{auth}Host: web.test:8080\r\nConnection: close\r\n\r\n"))
            .but_sent(http("GET http://web.test/hidden HTTP/1.1\r\n{auth}Host: web.test:80\r\nConnection: close\r\n\r\n")),
    ]
}
