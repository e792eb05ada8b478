//! A bucket of S3 or a compatible service as the storage. This module covers the connection only; the stored
//! objects are the same as in a directory.

use std::{path::PathBuf, sync::Arc, time::Duration};

use object_store::{
    BackoffConfig, Certificate, ClientOptions, Error, ObjectStore, RetryConfig,
    aws::{AmazonS3Builder, AmazonS3ConfigKey},
    path::Path,
    prefix::PrefixStore,
};

use super::error::{OutputError, said};

/// The part size of an upload in bytes: the minimum that S3 accepts. A writer buffers at most one part per
/// stream.
pub(super) const PART_BYTES: usize = 5 << 20;
/// The size of one request of a reader in bytes. A large request saves round trips.
pub(super) const FETCH_BYTES: usize = 1 << 20;
/// The pause between a request and its first retry.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// The environment variables that supply credentials on AWS or Kubernetes. No other variable is read.
const FROM_ENVIRONMENT: [&str; 9] = [
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_ROLE_ARN",
    "AWS_ROLE_SESSION_NAME",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
];

/// The connection settings of a bucket.
#[derive(Debug, Clone)]
pub struct S3Options {
    /// The name of an existing bucket.
    pub bucket: String,
    /// The region of the bucket.
    pub region: String,
    /// The address of a service that is compatible with S3. `None` selects AWS in that region.
    pub endpoint: Option<String>,
    /// The prefix of every object name. Empty means no prefix.
    pub prefix: String,
    /// Whether the bucket is part of the URL's path instead of its host name.
    pub path_style: bool,
    /// Whether an `http://` endpoint is permitted.
    pub insecure_http: bool,
    /// A PEM file of CA certificates that are trusted in addition to those of the system.
    pub ca: Option<PathBuf>,
    /// The source of the credentials.
    pub credentials: S3Credentials,
    /// The time limit for opening a connection.
    pub connect_timeout: Duration,
    /// The time limit for one request.
    pub request_timeout: Duration,
    /// The time for which a request is retried while the storage is unavailable. After this time, the caller gets an
    /// error.
    pub retry_for: Duration,
}

/// The source of the credentials.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum S3Credentials {
    /// The environment, as AWS's own tools read it: access keys, a Kubernetes web identity token for a role, a
    /// container's credentials, or otherwise those of the instance.
    Environment,
    /// Two files that each contain one key.
    Files {
        /// The file with the access key ID.
        access_key_id: PathBuf,
        /// The file with the secret access key.
        secret_access_key: PathBuf,
    },
}

/// Creates the object store for a bucket.
pub(super) fn objects(options: &S3Options) -> Result<Arc<dyn ObjectStore>, OutputError> {
    let retry = RetryConfig {
        backoff: BackoffConfig { init_backoff: FIRST_PAUSE, max_backoff: LONGEST_PAUSE, base: 2.0 },
        max_retries: usize::MAX,
        retry_timeout: options.retry_for,
    };
    let mut builder = AmazonS3Builder::new()
        .with_bucket_name(&options.bucket)
        .with_region(&options.region)
        .with_virtual_hosted_style_request(!options.path_style)
        .with_allow_http(options.insecure_http)
        .with_client_options(client(options)?)
        .with_retry(retry);
    if let Some(endpoint) = &options.endpoint {
        builder = builder.with_endpoint(endpoint);
    }
    let objects = credentials(builder, &options.credentials)?.build().map_err(|error| unusable(&error))?;
    Ok(match Path::parse(&options.prefix) {
        Ok(prefix) if prefix.as_ref().is_empty() => Arc::new(objects),
        Ok(prefix) => Arc::new(PrefixStore::new(objects, prefix)),
        Err(error) => return Err(unusable(&error)),
    })
}

fn client(options: &S3Options) -> Result<ClientOptions, OutputError> {
    // The server's `main` has already installed a provider, unless the server is embedded in another program.
    drop(rustls::crypto::ring::default_provider().install_default());
    let mut client = ClientOptions::new()
        .with_allow_http(options.insecure_http)
        .with_connect_timeout(options.connect_timeout)
        .with_timeout(options.request_timeout);
    if let Some(ca) = &options.ca {
        let pem = read(ca)?;
        for certificate in Certificate::from_pem_bundle(pem.as_bytes()).map_err(|error| unusable(&error))? {
            client = client.with_root_certificate(certificate);
        }
    }
    Ok(client)
}

fn credentials(
    mut builder: AmazonS3Builder,
    credentials: &S3Credentials,
) -> Result<AmazonS3Builder, OutputError> {
    match credentials {
        S3Credentials::Environment => {
            for name in FROM_ENVIRONMENT {
                if let Ok(value) = std::env::var(name)
                    && let Ok(key) = name.to_ascii_lowercase().parse::<AmazonS3ConfigKey>()
                {
                    builder = builder.with_config(key, value);
                }
            }
            Ok(builder)
        }
        S3Credentials::Files { access_key_id, secret_access_key } => Ok(builder
            .with_access_key_id(read(access_key_id)?.trim())
            .with_secret_access_key(read(secret_access_key)?.trim())),
    }
}

fn read(file: &std::path::Path) -> Result<String, OutputError> {
    std::fs::read_to_string(file)
        .map_err(|error| OutputError::Unusable(format!("`{}` cannot be read: {error}", file.display())))
}

fn unusable(error: &dyn std::error::Error) -> OutputError {
    OutputError::Unusable(said(error))
}

/// Returns whether the storage answered with a refusal that a retry cannot change.
pub(super) fn is_refusal(error: &Error) -> bool {
    matches!(
        error,
        Error::PermissionDenied { .. }
            | Error::Unauthenticated { .. }
            | Error::NotFound { .. }
            | Error::NotSupported { .. }
            | Error::NotImplemented { .. }
    )
}
