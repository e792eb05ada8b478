//! Values are read from both versions of the engine, and each request is as the API requires.

use airlock_vault::{Address, AddressError, Health, Place, PlaceError, Settings, Vault};

use crate::fixture::{READ, Server, TOKEN, VALUE, read};

#[tokio::test]
async fn a_field_is_read_over_tls_with_the_token_and_the_namespace() {
    let server = Server::start().await;
    let vault = Vault::new(Settings { namespace: Some("team-a".to_owned()), ..server.settings() });
    assert_eq!(read(&vault).await.unwrap(), VALUE);
    let seen = server.state().seen.clone();
    assert_eq!(seen.len(), 1);
    assert_eq!(seen[0].line, READ);
    let header = |name: &str| seen[0].headers.get(name).map(String::as_str);
    assert_eq!(header("x-vault-token"), Some(TOKEN), "without the final newline of the file");
    assert_eq!(header("x-vault-namespace"), Some("team-a"));
    assert_eq!(header("x-vault-request"), Some("true"));
    assert_eq!(header("host"), server.address.strip_prefix("https://"));
}

#[tokio::test]
async fn both_versions_of_the_engine_and_encoded_paths_are_read() {
    let server = Server::start().await;
    let vault = Vault::new(server.settings());
    for place in [
        Place::new("kv", "team/api", "token", 1).unwrap(),
        Place::new("secret", "with space?/ü", "token", 2).unwrap(),
    ] {
        assert_eq!(*vault.read(&place).await.unwrap(), VALUE, "{place:?}");
    }
    assert_eq!(server.lines(), ["GET /v1/kv/team/api", "GET /v1/secret/data/with%20space%3F/%C3%BC"]);
    let other = Place::new("secret", "team/api", "other", 2).unwrap();
    assert_eq!(*vault.read(&other).await.unwrap(), "another");
}

#[tokio::test]
async fn plain_http_is_used_only_on_the_loopback_and_only_if_permitted() {
    let server = Server::with(false).await;
    let vault = Vault::new(Settings { ca: None, ..server.settings() });
    assert_eq!(read(&vault).await.unwrap(), VALUE);
    for (text, insecure, error) in [
        (server.address.as_str(), false, AddressError::Plain),
        ("http://10.0.0.5:8200", true, AddressError::Plain),
        ("http://localhost:8200", true, AddressError::Plain),
        ("https://vault.example/v1", false, AddressError::Form),
        ("https://user@vault.example", false, AddressError::Form),
        ("vault.example:8200", false, AddressError::Form),
        ("ftp://vault.example", false, AddressError::Form),
        ("", false, AddressError::Form),
    ] {
        assert_eq!(Address::parse(text, insecure), Err(error), "{text}");
    }
    for (text, insecure) in
        [("https://vault.example", false), ("https://[::1]:1", false), ("http://[::1]:1", true)]
    {
        assert!(Address::parse(text, insecure).is_ok(), "{text}");
    }
}

#[test]
fn a_place_has_no_part_that_leads_elsewhere() {
    for (mount, path, field, error) in [
        ("", "a", "f", PlaceError::Mount),
        ("secret/", "a", "f", PlaceError::Mount),
        ("../sys", "a", "f", PlaceError::Mount),
        ("secret", "", "f", PlaceError::Path),
        ("secret", "/a", "f", PlaceError::Path),
        ("secret", "a//b", "f", PlaceError::Path),
        ("secret", "a/../b", "f", PlaceError::Path),
        ("secret", "a/./b", "f", PlaceError::Path),
        ("secret", "a\nb", "f", PlaceError::Path),
        ("secret", "a", "", PlaceError::Field),
        ("secret", "a", "f\r", PlaceError::Field),
    ] {
        assert_eq!(Place::new(mount, path, field, 2), Err(error), "{mount} {path} {field}");
    }
    let long = "a".repeat(513);
    assert_eq!(Place::new("secret", &long, "f", 2), Err(PlaceError::Path));
}

#[tokio::test]
async fn the_health_needs_no_token() {
    let server = Server::start().await;
    let vault = Vault::new(Settings { namespace: Some("team-a".to_owned()), ..server.settings() });
    assert_eq!(vault.health().await.unwrap(), Health { version: "1.2.3".to_owned() });
    let seen = server.state().seen.clone();
    assert!(!seen[0].headers.contains_key("x-vault-token"), "{seen:?}");
    assert!(!seen[0].headers.contains_key("x-vault-namespace"), "only the root namespace has it: {seen:?}");
    for (status, body) in [(503, r#"{"sealed":true}"#), (501, "{}"), (200, r#"{"sealed":true}"#), (404, "{}")]
    {
        server.state().instead = Some((status, body.to_owned()));
        assert!(vault.health().await.is_err(), "{status} {body}");
    }
}
