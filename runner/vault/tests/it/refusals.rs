//! Failures are bounded, named, and show no secret.

use std::{fs, time::Duration};

use airlock_vault::{Address, Place, Settings, Vault, VaultError};
use tokio::net::TcpListener;

use crate::fixture::{JWT, Server, TOKEN, VALUE, read};

/// Returns the texts of an error, which must contain no secret.
fn told(error: &VaultError) -> String {
    let text = format!("{error} {error:?}");
    for secret in [VALUE, TOKEN, JWT] {
        assert!(!text.contains(secret), "{text}");
    }
    text
}

#[tokio::test]
async fn each_answer_other_than_the_value_is_an_error_with_a_remedy() {
    let server = Server::start().await;
    let vault = Vault::new(server.settings());
    let secret = format!("{{\"errors\": [\"{VALUE} {TOKEN}\"]}}");
    for (status, body, expected) in [
        (403, secret.as_str(), "permit `read` of the path in its policy"),
        (404, &secret, "check `mount`, `path` and `kv_version`"),
        (429, &secret, "not available (status 429)"),
        (500, &secret, "not available (status 500)"),
        (503, &secret, "sealed or not available (status 503)"),
        (307, "", "status 307"),
        (204, "", "status 204"),
        (200, VALUE, "not one of Vault"),
        (200, &secret, "not one of Vault"),
        (
            200,
            "{\"data\": {\"token\": \"of version 1, unversioned\"}}",
            "check `egress.vault.address` and `kv_version`",
        ),
    ] {
        server.state().instead = Some((status, body.to_owned()));
        let error = told(&read(&vault).await.unwrap_err());
        assert!(error.contains(expected), "{status}: {error}");
    }
    server.state().instead = None;
    for field in ["absent", "number"] {
        let place = Place::new("secret", "team/api", field, 2).unwrap();
        let error = vault.read(&place).await.unwrap_err();
        assert!(matches!(error, VaultError::Field), "{field}: {}", told(&error));
    }
    let place = Place::new("secret", "team/nothing", "token", 2).unwrap();
    assert!(matches!(vault.read(&place).await, Err(VaultError::NotFound)));
}

#[tokio::test]
async fn a_long_answer_is_refused() {
    let server = Server::start().await;
    let vault = Vault::new(server.settings());
    server.state().instead = Some((200, "x".repeat(64 * 1024 + 1)));
    let error = read(&vault).await.unwrap_err();
    assert!(matches!(error, VaultError::TooLarge(65_536)), "{error:?}");
    server.state().instead = Some((200, "x".repeat(64 * 1024)));
    assert!(matches!(read(&vault).await, Err(VaultError::Malformed)), "the control");
}

#[tokio::test]
async fn a_server_that_does_not_answer_ends_the_wait() {
    let server = Server::start().await;
    server.state().hangs = true;
    let timeout = Duration::from_millis(300);
    let vault = Vault::new(Settings { timeout, ..server.settings() });
    assert!(matches!(read(&vault).await, Err(VaultError::Late(_))));
    assert!(matches!(vault.health().await, Err(VaultError::Late(_))));
    // One that accepts no handshake.
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = Address::parse(&format!("https://{}", silent.local_addr().unwrap()), false).unwrap();
    let vault = Vault::new(Settings { address, timeout, ..server.settings() });
    assert!(matches!(read(&vault).await, Err(VaultError::Late(_))));
}

#[tokio::test]
async fn a_server_that_is_not_there_or_not_verified_gets_no_token() {
    let server = Server::start().await;
    let held = tokio::net::TcpSocket::new_v4().unwrap();
    held.bind(([127, 0, 0, 1], 0).into()).unwrap();
    let address = Address::parse(&format!("https://{}", held.local_addr().unwrap()), false).unwrap();
    let gone = Vault::new(Settings { address, ..server.settings() });
    let error = read(&gone).await.unwrap_err();
    assert!(matches!(error, VaultError::Connect(_)), "{}", told(&error));

    let other = Server::start().await;
    let untrusted = Vault::new(Settings { ca: Some(other.file("ca.pem")), ..server.settings() });
    let error = read(&untrusted).await.unwrap_err();
    assert!(matches!(error, VaultError::Tls(_)) && told(&error).contains("egress.vault.ca"), "{error:?}");
    let of_system = Vault::new(Settings { ca: None, ..server.settings() });
    assert!(matches!(read(&of_system).await, Err(VaultError::Tls(_) | VaultError::Ca(_))));
    // The certificate is for 127.0.0.1 only.
    let port = server.address.rsplit_once(':').unwrap().1;
    let address = Address::parse(&format!("https://localhost:{port}"), false).unwrap();
    let misnamed = Vault::new(Settings { address, ..server.settings() });
    assert!(matches!(read(&misnamed).await, Err(VaultError::Tls(_) | VaultError::Connect(_))));
    assert!(server.lines().is_empty(), "nothing was sent");

    fs::write(server.file("ca.pem"), "no certificate").unwrap();
    let error = read(&Vault::new(server.settings())).await.unwrap_err();
    assert!(matches!(error, VaultError::Ca(_)), "{}", told(&error));
}

#[tokio::test]
async fn no_debug_form_contains_a_secret() {
    let server = Server::start().await;
    let vault = Vault::new(server.settings());
    assert_eq!(read(&vault).await.unwrap(), VALUE);
    let text = format!("{vault:?} {:?}", server.settings());
    assert!(!text.contains(VALUE) && !text.contains(TOKEN), "{text}");
}
