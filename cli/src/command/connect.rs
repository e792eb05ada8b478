//! The server to talk to: the one that the arguments name, or the `airlock dev` of the state
//! directory.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};

use clap::Args;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _};

use super::{Failure, trace::traceparent};
use airlock_client::{Client, ClientError, Credentials, Files, Settings};
use airlock_embedded::state::{StateDirectory, read_bounded};

/// The largest certificate, key or token file, in bytes.
const FILE_BYTES: u64 = 1024 * 1024;

/// The help heading of these options. They follow the subcommand's own options.
const HEADING: &str = "Connection";

/// The options that select a server and the credentials for it.
#[derive(Debug, Clone, Args)]
pub(super) struct Connect {
    /// The state directory of the `airlock dev` to use [default: $XDG_STATE_HOME/airlock or
    /// ~/.local/state/airlock]
    #[arg(long, help_heading = HEADING, value_name = "DIR", env = "AIRLOCK_STATE", hide_env_values = true)]
    state: Option<PathBuf>,
    /// Another server, as https://HOST:PORT; the state directory is then not used.
    #[arg(long, help_heading = HEADING, value_name = "URL", env = "AIRLOCK_ADDRESS", hide_env_values = true)]
    address: Option<String>,
    /// The CA certificate that signed the server's certificate (PEM)
    #[arg(long, help_heading = HEADING, value_name = "FILE", env = "AIRLOCK_CA", hide_env_values = true, requires = "address")]
    ca: Option<PathBuf>,
    /// A file with a bearer token.
    #[arg(
        long,
        help_heading = HEADING,
        value_name = "FILE",
        env = "AIRLOCK_TOKEN_FILE",
        hide_env_values = true,
        requires = "address"
    )]
    token_file: Option<PathBuf>,
    /// A client certificate with its intermediate certificates (PEM)
    #[arg(long, help_heading = HEADING, value_name = "FILE", env = "AIRLOCK_CERT", hide_env_values = true, requires_all = ["key", "address"])]
    cert: Option<PathBuf>,
    /// The private key of the client certificate (PEM)
    #[arg(long, help_heading = HEADING, value_name = "FILE", env = "AIRLOCK_KEY", hide_env_values = true, requires = "cert")]
    key: Option<PathBuf>,
    /// Permit an http:// address, on loopback only.
    #[arg(long, help_heading = HEADING, requires = "address")]
    insecure_loopback: bool,
}

impl Connect {
    /// Returns the settings from the arguments, the environment and the state directory.
    pub(super) fn settings(&self) -> Result<Settings, Failure> {
        let mut settings = match &self.address {
            Some(address) => self.named(address)?,
            None => self.of_dev()?,
        };
        settings.traceparent = traceparent();
        Ok(settings)
    }

    /// Returns the state directory of the `airlock dev` to use, or `None` if an address was given.
    pub(super) fn dev_directory(&self) -> Option<StateDirectory> {
        match &self.address {
            Some(_) => None,
            None => StateDirectory::locate(self.state.as_deref()).ok(),
        }
    }

    /// Returns each setting with its origin: a flag, the environment or the state directory.
    pub(super) fn sources(&self) -> Vec<(&'static str, String)> {
        let from = |flag: &str, name: &str, value: &OsStr| {
            let variable = std::env::var_os(name).is_some_and(|set| set == value);
            format!("{} (from {})", value.display(), if variable { name } else { flag })
        };
        let Some(address) = &self.address else {
            let directory = StateDirectory::locate(self.state.as_deref());
            let source = match (&self.state, &directory) {
                (Some(state), _) => from("--state", "AIRLOCK_STATE", state.as_os_str()),
                (None, Ok(directory)) => format!("{} (the default)", directory.path().display()),
                (None, Err(error)) => error.to_string(),
            };
            return vec![("state directory", source)];
        };
        let mut all = vec![("address", from("--address", "AIRLOCK_ADDRESS", address.as_ref()))];
        let files = [
            ("authority", "--ca", "AIRLOCK_CA", &self.ca),
            ("token", "--token-file", "AIRLOCK_TOKEN_FILE", &self.token_file),
            ("certificate", "--cert", "AIRLOCK_CERT", &self.cert),
            ("key", "--key", "AIRLOCK_KEY", &self.key),
        ];
        all.extend(files.into_iter().filter_map(|(name, flag, variable, file)| {
            Some((name, from(flag, variable, file.as_ref()?.as_os_str())))
        }));
        all
    }

    /// Reports whether a flag or the environment names an address.
    pub(super) fn names_address(&self) -> bool {
        self.address.is_some()
    }

    /// Connects to the server.
    pub(super) async fn client(&self) -> Result<Client, Failure> {
        match Client::connect(self.settings()?).await {
            Ok(client) => Ok(client),
            Err(error @ ClientError::Transport { .. }) => {
                // If `airlock dev` has just ended, this error is more helpful.
                let gone = self.dev_directory().and_then(|directory| directory.connection().err());
                Err(gone.map_or_else(|| error.into(), Failure::from))
            }
            Err(error) => Err(error.into()),
        }
    }

    fn named(&self, address: &str) -> Result<Settings, Failure> {
        let mut settings = Settings::new(address);
        settings.insecure_loopback = self.insecure_loopback;
        settings.ca = self.ca.as_deref().map(certificates).transpose()?;
        settings.credentials = match (&self.token_file, &self.cert, &self.key) {
            (Some(_), Some(_), _) => {
                return Err(Failure::usage(
                    "--token-file and --cert select different identities; use one of them",
                ));
            }
            (Some(token), None, _) => Credentials::Token(token_in(token)?),
            (None, Some(cert), Some(key)) => {
                Credentials::Certificate { chain: certificates(cert)?, key: private_key(key)? }
            }
            (None, _, _) => Credentials::None,
        };
        settings.files = Some(Files {
            ca: self.ca.clone(),
            token: self.token_file.clone(),
            certificate: self.cert.clone().zip(self.key.clone()),
        });
        Ok(settings)
    }

    fn of_dev(&self) -> Result<Settings, Failure> {
        let directory = StateDirectory::locate(self.state.as_deref())?;
        Ok(directory.connection()?.settings(directory.path())?)
    }
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    Ok(read_bounded(path, FILE_BYTES)?)
}

fn certificates(path: &Path) -> Result<Vec<u8>, Failure> {
    let pem = read(path)?;
    match CertificateDer::from_pem_slice(&pem) {
        Ok(_) => Ok(pem),
        Err(error) => Err(no_pem(path, "certificate", &error)),
    }
}

fn private_key(path: &Path) -> Result<Vec<u8>, Failure> {
    let pem = read(path)?;
    match PrivateKeyDer::from_pem_slice(&pem) {
        Ok(_) => Ok(pem),
        Err(error) => Err(no_pem(path, "private key", &error)),
    }
}

fn no_pem(path: &Path, what: &str, error: &rustls::pki_types::pem::Error) -> Failure {
    Failure::new(format!("`{}` contains no {what} in PEM format: {error}", path.display()))
}

fn token_in(path: &Path) -> Result<String, Failure> {
    let bad = |what: &str| Failure::new(format!("the token file `{}` {what}", path.display()));
    let text = String::from_utf8(read(path)?).map_err(|_| bad("is not UTF-8"))?;
    match text.trim() {
        "" => Err(bad("is empty")),
        token => Ok(token.to_owned()),
    }
}
