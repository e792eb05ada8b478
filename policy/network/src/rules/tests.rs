//! Tests of the lists of a layer.

use proptest::prelude::*;

use super::*;

fn list(entries: &[&str]) -> Vec<String> {
    entries.iter().map(|entry| (*entry).to_owned()).collect()
}

fn allowing(entries: &[&str]) -> Rules {
    Rules::parse(false, &list(entries), &[]).unwrap_or_else(|errors| panic!("{errors:?}"))
}

fn denying(entries: &[&str]) -> Rules {
    Rules::parse(false, &[], &list(entries)).unwrap_or_else(|errors| panic!("{errors:?}"))
}

fn target(text: &str) -> Target {
    Target::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Each entry, with targets that it allows and targets that it does not.
const ALLOWED: &[(&str, &[&str], &[&str])] = &[
    (
        "example.com",
        &["example.com:443", "example.com:80", "EXAMPLE.com.:443"],
        &[
            "example.com:8080",
            "www.example.com:443",
            "example.com.evil.org:443",
            "aexample.com:443",
            "10.0.0.1:443",
        ],
    ),
    ("EXAMPLE.com.", &["example.com:443"], &["example.org:443"]),
    ("bücher.example", &["xn--bcher-kva.example:443"], &["bucher.example:443"]),
    (
        "*.example.com",
        &["www.example.com:443", "a.b.c.example.com:80"],
        &["example.com:443", "aexample.com:443", "www.example.com:22", "example.com.evil.org:80"],
    ),
    ("*.example.com:8443", &["www.example.com:8443"], &["www.example.com:443", "example.com:8443"]),
    ("example.com:8080", &["example.com:8080"], &["example.com:80", "example.com:443"]),
    ("example.com:22/tcp", &["example.com:22"], &["example.com:2", "example.com:443"]),
    ("localhost:8080", &["localhost:8080"], &["localhost:80", "127.0.0.1:8080"]),
    ("localhost.", &["localhost:80"], &["localhost:8080"]),
    (
        "10.0.0.5:5432/tcp",
        &["10.0.0.5:5432", "0xa.5:5432", "[::ffff:10.0.0.5]:5432"],
        &["10.0.0.6:5432", "10.0.0.5:443"],
    ),
    ("10.0.0.5", &["10.0.0.5:443", "10.0.0.5:80"], &["10.0.0.5:5432", "[64:ff9b::10.0.0.5]:443"]),
    ("167772165", &["10.0.0.5:443"], &["10.0.0.6:443"]),
    (
        "10.1.0.0/16:5432/tcp",
        &["10.1.0.0:5432", "10.1.255.255:5432"],
        &["10.0.255.255:5432", "10.2.0.0:5432", "10.1.0.1:80"],
    ),
    ("10.1.0.0/16", &["10.1.2.3:80", "10.1.2.3:443"], &["10.1.2.3:81"]),
    ("2001:db8::1", &["[2001:db8::1]:443"], &["[2001:db8::2]:443", "[2001:db8::1]:22"]),
    ("[2001:db8::1]:22/tcp", &["[2001:db8::1]:22"], &["[2001:db8::1]:443"]),
    ("2001:db8::/32", &["[2001:db8:ffff::1]:443"], &["[2001:db9::]:443"]),
    ("[2001:db8::/32]:8080", &["[2001:db8::1]:8080"], &["[2001:db8::1]:80"]),
    ("[2001:db8::]/32:8080", &["[2001:db8::1]:8080"], &["[2001:db8::1]:80"]),
    ("2001:db8::/32:8080", &["[2001:db8::1]:8080"], &["[2001:db8::1]:80"]),
    (
        "pypi",
        &["pypi.org:443", "files.pythonhosted.org:443"],
        &["upload.pypi.org:443", "pypi:443", "pypi.org:22"],
    ),
    ("pypi:443", &["pypi:443"], &["pypi.org:443"]),
    ("ubuntu", &["de.archive.ubuntu.com:80"], &["ubuntu.com:80"]),
    (
        "github",
        &["github.com:443", "codeload.github.com:443"],
        &["gist.github.com:443", "api.github.com:443", "github.com:22"],
    ),
    ("metadata.google.internal", &["metadata.google.internal:80"], &["metadata.goog:80"]),
    // A domain does not list names that lead to credentials.
    ("*.google.internal", &["x.google.internal:80"], &["metadata.google.internal:80"]),
];

#[test]
fn an_entry_allows_what_it_names() {
    for (entry, allowed, others) in ALLOWED {
        let rules = allowing(&[entry]);
        for text in *allowed {
            assert!(rules.allows(&target(text)).is_some(), "{entry} allows {text}");
        }
        for text in *others {
            assert_eq!(rules.allows(&target(text)), None, "{entry} does not allow {text}");
        }
    }
}

#[test]
fn a_denial_covers_at_least_what_the_same_entry_allows() {
    for (entry, allowed, _) in ALLOWED {
        let rules = denying(&[entry]);
        for text in *allowed {
            assert!(rules.denies(&target(text)).is_some(), "{entry} denies {text}");
        }
    }
}

#[test]
fn a_denial_without_a_port_covers_every_port() {
    let rules = denying(&["example.com", "*.example.org", "10.0.0.0/8", "host:22", "ssh.example.net:22/tcp"]);
    for text in [
        "example.com:1",
        "a.example.org:65535",
        "10.255.0.1:5432",
        "[64:ff9b::10.0.0.1]:1",
        "[2002:a00:1::]:9",
        "host:22",
        "ssh.example.net:22",
    ] {
        assert!(rules.denies(&target(text)).is_some(), "{text}");
    }
    for text in ["www.example.com:1", "example.org:1", "11.0.0.0:1", "host:23", "ssh.example.net:23"] {
        assert_eq!(rules.denies(&target(text)), None, "{text}");
    }
    assert!(denying(&["0.0.0.0/0", "*.com"]).denies(&target("1.1.1.1:443")).is_some());
    assert!(denying(&["*.google.internal"]).denies(&target("metadata.google.internal:80")).is_some());
}

#[test]
fn any_allows_public_hosts_on_the_ports_of_the_web() {
    let any = Rules::parse(true, &[], &[]).unwrap();
    for text in [
        "example.com:443",
        "example.com:80",
        "a.b.co.uk:443",
        "1.1.1.1:443",
        "[2606:4700:4700::1111]:443",
        "a.home.example:80",
    ] {
        assert_eq!(any.allows(&target(text)), Some(Allowed { rule: "any", raw: false }), "{text}");
    }
    for text in [
        "example.com:8080",
        "example.com:22",
        "10.0.0.1:443",
        "127.0.0.1:80",
        "169.254.169.254:80",
        "[::1]:80",
        "[64:ff9b::7f00:1]:80",
        "localhost:80",
        "a.localhost:80",
        "intranet:80",
        "kubernetes:443",
        "kubernetes.default.svc:443",
        "kubernetes.default.svc.cluster.local:443",
        "metadata.google.internal:80",
        "metadata:80",
        "metadata.goog:80",
        "metadata.tencentyun.com:80",
        "printer.local:80",
        "db.corp:443",
        "router.home.arpa:80",
        "ip-10-0-0-1.ec2.internal:80",
    ] {
        assert_eq!(any.allows(&target(text)), None, "{text}");
    }
    let more =
        Rules::parse(true, &list(&["localhost:8080", "db.corp:5432/tcp"]), &list(&["example.com"])).unwrap();
    assert!(more.allows(&target("localhost:8080")).is_some());
    assert!(more.allows(&target("db.corp:5432")).is_some_and(|allowed| allowed.raw));
    assert!(more.denies(&target("example.com:443")).is_some());
}

#[test]
fn an_entry_for_a_raw_tunnel_is_preferred() {
    let rules = allowing(&["*.example.com:22", "git.example.com:22/tcp", "github-ssh"]);
    let allowed = |text| rules.allows(&target(text));
    assert_eq!(allowed("git.example.com:22"), Some(Allowed { rule: "git.example.com:22/tcp", raw: true }));
    assert_eq!(allowed("www.example.com:22"), Some(Allowed { rule: "*.example.com:22", raw: false }));
    assert_eq!(allowed("github.com:22"), Some(Allowed { rule: "github-ssh: github.com:22/tcp", raw: true }));
}

/// Each text that is not an entry of `allow`, with parts of its message.
const WRONG: &[(&str, &[&str])] = &[
    ("", &["it is empty"]),
    ("*", &["`*` is not an entry", "set `any`"]),
    ("any", &["`any` is not an entry", "set `any`"]),
    ("*:443", &["only accepted as the whole first label", "set `any`"]),
    ("*.com", &["a whole top-level domain", "`*.example.com`"]),
    ("*.", &["the host is empty"]),
    ("**.example.com", &["only accepted as the whole first label"]),
    ("*example.com", &["only accepted as the whole first label"]),
    ("www.*.com", &["only accepted as the whole first label"]),
    ("*.*.example.com", &["the host contains `*`"]),
    ("*.10.0.0.1", &["an address has no names below it"]),
    (".example.com", &["begins with a dot", "`*.example.com`"]),
    ("exmaple..com", &["two dots"]),
    ("pypo", &["no preset has this name", "write `pypi`"]),
    ("PyPI", &["no preset has this name", "write `pypi`"]),
    ("github_ssh", &["write `github-ssh`"]),
    ("quarterly-report", &["no preset has this name", "docs/network.md", "`HOST:443`"]),
    ("https://example.com/a", &["it is a URL", "as `example.com`"]),
    ("https://user:secret@example.com:8443/a?b", &["it is a URL", "as `example.com:8443`"]),
    ("example.com/a", &["it is a path", "as `example.com`"]),
    ("example.com/24", &["it is a path", "as `example.com`"]),
    ("user@example.com", &["the host contains `@`"]),
    ("example.com:", &["the port `` is not a number"]),
    ("example.com:0", &["the port `0`"]),
    ("example.com:65536", &["the port `65536`"]),
    ("example.com:80-90", &["the port `80-90`", "each port has an entry"]),
    ("example.com:*", &["the port `*`"]),
    ("example.com:https", &["the port `https`"]),
    ("example.com/tcp", &["a raw tunnel needs a port", "`example.com:PORT/tcp`"]),
    ("10.0.0.0/8/tcp", &["a raw tunnel needs a port"]),
    ("example.com:53/udp", &["`/udp` is not accepted", "`/tcp`"]),
    ("example.com:22/TCP", &["`/TCP` is not accepted", "`/tcp`"]),
    ("10.1.2.3/16", &["not the first of its range", "`10.1.0.0/16`", "`10.1.2.3`"]),
    ("10.0.0.0/33", &["length of the range is wrong", "1 to 32"]),
    ("10.0.0.0/", &["length of the range is wrong"]),
    ("10.0.0.0/+8", &["length of the range is wrong"]),
    ("10.0.0.0/255.0.0.0", &["length of the range is wrong"]),
    ("2001:db8::/129", &["length of the range is wrong", "1 to 128"]),
    ("0.0.0.0/0", &["every address", "set `any`"]),
    ("::/0", &["every address"]),
    ("::ffff:10.0.0.0/104", &["range of IPv4 in the form of IPv6", "`10.0.0.0/8`"]),
    ("10.0.0.256", &["ends in a number"]),
    ("10.0.0.0-10.0.0.9", &["ends in a number"]),
    ("[::1", &["bracket in the wrong place"]),
    ("fe80::1%eth0", &["contains `%`"]),
    ("exam ple.com", &["contains `\\u{20}`"]),
    ("example.com\n", &["contains `\\u{a}`"]),
    ("a\u{1b}[31m.com", &["contains `\\u{1b}`"]),
    ("!example.com", &["contains `!`"]),
];

#[test]
fn an_error_names_the_entry_the_problem_and_the_remedy() {
    let texts: Vec<&str> = WRONG.iter().map(|(text, _)| *text).collect();
    let errors = Rules::parse(false, &list(&texts), &[]).unwrap_err();
    assert_eq!(errors.len(), WRONG.len(), "every entry is reported at once");
    for (index, (error, (text, parts))) in errors.iter().zip(WRONG).enumerate() {
        assert_eq!((error.list, error.index), (List::Allow, Some(index)));
        let message = error.to_string();
        assert!(message.starts_with(&format!("entry {} of `allow`, `", index + 1)), "{message}");
        assert!(message.contains("; ") && message.bytes().all(|b| matches!(b, b' '..=b'~')), "{message}");
        for part in *parts {
            assert!(message.contains(part), "{text:?}: {message:?} contains {part:?}");
        }
        assert!(!message.contains("secret"), "a password is not repeated: {message}");
    }
}

#[test]
fn an_error_of_a_denied_host_names_its_list() {
    let errors = Rules::parse(true, &list(&["*"]), &list(&["example.com", "*", "a b"])).unwrap_err();
    let found: Vec<_> = errors.iter().map(|error| (error.list, error.index)).collect();
    assert_eq!(found, [(List::Allow, Some(0)), (List::Deny, Some(1)), (List::Deny, Some(2))]);
    assert!(errors[1].message.contains("to deny everything, allow nothing"), "{}", errors[1]);
}

#[test]
fn lists_and_entries_are_bounded() {
    let most: Vec<String> = (0..MOST_ENTRIES).map(|number| format!("host{number}.example.com")).collect();
    let rules = Rules::parse(false, &most, &most).unwrap();
    assert!(rules.allows(&target("host999.example.com:443")).is_some());
    let more: Vec<String> = most.iter().cloned().chain(list(&["b.example.com"])).collect();
    let errors = Rules::parse(false, &more, &more).unwrap_err();
    assert_eq!(errors.len(), 2, "one error for each list");
    assert!(errors[0].message.contains("has 1001 entries; write at most 1000"), "{}", errors[0]);
    let long = format!("{}.com", "ü".repeat(MOST_CHARACTERS));
    let errors = Rules::parse(false, &[long], &[]).unwrap_err();
    assert!(errors[0].message.contains("it has 304 characters; write at most 300"), "{}", errors[0]);
    assert!(errors[0].message.len() < 250, "an error is short");
    let repeated = vec!["github".to_owned(); MOST_ENTRIES];
    assert!(Rules::parse(false, &repeated, &[]).unwrap().allow.len() < 20, "a preset counts once");
}

fn entry() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        proptest::sample::select(vec![
            "*.",
            "*",
            "example",
            "com",
            ".",
            ".com",
            ":",
            "/",
            "/tcp",
            "/8",
            "443",
            "22",
            "10.0.0.0",
            "[",
            "]",
            "::1",
            "2001:db8::",
            "pypi",
            "github",
            "xn--",
            "ü",
            "0x7f",
            "://",
            "@",
            "%",
            " ",
            "\0",
            "-",
            "_",
            "any",
            "/32",
            "/128",
            "::ffff:",
        ])
        .prop_map(str::to_owned),
        any::<char>().prop_map(String::from),
    ];
    proptest::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn parsing_is_total(any in any::<bool>(), allow in proptest::collection::vec(entry(), 0..3), deny in proptest::collection::vec(entry(), 0..3)) {
        match Rules::parse(any, &allow, &deny) {
            Ok(rules) => prop_assert_eq!(rules.any, any),
            Err(errors) => for error in errors {
                prop_assert!(error.message.bytes().all(|b| matches!(b, b' '..=b'~')), "{}", error);
                prop_assert!(error.message.len() < 500, "{}", error);
            },
        }
    }

    /// A host that is an entry allows itself, however it is written.
    #[test]
    fn an_entry_allows_its_own_host(text in entry()) {
        let is_preset = presets::find(&text).is_some();
        if let (Ok(host), Ok(rules), false) = (Host::parse(&text), Rules::parse(false, std::slice::from_ref(&text), &[]), is_preset) {
            let target = Target { host, port: 443 };
            prop_assert!(rules.allows(&target).is_some());
        }
    }
}
