//! The failures of an inspection. They contain no secret.

/// A failure to prepare the inspection of an execution. It contains no secret.
#[derive(Debug, thiserror::Error)]
pub enum InspectionError {
    /// The system provides no random bytes.
    #[error("the placeholder of a secret cannot be created: {0}")]
    Random(#[from] getrandom::Error),
    /// The authority cannot be created.
    #[error("the certificate authority of the execution cannot be created: {0}")]
    Authority(#[from] rcgen::Error),
    /// The certificate of a host cannot be used.
    #[error("the certificate of an inspected host cannot be used: {0}")]
    Tls(#[from] rustls::Error),
    /// The secrets are too large to be searched for.
    #[error("the secrets cannot be searched for: they are too large")]
    Search,
}

/// The body of an answer is encoded, although the request permitted no encoding.
#[derive(Debug)]
pub(crate) struct Encoded;
