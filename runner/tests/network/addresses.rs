//! Attempts to reach an address inside the network, by a spelling of it or by the answer for a name. The rules allow
//! every public host, and the control lists the address.

use crate::{
    lab::{CLUSTER, OWN},
    row::{Row, any, connect, get},
    socks::by_name,
};

const SPELLED: &str = "proxy: spelled address";
const ANSWERED: &str = "proxy: address of a name";

/// Spellings, and the addresses that a rule would have to list.
const URLS: [(&str, &str, &[&str]); 33] = [
    ("dotted", "169.254.169.254", &["169.254.169.254"]),
    ("with a final dot", "169.254.169.254.", &["169.254.169.254"]),
    ("decimal", "2852039166", &["169.254.169.254"]),
    ("hexadecimal", "0xa9fea9fe", &["169.254.169.254"]),
    ("hexadecimal in upper case", "0XA9FEA9FE", &["169.254.169.254"]),
    ("octal", "025177524776", &["169.254.169.254"]),
    ("hexadecimal parts", "0xa9.0xfe.0xa9.0xfe", &["169.254.169.254"]),
    ("octal parts", "0251.0376.0251.0376", &["169.254.169.254"]),
    ("octal parts with more zeros", "0000251.0376.0251.0376", &["169.254.169.254"]),
    ("mixed parts", "0xA9.254.0251.254", &["169.254.169.254"]),
    ("three parts", "169.254.43518", &["169.254.169.254"]),
    ("two parts", "169.16689662", &["169.254.169.254"]),
    ("loopback", "127.0.0.1", &["127.0.0.1"]),
    ("loopback in two parts", "127.1", &["127.0.0.1"]),
    ("another loopback", "127.8.8.8", &["127.8.8.8"]),
    ("unspecified", "0.0.0.0", &["0.0.0.0"]),
    ("unspecified in one digit", "0", &["0.0.0.0"]),
    ("the metadata of tasks", "169.254.170.2", &["169.254.170.2"]),
    ("private", "10.0.0.1", &["10.0.0.1"]),
    ("IPv6 loopback", "[::1]", &["[::1]"]),
    ("IPv6 loopback in full", "[0:0:0:0:0:0:0:1]", &["[::1]"]),
    ("IPv6 unspecified", "[::]", &["[::]"]),
    ("IPv6 metadata", "[fd00:ec2::254]", &["[fd00:ec2::254]"]),
    ("IPv6 metadata in upper case", "[FD00:0EC2::0254]", &["[fd00:ec2::254]"]),
    ("mapped", "[::ffff:169.254.169.254]", &["169.254.169.254"]),
    ("mapped in hexadecimal", "[0:0:0:0:0:ffff:a9fe:a9fe]", &["169.254.169.254"]),
    ("compatible", "[::169.254.169.254]", &["[::a9fe:a9fe]", "169.254.169.254"]),
    ("translated", "[::ffff:0:10.0.0.1]", &["[::ffff:0:a00:1]", "10.0.0.1"]),
    ("NAT64", "[64:ff9b::169.254.169.254]", &["[64:ff9b::a9fe:a9fe]", "169.254.169.254"]),
    ("NAT64 of a local network", "[64:ff9b:1::a00:1]", &["[64:ff9b:1::a00:1]", "10.0.0.1"]),
    ("6to4", "[2002:a9fe:a9fe::]", &["[2002:a9fe:a9fe::]", "169.254.169.254"]),
    ("ISATAP", "[2600::5efe:10.0.0.1]", &["[2600::5efe:a00:1]", "10.0.0.1"]),
    ("ISATAP of a global address", "[2600::200:5efe:a00:1]", &["[2600::200:5efe:a00:1]", "10.0.0.1"]),
];

/// Addresses that a name can resolve to.
const ANSWERS: [(&str, &str); 27] = [
    ("AWS, Azure, Google and others", "169.254.169.254"),
    ("AWS tasks", "169.254.170.2"),
    ("AWS pods", "169.254.170.23"),
    ("Tencent", "169.254.0.23"),
    ("Scaleway", "169.254.42.42"),
    ("Alibaba", "100.100.100.200"),
    ("Azure's host", "168.63.129.16"),
    ("Oracle", "192.0.0.192"),
    ("AWS by IPv6", "fd00:ec2::254"),
    ("AWS pods by IPv6", "fd00:ec2::23"),
    ("Google by IPv6", "fd20:ce::254"),
    ("Scaleway by IPv6", "fd00:42::42"),
    ("link-local", "169.254.7.7"),
    ("loopback", "127.0.0.1"),
    ("the end of the loopback", "127.255.255.254"),
    ("IPv6 loopback", "::1"),
    ("unspecified", "0.0.0.0"),
    ("private, 10", "10.255.255.254"),
    ("private, 172", "172.31.255.254"),
    ("private, 192", "192.168.0.1"),
    ("shared", "100.64.0.1"),
    ("benchmarks", "198.18.0.1"),
    ("unique local", "fdff::1"),
    ("site-local", "fec0::1"),
    ("documentation by IPv6", "2001:db8::1"),
    ("the runner's host", OWN),
    ("the runner's cluster", CLUSTER),
];

pub(crate) fn rows() -> Vec<Row> {
    let mut rows: Vec<Row> = URLS
        .iter()
        .map(|(name, host, listed)| {
            let row = Row::new(SPELLED, name, any(), get(&format!("http://{host}/hidden")));
            row.but_under(any().and(listed))
        })
        .collect();
    rows.extend(ANSWERS.iter().map(|(name, address)| {
        let row = Row::new(ANSWERED, name, any(), get("http://inside.test/hidden"));
        row.resolved("inside.test", &[&[address]]).but_under(any().and(&[&listed(address)]))
    }));
    rows.extend(unreadable());
    rows.extend(tricks());
    rows.extend(special());
    rows
}

fn listed(address: &str) -> String {
    if address.contains(':') { format!("[{address}]") } else { address.to_owned() }
}

/// Spellings that some programs read as an address, and that no rule can list.
fn unreadable() -> Vec<Row> {
    let metadata = &["169.254.169.254"][..];
    let local = &["[fe80::7]", "[::1]", "127.0.0.1", "169.254.169.254"][..];
    [
        ("percent-encoded dots", "169%2e254%2e169%2e254", "169.254.169.254", metadata),
        ("percent-encoded digits", "%31%36%39.254.169.254", "169.254.169.254", metadata),
        ("a zone", "[::1%25lo]", "[::1]", local),
        ("a zone without encoding", "[::1%lo]", "[::1]", local),
        ("a part above 255", "169.254.169.510", "169.254.169.254", metadata),
        ("five parts", "169.254.169.254.0", "169.254.169.254", metadata),
        ("more than 32 bits", "7147006462", "169.254.169.254", metadata),
        ("a future version of IP", "[v1.169.254.169.254]", "169.254.169.254", metadata),
    ]
    .into_iter()
    .map(|(name, host, plain, listed)| {
        // Even a rule for the address does not allow such a spelling.
        let access = any().and(listed);
        let row = Row::new(SPELLED, name, access, get(&format!("http://{host}/hidden")));
        row.but_sent(get(&format!("http://{plain}/hidden")))
    })
    .collect()
}

/// Answers of the resolver that change, and addresses inside others.
fn tricks() -> Vec<Row> {
    let twice = "GET http://inside.test/ HTTP/1.1\r\n{auth}\r\n\
                 GET http://inside.test/hidden HTTP/1.1\r\n{auth}Connection: close\r\n\r\n";
    let fixed = |name: &str, answers: &[&[&str]]| {
        Row::new(ANSWERED, name, any(), crate::row::http(twice)).resolved("inside.test", answers)
    };
    let private = any().and(&["10.0.0.1"]);
    vec![
        fixed("rebinding to a private address", &[&["203.0.113.7"], &["10.0.0.1"]])
            .but_under(private.clone()),
        fixed("rebinding to metadata", &[&["203.0.113.7"], &["169.254.169.254"]])
            .but_under(any().and(&["169.254.169.254"])),
        Row::new(ANSWERED, "a private address after a public one", any(), get("http://inside.test/hidden"))
            .resolved("inside.test", &[&["203.0.113.7", "10.0.0.1"]])
            .but_under(private.clone()),
        Row::new(ANSWERED, "NAT64", any(), get("http://inside.test/hidden"))
            .resolved("inside.test", &[&["64:ff9b::a00:1"]])
            .but_under(any().and(&["[64:ff9b::a00:1]", "10.0.0.1"])),
        Row::new(ANSWERED, "mapped", any(), get("http://inside.test/hidden"))
            .resolved("inside.test", &[&["::ffff:10.0.0.1"]])
            .but_under(private.clone()),
        Row::new(ANSWERED, "6to4", any(), get("http://inside.test/hidden"))
            .resolved("inside.test", &[&["2002:a00:1::1"]])
            .but_under(any().and(&["[2002:a00:1::1]", "10.0.0.1"])),
        Row::new(ANSWERED, "Teredo", any(), get("http://inside.test/hidden"))
            .resolved("inside.test", &[&["2001:0:cb00:7107:0:ffff:f5ff:fffe"]])
            .but_under(any().and(&["[2001:0:cb00:7107:0:ffff:f5ff:fffe]", "10.0.0.1"])),
        Row::new(ANSWERED, "a tunnel to a private address", any(), connect("inside.test:443", ""))
            .resolved("inside.test", &[&["10.0.0.1"]])
            .but_under(private),
        Row::new(
            ANSWERED,
            "a denied address of an allowed name",
            any().and(&["inside.test"]).not(&["203.0.113.7"]),
            get("http://inside.test/hidden"),
        )
        .resolved("inside.test", &[&["203.0.113.7"]])
        .but_under(any().and(&["inside.test"])),
        Row::new(
            ANSWERED,
            "a redirect to metadata",
            any(),
            get("http://169.254.169.254/hidden/latest/meta-data/"),
        )
        .but_under(any().and(&["169.254.169.254"])),
    ]
}

/// Spellings that are no URL with an address, and rules that seem to allow one.
fn special() -> Vec<Row> {
    vec![
        Row::new(SPELLED, "a tunnel to metadata", any(), connect("169.254.169.254:80", ""))
            .but_under(any().and(&["169.254.169.254"])),
        Row::new(
            SPELLED,
            "SOCKS with digits of full width",
            any(),
            by_name("１６９．２５４．１６９．２５４", 80),
        )
        .but_under(any().and(&["169.254.169.254"])),
        Row::new(SPELLED, "SOCKS with digits in circles", any(), by_name("①⑥⑨.②⑤④.①⑥⑨.②⑤④", 80))
            .but_under(any().and(&["169.254.169.254"])),
        Row::new(SPELLED, "SOCKS with ideographic dots", any(), by_name("169。254。169。254", 80))
            .but_under(any().and(&["169.254.169.254"])),
        // A range does not list metadata.
        Row::new(
            SPELLED,
            "metadata in an allowed range",
            any().and(&["169.254.0.0/16"]),
            get("http://169.254.169.254/hidden"),
        )
        .but_under(any().and(&["169.254.169.254"])),
        Row::new(
            SPELLED,
            "the runner's host in an allowed range",
            any().and(&["203.0.113.0/24"]),
            get(&format!("http://{OWN}/hidden")),
        )
        .but_under(any().and(&[OWN])),
        Row::new(
            SPELLED,
            "a denied address inside IPv6",
            any().and(&["[64:ff9b::a00:1]", "10.0.0.1"]).not(&["10.0.0.0/8"]),
            get("http://[64:ff9b::a00:1]/hidden"),
        )
        .but_under(any().and(&["[64:ff9b::a00:1]", "10.0.0.1"])),
    ]
}
