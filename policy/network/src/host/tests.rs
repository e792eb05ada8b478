//! Tests of names and addresses: tables, and properties with the crate `url` as a second implementation.

use std::net::IpAddr;

use proptest::prelude::*;

use super::*;

mod hostile;

/// Each normalized name, with its spellings.
const NAMES: &[(&str, &[&str])] = &[
    ("example.com", &["example.com", "EXAMPLE.com", "example.com.", "eXaMpLe.CoM."]),
    ("localhost", &["localhost", "LOCALHOST", "localhost."]),
    ("a", &["a", "A", "a."]),
    (
        "xn--bcher-kva.example",
        &[
            "bücher.example",
            "BÜCHER.example",
            "xn--bcher-kva.example",
            "XN--BCHER-KVA.example",
            "bu\u{308}cher.example",
        ],
    ),
    // Non-transitional processing keeps the sharp s.
    ("xn--fa-hia.de", &["faß.de", "xn--fa-hia.de"]),
    ("fass.de", &["fass.de"]),
    ("xn--n3h.example", &["☃.example"]),
    ("xn--fiqs8s", &["中国", "中国。"]),
    ("_dmarc.example.com", &["_dmarc.example.com"]),
    ("my_service", &["my_service"]),
    // Names in use have two hyphens in this place.
    ("r3---sn-4g5e6nz7.googlevideo.com", &["r3---sn-4g5e6nz7.googlevideo.com"]),
    ("0xg.com", &["0xg.com"]),
    ("1.2.3.4.example", &["1.2.3.4.example"]),
    ("1.2.3.4x", &["1.2.3.4x"]),
    ("127.0.0.1.nip.io", &["127.0.0.1.nip.io"]),
    ("0xzz", &["0xzz"]),
    ("a1", &["a1"]),
    ("1a", &["1a"]),
];

#[test]
fn a_name_has_one_normalized_form() {
    for (name, spellings) in NAMES {
        for spelling in *spellings {
            let host = Host::parse(spelling).unwrap_or_else(|error| panic!("{spelling:?}: {error}"));
            assert_eq!(host, Host::Name(HostName::from_normalized((*name).to_owned())), "{spelling:?}");
        }
    }
}

/// The valid addresses of the tests of the WHATWG URL Standard, and some more.
const ADDRESSES: &[(&str, &[&str])] = &[
    ("0.0.0.0", &["0", "0.0", "0.0.0.0", "0x", "0x.0x.0", "0X0", "00000000"]),
    ("0.0.0.1", &["1", "0.1", "0x1", "01"]),
    ("1.0.0.0", &["1.0", "0x1000000"]),
    ("1.2.3.4", &["1.2.3.4", "1.2.3.4.", "1.2.772", "1.131844", "16909060", "0x01020304", "01.02.03.04"]),
    ("192.168.0.1", &["192.168.0.1", "192.0x00A80001", "0xc0.0250.01", "0xc0a80001", "030052000001"]),
    ("127.0.0.0", &["127.0.0.0x"]),
    ("1.0.1.0", &["1.256"]),
    (
        "255.255.255.255",
        &["255.255.255.255", "4294967295", "0xffffffff", "037777777777", "255.16777215", "255.255.65535"],
    ),
    ("::1", &["[::1]", "::1", "[0:0:0:0:0:0:0:1]", "[0000:0000::0001]"]),
    ("::", &["[::]", "::", "[::0.0.0.0]"]),
    ("2001:db8::1", &["[2001:db8::1]", "[2001:DB8:0:0:0:0:0:1]", "2001:0db8::0001"]),
    ("127.0.0.1", &["[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "::FFFF:127.0.0.1", "[0:0:0:0:0:ffff:7f00:1]"]),
    ("::127.0.0.1", &["[::127.0.0.1]", "[::7f00:1]"]),
    ("64:ff9b::7f00:1", &["[64:ff9b::127.0.0.1]", "[64:ff9b::7f00:1]"]),
];

#[test]
fn an_address_has_one_normalized_form() {
    for (address, spellings) in ADDRESSES {
        for spelling in *spellings {
            let host = Host::parse(spelling).unwrap_or_else(|error| panic!("{spelling:?}: {error}"));
            assert_eq!(host, Host::Address(address.parse().unwrap()), "{spelling:?}");
        }
    }
}

fn long_name(length: usize) -> String {
    let mut name = "a".repeat(49);
    while name.len() < length {
        name.push('.');
        name.push_str(&"b".repeat((length - name.len()).min(49)));
    }
    name
}

/// Each error, with texts that cause it.
const REFUSED: &[(HostError, &[&str])] = &[
    (HostError::Empty, &[""]),
    (
        HostError::EmptyLabel,
        &[
            ".",
            "..",
            "a..b",
            ".a",
            "a..",
            "example.com..",
            "。",
            "\u{ad}",
            "\u{200b}",
            "a。。b",
            "1..2.3.4",
            "127.0.0.1..",
        ],
    ),
    (HostError::Hyphen, &["-", "-a.com", "a-.com", "a.-b", "--", "-1", "xn--", "xn--example-.com"]),
    (
        HostError::Idna,
        &[
            "xn--a",
            "xn--a.com",
            "xn--zn7c.com",
            "a\u{ff0f}b",
            "a\u{ff05}00b",
            "a\u{ff1a}80",
            "a\u{2100}b",
            "-ü.com",
            "ü-.com",
            "a\u{202e}b",
            "\u{fdd0}zyx.com",
            "\u{fffd}.com",
            "a\u{200d}b",
            "\u{0301}a",
        ],
    ),
    (
        HostError::Ipv4,
        &[
            "1.2.3.256",
            "1.2.3.4.5",
            "4294967296",
            "0x100000000",
            "1.2.3.08",
            "09",
            "foo.0",
            "foo.0x4",
            "foo.0x",
            "example.1",
            "1.2.65536",
            "1.16777216",
            "256.0.0.1",
            "0xffffffffffffffffff",
            "1.0xffffffffffffffffffff",
            "99999999999999999999999999",
            "1.2.3.4.5.6.7.8",
            "08.0.0.1",
            "a.1.2.3.4",
        ],
    ),
    (
        HostError::Ipv6,
        &[
            ":",
            "::1::",
            "[]",
            "[1]",
            "[::g]",
            "[:::]",
            "[1:2:3:4:5:6:7:8:9]",
            "[::1.2.3]",
            "[::1.2.3.4.5]",
            "[::01.2.3.4]",
            "[127.0.0.1]",
            "[::256.0.0.1]",
            "a:80",
            "127.0.0.1:80",
            "[::1.2.3.4:5]",
            "fe80::1:",
            "[12345::]",
        ],
    ),
    (HostError::Brackets, &["[::1", "::1]", "[[::1]]", "[::1]a", "a[::1]", "[::1]:80", "example[.com", "]"]),
];

#[test]
fn other_texts_are_refused() {
    for (error, texts) in REFUSED {
        for text in *texts {
            assert_eq!(Host::parse(text), Err(*error), "{text:?}");
        }
    }
}

#[test]
fn the_limits_of_dns_are_exact() {
    assert!(Host::parse(&"a".repeat(63)).is_ok());
    assert_eq!(Host::parse(&"a".repeat(64)), Err(HostError::LongLabel));
    let longest = long_name(253);
    assert_eq!(longest.len(), 253);
    assert!(Host::parse(&longest).is_ok());
    assert!(Host::parse(&format!("{longest}.")).is_ok());
    assert_eq!(Host::parse(&long_name(254)), Err(HostError::TooLong));
    assert_eq!(Host::parse(&"a.".repeat(10_000)), Err(HostError::TooLong));
    assert_eq!(Host::parse(&format!("{}.com", "ü".repeat(60))), Err(HostError::LongLabel));
}

#[test]
fn no_forbidden_character_is_in_a_host() {
    let controls = (0..=0x20).chain(0x7f..=0xa0).filter_map(char::from_u32);
    let spaces = "\u{1680}\u{2000}\u{2028}\u{2029}\u{202f}\u{205f}\u{3000}".chars();
    let punctuation = "!\"#$%&'()*+,/;<=>?@\\^`{|}~".chars();
    for wrong in controls.chain(spaces).chain(punctuation) {
        for text in
            [format!("exa{wrong}mple.com"), format!("{wrong}example.com"), format!("example.com{wrong}")]
        {
            assert_eq!(Host::parse(&text), Err(HostError::Character(wrong)), "{text:?}");
        }
        for text in [format!("127.0.0.1{wrong}"), format!("[::1{wrong}]"), format!("[fe80::1{wrong}eth0]")] {
            assert_eq!(Host::parse(&text), Err(HostError::Character(wrong)), "{text:?}");
        }
    }
}

#[test]
fn an_error_is_one_line_of_ascii() {
    for text in
        ["", "a\u{1b}[31m", "a\nb", "a\u{3000}b", "a..b", "[", "a%00", "a:b", "1.256.1.1", "-", "xn--a"]
    {
        let message = Host::parse(text).unwrap_err().to_string();
        assert!(message.bytes().all(|b| matches!(b, b' '..=b'~')), "{message:?}");
        assert!(message.contains("; "), "{message:?} has a remedy");
    }
}

#[test]
fn a_name_is_below_its_domain_only() {
    let name = |text: &str| match Host::parse(text) {
        Ok(Host::Name(name)) => name,
        other => panic!("{text}: {other:?}"),
    };
    let domain = name("example.com");
    for below in ["a.example.com", "a.b.example.com", "A.EXAMPLE.COM.", "ü.example.com"] {
        assert!(name(below).is_below(&domain), "{below}");
    }
    for other in [
        "example.com",
        "aexample.com",
        "example.com.evil.org",
        "a.example.com.evil.org",
        "com",
        "a.example.co",
        "xexample.com",
    ] {
        assert!(!name(other).is_below(&domain), "{other}");
    }
}

/// Texts of pieces that matter for hosts.
fn tricky() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => proptest::sample::select(vec![
            "a", "example", "com", "xn--", "-", "_", "0x", "0", "7", "127", "255", "256", "08", "ff", "::", ":", "[", "]", "%", "@",
            "。", "．", "１", "ｅ", "ß", "ü", "\u{ad}", "\u{200d}", "\u{301}", "İ", "K", "\0", " ", "/", "٣", "א", "♥", "A", "bcher-kva",
        ]).prop_map(str::to_owned),
        4 => Just(".".to_owned()),
        1 => any::<char>().prop_map(String::from),
    ];
    proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn normalization_is_total_and_idempotent(text in prop_oneof![tricky(), any::<String>()]) {
        if let Ok(host) = Host::parse(&text) {
            prop_assert_eq!(Host::parse(&host.to_string()), Ok(host));
        }
    }

    #[test]
    fn a_name_is_in_the_form_of_dns(text in tricky()) {
        if let Ok(Host::Name(name)) = Host::parse(&text) {
            let name = name.as_str();
            prop_assert!(name.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.')), "{}", name);
            prop_assert!(name.split('.').all(|label| (1..=63).contains(&label.len())) && name.len() <= 253);
            prop_assert!(name.parse::<IpAddr>().is_err());
            prop_assert_eq!(Host::parse(&name.to_ascii_uppercase()), Host::parse(name));
            prop_assert_eq!(Host::parse(&format!("{name}.")), Host::parse(name));
        }
    }

    /// The crate `url` accepts more. It reads what both accept in the same way.
    #[test]
    fn browsers_read_a_host_in_the_same_way(text in tricky()) {
        let other = url::Host::parse(&text);
        match Host::parse(&text) {
            Ok(Host::Name(name)) => {
                let other = other.map(|host| host.to_string());
                let without_dot = other.as_deref().map(|name| name.strip_suffix('.').unwrap_or(name));
                prop_assert_eq!(without_dot, Ok(name.as_str()));
            }
            Ok(Host::Address(address)) if text.starts_with('[') || !text.contains(':') => {
                let other = match other {
                    Ok(url::Host::Ipv4(other)) => IpAddr::V4(other),
                    Ok(url::Host::Ipv6(other)) => IpAddr::V6(other).to_canonical(),
                    other => return Err(TestCaseError::fail(format!("{text:?}: {other:?}"))),
                };
                prop_assert_eq!(address, other);
            }
            Ok(Host::Address(_)) | Err(_) => {}
        }
    }

    #[test]
    fn every_spelling_of_an_ipv4_address_is_found(bits in any::<u32>(), parts in 1..=4_u32, radix in proptest::collection::vec(0..3_u32, 4)) {
        let tail_bits = 8 * (5 - parts);
        let mut values: Vec<u64> = (1..parts).map(|part| u64::from(bits >> (32 - 8 * part) & 255)).collect();
        values.push(u64::from(bits) & ((1_u64 << tail_bits) - 1));
        let spelled: Vec<String> = values.iter().zip(&radix).map(|(value, radix)| match radix {
            0 => format!("{value}"),
            1 => format!("0{value:o}"),
            _ => format!("0x{value:X}"),
        }).collect();
        prop_assert_eq!(Host::parse(&spelled.join(".")), Ok(Host::Address(std::net::Ipv4Addr::from(bits).into())));
    }
}
