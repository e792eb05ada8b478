//! Tests of authentication by certificate, by token and on loopback.

use std::sync::Arc;

use rcgen::{CertificateParams, DnType, KeyPair, SanType};

use super::{Authenticator, CertificateNames, Peer};
use crate::{config::Config, status::AuthenticationError};

/// A configuration with one identity of each kind. The token is `hello`.
const CONFIG: &str = r#"
server_id = "s"
[listen]
address = "127.0.0.1:0"
[listen.tls]
certificate = "c"
key = "k"
client_ca = "ca"
[store]
path = "s"
[outputs]
directory = "o"
[limits]
authentication_failures_per_minute = 3
[[identity]]
name = "ci"
tenant = "one"
roles = ["executor"]
profiles = ["sandboxed", "strict"]
match = { token_sha256 = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824" }
[[identity]]
name = "runner-1"
tenant = "system"
roles = ["runner"]
match = { spiffe = "spiffe://airlock/runner/1" }
[[identity]]
name = "lead"
tenant = "one"
roles = ["approver", "executor"]
match = { dns = "lead.example.org" }
[[identity]]
name = "root"
tenant = "one"
roles = ["admin"]
match = { common_name = "root" }
"#;

fn authenticator() -> Authenticator {
    Authenticator::new(&Config::parse(CONFIG, "t").unwrap())
}

fn peer(certificate: Option<CertificateNames>) -> Peer {
    Peer { address: "192.0.2.1:1000".parse().unwrap(), certificate: certificate.map(Arc::new) }
}

/// Creates the names through a real certificate, which also tests the parser.
fn names(common: &str, dns: &[&str], uris: &[&str]) -> CertificateNames {
    let mut params = CertificateParams::new(vec![]).unwrap();
    params.distinguished_name.push(DnType::CommonName, common);
    params.subject_alt_names.extend(dns.iter().map(|name| SanType::DnsName((*name).try_into().unwrap())));
    params.subject_alt_names.extend(uris.iter().map(|uri| SanType::URI((*uri).try_into().unwrap())));
    let certificate = params.self_signed(&KeyPair::generate().unwrap()).unwrap();
    CertificateNames::read(certificate.der())
}

#[test]
fn certificates_are_matched_by_their_surest_name() {
    let known = authenticator();
    let who = |names| known.authenticate(&peer(Some(names)), None).map(|caller| caller.principal.name);
    assert_eq!(who(names("x", &[], &["spiffe://airlock/runner/1"])).unwrap(), "runner-1");
    assert_eq!(who(names("root", &["lead.example.org"], &[])).unwrap(), "lead");
    assert_eq!(who(names("root", &[], &["https://airlock/runner/1"])).unwrap(), "root");
    let nobody = Err(AuthenticationError::UnknownCertificate);
    assert_eq!(who(names("Root", &["other.example.org"], &["spiffe://airlock/runner/2"])), nobody);
    assert_eq!(who(CertificateNames::default()), nobody);
}

#[test]
fn a_certificate_of_several_identities_is_nobodys() {
    let text = CONFIG.replace("{ common_name = \"root\" }", "{ dns = \"root.example.org\" }");
    let known = Authenticator::new(&Config::parse(&text, "t").unwrap());
    let both = names("x", &["lead.example.org", "root.example.org"], &[]);
    let error = known.authenticate(&peer(Some(both)), None).unwrap_err();
    assert_eq!(error, AuthenticationError::AmbiguousCertificate);
}

#[test]
fn tokens_are_known_by_their_hash() {
    let known = authenticator();
    let caller = known.authenticate(&peer(None), Some(b"Bearer hello")).unwrap();
    assert_eq!(caller.principal.name, "ci");
    assert_eq!(caller.principal.profiles, ["sandboxed", "strict"]);
    assert_eq!(caller.principal.peer, "192.0.2.1:1000");
    assert!(caller.require_runner(&"ci".parse().unwrap()).is_err());
    assert!(known.authenticate(&peer(None), Some(b"bearer hello")).is_ok());
}

#[test]
fn bad_tokens_are_refused_and_not_made_good_by_a_certificate() {
    let table: [(&[u8], AuthenticationError); 5] = [
        (b"Bearer hellO", AuthenticationError::UnknownToken),
        (b"Basic aGVsbG8=", AuthenticationError::Malformed),
        (b"Bearer ", AuthenticationError::Malformed),
        (b"", AuthenticationError::Malformed),
        (b"\xff\xfe", AuthenticationError::Malformed),
    ];
    for (value, error) in table {
        let good = peer(Some(names("root", &[], &[])));
        // A new authenticator for each case, so that failures do not accumulate.
        assert_eq!(authenticator().authenticate(&good, Some(value)).unwrap_err(), error);
    }
    assert_eq!(authenticator().authenticate(&peer(None), None).unwrap_err(), AuthenticationError::Missing);
}

#[test]
fn too_many_failures_block_tokens_and_not_certificates() {
    let known = authenticator();
    for _ in 0..4 {
        let _ = known.authenticate(&peer(None), Some(b"Bearer guess"));
    }
    let over = known.authenticate(&peer(None), Some(b"Bearer hello")).unwrap_err();
    assert_eq!(over, AuthenticationError::TooManyFailures);
    assert!(known.authenticate(&peer(Some(names("root", &[], &[]))), None).is_ok());
}

#[test]
fn a_runner_speaks_for_itself_alone() {
    let known = authenticator();
    let runner = peer(Some(names("x", &[], &["spiffe://airlock/runner/1"])));
    let caller = known.authenticate(&runner, None).unwrap();
    assert!(caller.require_runner(&"runner-1".parse().unwrap()).is_ok());
    assert!(caller.require_runner(&"runner-2".parse().unwrap()).is_err());
}

#[test]
fn on_insecure_loopback_everybody_is_the_configured_identity() {
    let text = CONFIG
        .replace(
            "[listen.tls]\ncertificate = \"c\"\nkey = \"k\"\nclient_ca = \"ca\"\n",
            "insecure_loopback = true\n",
        )
        .split("[[identity]]")
        .next()
        .unwrap()
        .to_owned()
        + "[[identity]]\nname = \"dev\"\ntenant = \"one\"\nroles = [\"executor\", \"runner\"]\nrunner_ids = [\"*\"]\nmatch = \"loopback\"\n";
    let known = Authenticator::new(&Config::parse(&text, "t").unwrap());
    let caller = known.authenticate(&peer(None), None).unwrap();
    assert_eq!(
        (caller.principal.name.as_str(), &caller.principal.profiles[..]),
        ("dev", &["strict".to_owned()][..])
    );
    assert!(caller.require_runner(&"any".parse().unwrap()).is_ok());
    assert!(known.authenticate(&peer(None), Some(b"Bearer hello")).is_err());
}
