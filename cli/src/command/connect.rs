//! Which server to talk to: the one that is named, or the `airlock dev` of the state folder.

use std::path::{Path, PathBuf};

use clap::Args;

use super::Failure;
use crate::{
    client::{Client, Credentials, Settings},
    state::{Connection, StateFolder, read_bounded},
};

/// Of a certificate, key or token file, in bytes.
const FILE_BYTES: u64 = 1024 * 1024;

/// How to reach the server.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Connection")]
pub(super) struct Connect {
    /// The state folder of the `airlock dev` to talk to [default: $XDG_STATE_HOME/airlock or
    /// ~/.local/state/airlock].
    #[arg(long, value_name = "DIR", env = "AIRLOCK_STATE", hide_env_values = true)]
    state: Option<PathBuf>,
    /// Another server, as https://HOST:PORT.
    #[arg(long, value_name = "URL", env = "AIRLOCK_ADDRESS", hide_env_values = true)]
    address: Option<String>,
    /// The certificate of that server's authority (PEM).
    #[arg(long, value_name = "FILE", env = "AIRLOCK_CA", hide_env_values = true)]
    ca: Option<PathBuf>,
    /// A file with a bearer token.
    #[arg(long, value_name = "FILE", env = "AIRLOCK_TOKEN_FILE", hide_env_values = true)]
    token_file: Option<PathBuf>,
    /// A client certificate and what leads to its root (PEM).
    #[arg(long, value_name = "FILE", env = "AIRLOCK_CERT", hide_env_values = true, requires = "key")]
    cert: Option<PathBuf>,
    /// The client certificate's key (PEM).
    #[arg(long, value_name = "FILE", env = "AIRLOCK_KEY", hide_env_values = true, requires = "cert")]
    key: Option<PathBuf>,
    /// Permit an address with http://, on loopback only.
    #[arg(long)]
    insecure_loopback: bool,
}

impl Connect {
    /// The settings that the arguments, the environment and the state folder give.
    pub(super) fn settings(&self) -> Result<Settings, Failure> {
        let mut settings = match &self.address {
            Some(address) => self.named(address)?,
            None => self.of_dev()?,
        };
        settings.traceparent = traceparent();
        Ok(settings)
    }

    /// The state folder whose dev is talked to, if it is one.
    pub(super) fn dev_folder(&self) -> Option<StateFolder> {
        match &self.address {
            Some(_) => None,
            None => StateFolder::locate(self.state.as_deref()).ok(),
        }
    }

    /// Connects.
    pub(super) async fn client(&self) -> Result<Client, Failure> {
        Ok(Client::connect(self.settings()?).await?)
    }

    fn named(&self, address: &str) -> Result<Settings, Failure> {
        let mut settings = Settings::new(address);
        settings.insecure_loopback = self.insecure_loopback;
        settings.ca = self.ca.as_deref().map(read).transpose()?;
        settings.credentials = match (&self.token_file, &self.cert, &self.key) {
            (Some(_), Some(_), _) => {
                return Err(Failure::usage("a token and a certificate are two identities; give one of them"));
            }
            (Some(token), None, _) => Credentials::Token(token_in(token)?),
            (None, Some(cert), Some(key)) => Credentials::Certificate { chain: read(cert)?, key: read(key)? },
            (None, _, _) => Credentials::None,
        };
        Ok(settings)
    }

    fn of_dev(&self) -> Result<Settings, Failure> {
        let folder = StateFolder::locate(self.state.as_deref())?;
        let Connection { address, ca, token_file, .. } = folder.connection()?;
        let mut settings = Settings::new(address);
        settings.ca = Some(read(&folder.path().join(ca))?);
        settings.credentials = Credentials::Token(token_in(&folder.path().join(token_file))?);
        Ok(settings)
    }
}

/// The caller's place in a trace.
pub(super) fn traceparent() -> Option<String> {
    std::env::var("TRACEPARENT").ok()
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    Ok(read_bounded(path, FILE_BYTES)?)
}

fn token_in(path: &Path) -> Result<String, Failure> {
    let text = String::from_utf8(read(path)?)
        .map_err(|_| Failure::new(format!("the token file {} is not text", path.display())))?;
    Ok(text.trim().to_owned())
}

impl From<crate::state::StateError> for Failure {
    fn from(error: crate::state::StateError) -> Self {
        Self::new(error.to_string())
    }
}
