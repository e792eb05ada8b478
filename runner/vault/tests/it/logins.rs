//! Tokens: of the file, and of logins with a Kubernetes service account.

use std::{fs, time::Duration};

use airlock_vault::{Settings, Vault, VaultError};
use tokio::time;

use crate::fixture::{JWT, LOGIN, READ, Server, TOKEN, VALUE, read};

/// A client that keeps no value, so that each read is a request.
fn keeps_nothing(settings: Settings) -> Vault {
    Vault::new(Settings { cache: Duration::ZERO, ..settings })
}

#[tokio::test]
async fn one_login_serves_many_reads() {
    let server = Server::start().await;
    let vault = keeps_nothing(server.of_kubernetes());
    for _ in 0..3 {
        assert_eq!(read(&vault).await.unwrap(), VALUE);
    }
    assert_eq!(server.lines(), [LOGIN, READ, READ, READ]);
}

#[tokio::test]
async fn a_refused_token_is_replaced_by_one_more_login() {
    let server = Server::start().await;
    let vault = keeps_nothing(server.of_kubernetes());
    assert_eq!(read(&vault).await.unwrap(), VALUE);
    server.lines();
    server.state().tokens.clear();
    assert_eq!(read(&vault).await.unwrap(), VALUE);
    assert_eq!(server.lines(), [READ, LOGIN, READ]);

    // If the new token is refused too, the read fails.
    server.state().instead = Some((403, "{}".to_owned()));
    assert!(matches!(read(&vault).await, Err(VaultError::Login(403))));
    assert_eq!(server.lines(), [READ, LOGIN]);
}

#[tokio::test]
async fn a_token_is_replaced_before_it_ends() {
    let server = Server::start().await;
    let vault = keeps_nothing(server.of_kubernetes());
    assert_eq!(read(&vault).await.unwrap(), VALUE);
    for (seconds, expected) in [(2000, vec![READ]), (500, vec![LOGIN, READ]), (2000, vec![READ])] {
        server.lines();
        time::pause();
        time::advance(Duration::from_secs(seconds)).await;
        time::resume();
        assert_eq!(read(&vault).await.unwrap(), VALUE);
        assert_eq!(server.lines(), expected, "after {seconds} s");
    }
}

#[tokio::test]
async fn a_new_token_of_the_service_account_is_used_at_the_next_login() {
    let server = Server::start().await;
    let vault = keeps_nothing(server.of_kubernetes());
    fs::write(server.file("jwt"), "an-old-token").unwrap();
    let error = read(&vault).await.unwrap_err();
    assert!(
        matches!(error, VaultError::Login(403)) && error.to_string().contains("kubernetes_role"),
        "{error}"
    );
    fs::write(server.file("jwt"), JWT).unwrap();
    assert_eq!(read(&vault).await.unwrap(), VALUE);
}

#[tokio::test]
async fn a_new_token_in_the_file_is_used_at_once() {
    let server = Server::start().await;
    let vault = keeps_nothing(server.settings());
    server.state().tokens = vec!["hvs.the-next".to_owned()];
    assert!(matches!(read(&vault).await, Err(VaultError::Forbidden)));
    assert_eq!(server.lines(), [READ], "the same token is not sent again");
    fs::write(server.file("token"), "hvs.the-next\n").unwrap();
    assert_eq!(read(&vault).await.unwrap(), VALUE);
}

#[tokio::test]
async fn a_file_without_a_token_is_reported() {
    let server = Server::start().await;
    let vault = keeps_nothing(server.settings());
    for text in ["", " \n", "two\nlines"] {
        fs::write(server.file("token"), text).unwrap();
        let error = read(&vault).await.unwrap_err();
        assert!(matches!(error, VaultError::TokenFile(_)), "{error:?}");
        assert!(error.to_string().ends_with("check `egress.vault.token_file`"), "{error}");
    }
    fs::remove_file(server.file("token")).unwrap();
    assert!(matches!(read(&vault).await, Err(VaultError::TokenFile(_))));
    assert!(server.lines().is_empty(), "nothing is sent without a token");
    fs::write(server.file("token"), TOKEN).unwrap();
    assert_eq!(read(&vault).await.unwrap(), VALUE, "the control");
}
