//! A bucket of S3, or of what speaks like it, as the storage. Only how it is reached: what is kept there and
//! how is the same as in a folder.

use std::{path::PathBuf, sync::Arc, time::Duration};

use object_store::{
    BackoffConfig, Certificate, ClientOptions, Error, ObjectStore, RetryConfig,
    aws::{AmazonS3Builder, AmazonS3ConfigKey},
    path::Path,
    prefix::PrefixStore,
};

use super::{OutputError, said};

/// Of one part of an upload: the least that S3 takes. A writer holds at most so much of each stream in memory.
pub(super) const PART_BYTES: usize = 5 << 20;
/// Of one request of a reader: each takes the time of a way there and back.
pub(super) const FETCH_BYTES: usize = 1 << 20;
/// Between a request and its first repetition.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// What tells a program on AWS or Kubernetes how to get credentials. Nothing else is read from the environment.
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

/// How a bucket is reached.
#[derive(Debug, Clone)]
pub struct S3Options {
    /// The bucket; it must be there.
    pub bucket: String,
    /// Its region.
    pub region: String,
    /// The address of what speaks S3; none: AWS, in that region.
    pub endpoint: Option<String>,
    /// Before the name of every object; empty: none.
    pub prefix: String,
    /// The bucket is in the address's path, not in its host's name.
    pub path_style: bool,
    /// Plain text is spoken to an `http://` endpoint.
    pub insecure_http: bool,
    /// Those who may sign its certificate, beside those the system trusts; PEM.
    pub ca: Option<PathBuf>,
    /// Who the server is there.
    pub credentials: S3Credentials,
    /// How long a connection may take.
    pub connect_timeout: Duration,
    /// How long one request may take.
    pub request_timeout: Duration,
    /// A request that fails for want of the storage is repeated for so long, before what wanted it is told.
    pub retry_for: Duration,
}

/// Where credentials come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum S3Credentials {
    /// The environment as AWS's own programs read it: keys, a token of Kubernetes for a role, a container's, or
    /// else the machine's.
    Environment,
    /// Two files, each with nothing but the key.
    Files {
        /// The key's id.
        access_key_id: PathBuf,
        /// The key.
        secret_access_key: PathBuf,
    },
}

/// The objects of a bucket.
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
    // The first thing that the program's main did, unless this runs inside another program.
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

/// Whether the storage answered, and the answer is a no that time will not change.
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
