//! Spellings that an attacker tries: each is read as the address or name that it means, or is refused.

use std::net::IpAddr;

use crate::{address::views, host::Host};

/// Texts that mean 127.0.0.1, or contain it.
const LOOPBACK: [&str; 43] = [
    "127.0.0.1",
    "127.0.0.1.",
    "127.1",
    "127.0.1",
    "127.1.",
    "2130706433",
    "2130706433.",
    "0x7f000001",
    "0X7F000001",
    "0x7F.0x0.0x0.0x1",
    "0x7f.1",
    "0x7f.0.1",
    "0x07f.0x00.0x00.0x01",
    "017700000001",
    "0177.0.0.1",
    "0177.0.0.01",
    "0177.1",
    "00000177.0.0.1",
    "0177.0x0.0.1",
    "127.0x0.0.01",
    "127.00000.0.1",
    "127.0.0x1",
    "0x7f.0x1",
    "１２７.0.0.1",
    "１２７．０．０．１",
    "127。0。0。1",
    "127｡0｡0｡1",
    "⑫７.1",
    "①②⑦.⓪.⓪.①",
    "𝟏𝟐𝟕.𝟎.𝟎.𝟏",
    "0ｘ7f.1",
    "127\u{ad}.0.0.1",
    "127.0.0.1\u{200b}",
    "[::ffff:127.0.0.1]",
    "::ffff:127.0.0.1",
    "[::ffff:7f00:1]",
    "[::FFFF:7F00:0001]",
    "[0:0:0:0:0:ffff:127.0.0.1]",
    "[::127.0.0.1]",
    "[::7f00:1]",
    "[::ffff:0:127.0.0.1]",
    "[64:ff9b::127.0.0.1]",
    "[2002:7f00:1::]",
];

/// Texts that mean 169.254.169.254, or contain it.
const METADATA: [&str; 36] = [
    "169.254.169.254",
    "169.254.169.254.",
    "2852039166",
    "2852039166.",
    "0xa9fea9fe",
    "0XA9FEA9FE",
    "0xA9.0xFE.0xA9.0xFE",
    "0xa9.254.0xa9.254",
    "0xa9.0xfea9fe",
    "025177524776",
    "0251.0376.0251.0376",
    "0251.254.169.254",
    "0000251.0000376.0000251.0000376",
    "169.254.43518",
    "169.16689662",
    "169.0xfea9fe",
    "169.254.0xa9fe",
    "169.254.0124776",
    "169.0376.169.254",
    "１６９.254.169.254",
    "１６９．２５４．１６９．２５４",
    "169。254。169。254",
    "169｡254｡169｡254",
    "①⑥⑨.②⑤④.①⑥⑨.②⑤④",
    "𝟙𝟞𝟡.𝟚𝟝𝟜.𝟙𝟞𝟡.𝟚𝟝𝟜",
    "169.254.169.254\u{ad}",
    "[::ffff:169.254.169.254]",
    "::ffff:a9fe:a9fe",
    "[::ffff:a9fe:a9fe]",
    "[0:0:0:0:0:FFFF:A9FE:A9FE]",
    "[::169.254.169.254]",
    "[::a9fe:a9fe]",
    "[64:ff9b::a9fe:a9fe]",
    "[64:ff9b:1::169.254.169.254]",
    "[2002:a9fe:a9fe::1]",
    "[2001:db8::5efe:169.254.169.254]",
];

/// Texts that other programs read as an address, and that are refused.
const REFUSED: [&str; 39] = [
    "127.0.0.1 ",
    " 127.0.0.1",
    "127.0.0.1\0",
    "127.0.0.1\t",
    "127.0.0.1\r\n",
    "127.0.0.1\0.example.com",
    "127.0.0.1%00.example.com",
    "127.0.0.1%2eexample.com",
    "%31%32%37.0.0.1",
    "127%2e0%2e0%2e1",
    "127.0.0.1/",
    "127.0.0.1/x.example.com",
    "127.0.0.1#.example.com",
    "127.0.0.1?.example.com",
    "127.0.0.1\\.example.com",
    "example.com@127.0.0.1",
    "127.0.0.1:80",
    "127.0.0.1,example.com",
    "127.0.0.1;example.com",
    "127.0.0.1..",
    ".127.0.0.1",
    "127..0.1",
    "127.0.0.1.1",
    "127.0.0.256",
    "4294967296",
    "6425673729",
    "0x17f000001",
    "0x1000000007f000001",
    "127.0.0.0x100",
    "-127.0.0.1",
    "+127.0.0.1",
    "127.0.0.1e0",
    "1e2",
    "[127.0.0.1]",
    "[::1%25lo]",
    "[::1%lo]",
    "fe80::1%eth0",
    "[::ffff:0177.0.0.1]",
    "[::ffff:127.1]",
];

fn contains(text: &str, address: &str) -> bool {
    let address: IpAddr = address.parse().unwrap();
    matches!(Host::parse(text), Ok(Host::Address(found)) if views(found).contains(&address))
}

#[test]
fn no_spelling_hides_an_address() {
    for text in LOOPBACK {
        assert!(contains(text, "127.0.0.1"), "{text:?}: {:?}", Host::parse(text));
    }
    for text in METADATA {
        assert!(contains(text, "169.254.169.254"), "{text:?}: {:?}", Host::parse(text));
    }
}

#[test]
fn what_others_read_as_an_address_is_refused() {
    for text in REFUSED {
        // These are names, which cannot be an address in any resolver: their last label is not a number.
        let is_name = ["127.0.0.1e0", "1e2"].contains(&text);
        assert_eq!(Host::parse(text).is_err(), !is_name, "{text:?}: {:?}", Host::parse(text));
    }
}

/// Spellings of example.com.
const SAME: &[&str] = &[
    "EXAMPLE.COM",
    "example.com.",
    "ｅｘａｍｐｌｅ.com",
    "example。com",
    "example．com。",
    "ex\u{ad}ample.com",
    "ⓔxample.com",
    "𝐞xample.com",
    "ℯxample.com",
    "exaMple.com",
    "e\u{200b}xample.com",
];

/// Names that look like example.com.
const OTHER: &[&str] = &[
    "example.com.evil.org",
    "evil-example.com",
    "example.com-evil.org",
    "еxample.com",
    "exаmple.com",
    "examp1e.com",
    "example.co",
    "example.com.com",
    "éxample.com",
    "exampłe.com",
    "xn--xample-9uf.com",
    "xn--example-.com",
    "example_com",
    "examplecom",
    "ехample.com",
    "example.cοm",
    "example.com\u{301}",
    "ƒexample.com",
    "example.ⅽom.org",
];

/// Texts that other programs could read as example.com.
const NEITHER: &[&str] = &[
    "example.com\0",
    "example.com\0.evil.org",
    "example.com\r\nHost: evil.org",
    "example.com evil.org",
    "example.com\t",
    "evil.org@example.com",
    "example.com@evil.org",
    "example.com:443@evil.org",
    "example.com%00",
    "example.com%2eevil.org",
    "%65xample.com",
    "example.com/",
    "example.com\\evil.org",
    "example.com#evil.org",
    "example.com?evil.org",
    "example..com",
    ".example.com",
    "example.com..",
    "-example.com",
    "[example.com]",
    "example.com]",
    "example.com,evil.org",
    "example.com|evil.org",
    "*.example.com",
    "example.com\u{7f}",
    "example.com\u{85}",
    "example.com\u{2028}",
    "example.com\u{ff0f}evil",
    "example.com\u{ff20}evil.org",
    "http://example.com",
    "example.com:443",
];

#[test]
fn a_spelling_of_an_allowed_name_is_that_name_or_another_one() {
    let allowed = Host::parse("example.com").unwrap();
    for text in SAME {
        assert_eq!(Host::parse(text).as_ref(), Ok(&allowed), "{text:?}");
    }
    for text in OTHER {
        assert_ne!(Host::parse(text).as_ref(), Ok(&allowed), "{text:?}");
    }
    for text in NEITHER {
        assert!(Host::parse(text).is_err(), "{text:?}: {:?}", Host::parse(text));
    }
}
