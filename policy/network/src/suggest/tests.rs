//! Tests of the smallest list.

use proptest::prelude::*;

use super::*;
use crate::{layers::Layer, layers::Layers, layers::Verdict, rules::Rules};

use LayerName::{Floor, Profile, Request, Session};

fn used(target: &str) -> Used {
    let (host, port) = target.rsplit_once(':').unwrap();
    Used { host: host.to_owned(), port: port.parse().unwrap(), ..Used::default() }
}

fn refused(target: &str, layers: &[LayerName]) -> Used {
    Used { refused: true, layers: layers.to_vec(), reason: "the remedy".to_owned(), ..used(target) }
}

fn allow(targets: &[&str]) -> Vec<String> {
    let connections: Vec<Used> = targets.iter().map(|target| used(target)).collect();
    let Suggestion { allow, others } = suggest(&connections);
    assert_eq!(others, []);
    allow
}

#[test]
fn hosts_have_the_narrowest_entries_and_each_is_listed_once() {
    for (targets, expected) in [
        (&[][..], &[][..]),
        (&["b.example:443", "a.example:443", "b.example:443"], &["a.example:443", "b.example:443"]),
        (&["a.example:80"], &["a.example:80"]),
        (&["a.example:80", "a.example:443"], &["a.example"]),
        (&["a.example:80", "a.example:443", "a.example:8080"], &["a.example", "a.example:8080"]),
        (&["a.example:22", "a.example:5432"], &["a.example:22/tcp", "a.example:5432/tcp"]),
        (&["1.1.1.1:443", "[2606:4700::1]:443"], &["1.1.1.1:443", "[2606:4700::1]:443"]),
        (&["BÜCHER.example.:443"], &["xn--bcher-kva.example:443"]),
        (&["a.b.example:443", "c.b.example:443"], &["a.b.example:443", "c.b.example:443"]),
    ] {
        assert_eq!(allow(targets), expected, "{targets:?}");
    }
}

#[test]
fn a_preset_is_preferred_if_each_of_its_hosts_is_used() {
    for (targets, expected) in [
        (&["pypi.org:443", "files.pythonhosted.org:443"][..], &["pypi"][..]),
        (&["pypi.org:443"], &["pypi.org:443"]),
        (&["registry.npmjs.org:443", "a.example:443"], &["npm", "a.example:443"]),
        (&["github.com:443", "codeload.github.com:443"], &["codeload.github.com:443", "github.com:443"]),
        (&["deb.debian.org:80", "security.debian.org:80"], &["debian"]),
        (&["pypi.org:8443", "files.pythonhosted.org:443"], &["files.pythonhosted.org:443", "pypi.org:8443"]),
        // A preset with a domain allows more than the hosts that were used.
        (
            &[
                "archive.ubuntu.com:80",
                "de.archive.ubuntu.com:80",
                "security.ubuntu.com:80",
                "ports.ubuntu.com:80",
            ],
            &[
                "archive.ubuntu.com:80",
                "de.archive.ubuntu.com:80",
                "ports.ubuntu.com:80",
                "security.ubuntu.com:80",
            ],
        ),
    ] {
        assert_eq!(allow(targets), expected, "{targets:?}");
    }
}

#[test]
fn a_raw_tunnel_that_was_allowed_stays_one() {
    let one = Used { rule: "a.example:443/tcp".to_owned(), ..used("a.example:443") };
    assert_eq!(suggest(&[one]).allow, ["a.example:443/tcp"]);
    let of_preset = |target| Used { rule: format!("github-ssh: {target}/tcp"), ..used(target) };
    let both = [of_preset("github.com:22"), of_preset("ssh.github.com:443")];
    assert_eq!(suggest(&both).allow, ["github-ssh"]);
}

/// Returns the reason why a single connection is left out.
fn left_out(one: Used) -> String {
    let target = format!("{}:{}", one.host, one.port);
    let Suggestion { allow, others } = suggest(&[one.clone(), one]);
    assert_eq!(allow, Vec::<String>::new());
    let [other] = &others[..] else { panic!("{others:?}") };
    assert_eq!(other.target, target);
    other.reason.clone()
}

#[test]
fn what_a_list_cannot_allow_is_named_with_its_reason() {
    let inside = Used { address_kind: "private".to_owned(), ..refused("db.example:5432", &[Profile]) };
    assert_eq!(left_out(inside), "it is at an internal address (private); the remedy");
    for (target, kind) in [
        ("10.0.0.5:443", "private"),
        ("127.0.0.1:80", "loopback"),
        ("169.254.169.254:80", "metadata"),
        ("[fd00::1]:443", "private"),
        ("[64:ff9b::a00:1]:443", "private"),
    ] {
        let reason = left_out(refused(target, &[Profile]));
        assert_eq!(reason, format!("it is an internal address ({kind}); the remedy"), "{target}");
    }
    for target in ["db:5432", "localhost:80", "a.svc:443", "metadata.google.internal:80"] {
        assert!(left_out(refused(target, &[Profile])).contains("local network"), "{target}");
    }
    for layers in [&[Floor][..], &[Profile, Floor], &[Session, Floor]] {
        let reason = left_out(refused("a.example:443", layers));
        assert_eq!(reason, "the floor of the runner refuses it; the remedy");
    }
    let denied = Used { rule: "*.example".to_owned(), ..refused("a.example:443", &[Session]) };
    assert_eq!(left_out(denied), "`*.example` of the session denies it; the remedy");
    for target in ["a\\u{0}b:0", "a b:443", "a.example:0"] {
        assert!(left_out(refused(target, &[])).contains("not a valid target"), "{target}");
    }
}

#[test]
fn a_host_that_needs_a_second_change_is_in_the_list_and_is_named() {
    let both = Suggestion {
        allow: vec!["a.example:443".to_owned()],
        others: vec![OtherChange {
            target: "a.example:443".to_owned(),
            reason: "the session refuses it, too; the remedy".to_owned(),
        }],
    };
    assert_eq!(suggest(&[refused("a.example:443", &[Profile, Session])]), both);
    assert_eq!(suggest(&[refused("a.example:443", &[Session, Request])]), both);
    let contents = suggest(&[refused("a.example:8443", &[])]);
    assert_eq!(contents.allow, ["a.example:8443"]);
    assert!(contents.others[0].reason.contains("not this use; the remedy"), "{contents:?}");
}

#[test]
fn an_internal_host_that_was_reached_is_listed() {
    assert_eq!(allow(&["10.0.0.5:5432", "db:8080"]), ["10.0.0.5:5432/tcp", "db:8080"]);
}

proptest! {
    /// The list allows every connection that it is made of, and no target beside them except other ports of a preset.
    #[test]
    fn the_list_allows_what_was_used_and_nothing_else(chosen in proptest::collection::vec(0..10_usize, 0..12)) {
        const TARGETS: [&str; 10] = ["a.example:443", "a.example:80", "b.example:22", "b.example:9000", "pypi.org:443", "files.pythonhosted.org:443", "github.com:22", "ssh.github.com:443", "1.1.1.1:443", "registry.npmjs.org:443"];
        let connections: Vec<Used> = chosen.iter().map(|index| refused(TARGETS[*index], &[Profile])).collect();
        let list = suggest(&connections).allow;
        let rules = Rules::parse(false, &list, &[]).unwrap();
        let layers = Layers::new(vec![Layer { name: Profile, rules }]);
        for (index, text) in TARGETS.iter().enumerate() {
            let target = Target::parse(text).unwrap();
            let allows = matches!(layers.decide(&target), Verdict::Allowed { .. });
            prop_assert_eq!(allows, chosen.contains(&index), "{} with {:?}", text, list);
        }
    }
}
