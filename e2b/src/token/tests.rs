//! Tests of secrets and signatures.

use super::*;

const NOTHING: &str = "";
// Computed by `get_signature` of the Python SDK, without and with an expiration.
const PLAIN: &str = "v1_Yq2zp0kBDTzweZpRnPTRUUYBrCmOZGk7Z7AoGUhPP9w";
const PADDED: &str = "v1_Yq2zp0kBDTzweZpRnPTRUUYBrCmOZGk7Z7AoGUhPP9w=";
const EXPIRING: &str = "v1_qc9c2HeAJFMxTMJV3uOt7WqU62kHUsfTtsgI9gAaERE";

fn signed<'a>(path: &'a str, signature: &'a str) -> Signed<'a> {
    Signed { path, operation: Operation::Read, user: NOTHING, signature, expiration: None }
}

#[test]
fn ids_and_tokens_are_long_and_differ() {
    let (one, other) = (new_id().unwrap(), new_id().unwrap());
    assert_ne!(one, other);
    assert_eq!(one.len(), ID_CHARACTERS + 1);
    assert!(one.bytes().all(|byte| ALPHABET.contains(&byte)), "{one}");
    let (one, other) = (AccessToken::new().unwrap(), AccessToken::new().unwrap());
    assert_ne!(one.text(), other.text());
    assert_eq!(one.text().len(), 2 * RANDOM_BYTES);
    assert!(!format!("{one:?}").contains(one.text()), "a log shows no token");
}

#[test]
fn a_hash_matches_its_key_only() {
    let key = new_key().unwrap();
    assert!(key.starts_with(KEY_PREFIX));
    let hash = KeyHash::of(&key);
    assert!(KeyHash::parse(&hash.to_hex()).unwrap().matches(&hash));
    assert!(!KeyHash::of(&format!("{key}0")).matches(&hash));
    for wrong in ["", "00", "zz", &hash.to_hex()[1..]] {
        assert!(KeyHash::parse(wrong).is_none(), "{wrong}");
    }
}

#[test]
fn signatures_are_those_of_the_sdk() {
    let token = AccessToken("0123456789abcdef".to_owned());
    assert!(token.has_signed(&signed("/workspace/a b.txt", PLAIN)));
    let expiring = Signed {
        path: "/workspace/a b.txt",
        operation: Operation::Write,
        user: "user",
        signature: EXPIRING,
        expiration: Some(1_900_000_000),
    };
    assert!(token.has_signed(&expiring));
}

#[test]
fn a_signature_permits_nothing_else() {
    let token = AccessToken("0123456789abcdef".to_owned());
    let right = signed("/workspace/a b.txt", PLAIN);
    for (what, wrong) in [
        ("another path", Signed { path: "/workspace/a b.txt/", ..right }),
        ("another operation", Signed { operation: Operation::Write, ..right }),
        ("another user", Signed { user: "root", ..right }),
        ("a later expiration", Signed { expiration: Some(u64::MAX), ..right }),
        ("no signature", Signed { signature: "", ..right }),
        ("another version", Signed { signature: &PLAIN[3..], ..right }),
        ("a padded signature", Signed { signature: PADDED, ..right }),
        // The parts of the signed text are not separable: a path with colons is not another user.
        ("shifted parts", Signed { path: "/workspace/a b.txt:read", user: "", ..right }),
    ] {
        assert!(!token.has_signed(&wrong), "{what}");
    }
    assert!(!AccessToken("another".to_owned()).has_signed(&right), "the token of another sandbox");
}
