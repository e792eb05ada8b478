//! The reasons why a secret cannot be read.

use std::{io, time::Duration};

/// The reason why a secret cannot be read. It contains no value, no token and no text of an answer.
#[derive(Debug, thiserror::Error)]
pub enum VaultError {
    /// The time is over.
    #[error("Vault did not answer within {0:?}; check `egress.vault.address` and the network of the runner")]
    Late(Duration),
    /// There is no connection.
    #[error("Vault cannot be reached: {0}; check `egress.vault.address` and the network of the runner")]
    Connect(io::Error),
    /// The server cannot be verified.
    #[error("the TLS of Vault failed: {0}; check `egress.vault.address` and `egress.vault.ca`")]
    Tls(io::Error),
    /// The authorities cannot be used.
    #[error("the authorities of Vault cannot be used: {0}; check `egress.vault.ca`")]
    Ca(String),
    /// The file of the token cannot be used.
    #[error("the token for Vault cannot be read: {0}; check `egress.vault.token_file`")]
    TokenFile(String),
    /// The login failed.
    #[error(
        "Vault refuses the login (status {0}); check `kubernetes_role`, `kubernetes_mount` and `token_file`"
    )]
    Login(u16),
    /// The token is not valid, or has no permission.
    #[error("Vault refuses the token (status 403); renew it, or permit `read` of the path in its policy")]
    Forbidden,
    /// There is no secret at the place.
    #[error("Vault has no secret at this path (status 404); check `mount`, `path` and `kv_version`")]
    NotFound,
    /// The secret lacks the field.
    #[error("the secret in Vault has no such field, or it is not a text; check `field`")]
    Field,
    /// The server does not serve requests.
    #[error("Vault is sealed or not available (status {0})")]
    Unavailable(u16),
    /// The server redirects or reports another error.
    #[error(
        "Vault answered with status {0}; check that `egress.vault.address` is the address of a Vault server"
    )]
    Status(u16),
    /// The answer is not that of the API.
    #[error("the answer is not one of Vault; check `egress.vault.address` and `kv_version`")]
    Malformed,
    /// The answer is longer than permitted.
    #[error("the answer of Vault has more than {0} bytes")]
    TooLarge(usize),
    /// The connection failed during a request.
    #[error("the connection to Vault failed: {0}")]
    Http(hyper::Error),
}

impl VaultError {
    /// Reports whether the cause is the connection or the server. A kept value is then still used until its time ends.
    pub(crate) fn may_pass(&self) -> bool {
        match self {
            Self::Late(_) | Self::Connect(_) | Self::Tls(_) | Self::Unavailable(_) | Self::Http(_) => true,
            Self::Ca(_)
            | Self::TokenFile(_)
            | Self::Login(_)
            | Self::Forbidden
            | Self::NotFound
            | Self::Field
            | Self::Status(_)
            | Self::Malformed
            | Self::TooLarge(_) => false,
        }
    }
}
