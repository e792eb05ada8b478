//! `airlock keys`: creates a CA, certificates and tokens for a server, its runners and its clients.

use std::{
    path::{Path, PathBuf},
    time::SystemTime,
};

use clap::Args;

use super::{Failure, args, output};
use airlock_embedded::keys::{Authority, Files, KeysError, Leaf, make_directory, make_token};

const AUTHORITY: &str = "ca";
const AUTHORITY_NAME: &str = "airlock authority";
const SERVER: &str = "server";

/// Create a CA, certificates and tokens for a server, its runners and its clients.
///
/// Use this to set up mutual TLS without a PKI of your own. Existing files are never replaced. The CA in
/// the directory signs certificates that are added later.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  airlock keys keys --server airlock-server.example,127.0.0.1 --client runner=spiffe://example.org/airlock/runner\n  airlock keys keys --client lead=lead.example.org --token orchestrator   # add some, signed by the same CA\n  openssl x509 -in keys/lead.pem -noout -subject -ext subjectAltName\n\nCertificates are valid for one year, the CA for ten. Each program needs only its own key. Do not copy ca.key\nto the hosts."
)]
pub(super) struct Keys {
    /// The directory; it is created if it does not exist.
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Create a server certificate for these host names and addresses.
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    server: Vec<String>,
    /// Create a certificate for a runner or client with this SPIFFE ID or DNS name, in FILE.pem and
    /// FILE.key.
    #[arg(long, value_name = "FILE=NAME", value_parser = client)]
    client: Vec<(String, String)>,
    /// Create a token for a client, in FILE.token.
    #[arg(long, value_name = "FILE", value_parser = file)]
    token: Vec<String>,
}

impl Keys {
    pub(super) fn run(self) -> Result<u8, Failure> {
        let now = SystemTime::now();
        let files = |name: &str| Files::named(&self.directory, name);
        let tokens: Vec<PathBuf> =
            self.token.iter().map(|name| self.directory.join(format!("{name}.token"))).collect();
        let server = (!self.server.is_empty()).then(|| files(SERVER));
        let clients: Vec<Files> = self.client.iter().map(|(file, _)| files(file)).collect();
        // Everything is checked before anything is created.
        for pair in server.iter().chain(&clients) {
            absent(&pair.certificate)?;
            absent(&pair.key)?;
        }
        tokens.iter().try_for_each(|token| absent(token))?;
        let server =
            server.map(|files| Ok::<_, Failure>((files, Leaf::server(&self.server)?))).transpose()?;
        let leaves = self.client.iter().map(|(_, name)| Ok(Leaf::client(name)?));
        let leaves: Vec<Leaf> = leaves.collect::<Result<_, Failure>>()?;

        make_directory(&self.directory).map_err(KeysError::from)?;
        let authority = self.authority(now)?;
        let mut said =
            format!("{}: the CA certificate, for every program\n", files(AUTHORITY).certificate.display());
        if let Some((files, leaf)) = server {
            authority.issue(&files, &leaf, now)?;
            said.push_str(&format!(
                "{}: the server certificate, for {}\n",
                files.certificate.display(),
                self.server.join(", ")
            ));
        }
        for ((files, leaf), (_, name)) in clients.iter().zip(&leaves).zip(&self.client) {
            authority.issue(files, leaf, now)?;
            let kind = if name.starts_with("spiffe://") { "spiffe" } else { "dns" };
            said.push_str(&format!("{}: match = {{ {kind} = \"{name}\" }}\n", files.certificate.display()));
        }
        for path in &tokens {
            let hash = make_token(path)?;
            said.push_str(&format!("{}: match = {{ token_sha256 = \"{hash}\" }}\n", path.display()));
        }
        output::print(&said)?;
        Ok(0)
    }

    /// Returns the CA of the directory, and creates it if there is none. An unusable CA is not replaced:
    /// its certificates would become invalid.
    fn authority(&self, now: SystemTime) -> Result<Authority, Failure> {
        let files = Files::named(&self.directory, AUTHORITY);
        if !files.certificate.exists() && !files.key.exists() {
            return Ok(Authority::make(&files, AUTHORITY_NAME, now)?);
        }
        Authority::open(&files, AUTHORITY_NAME, now).ok_or_else(|| {
            Failure::new(format!(
                "cannot use the CA in `{}`: its files do not match, expire within 30 days, or are readable by other users; run `chmod 600` on them, or use another directory",
                self.directory.display()
            ))
        })
    }
}

fn absent(path: &Path) -> Result<(), Failure> {
    match path.exists() {
        false => Ok(()),
        true => Err(Failure::new(format!(
            "`{}` already exists and is not replaced; remove it first if it is no longer needed",
            path.display()
        ))),
    }
}

/// Parses `FILE=NAME`.
fn client(text: &str) -> Result<(String, String), String> {
    let (name, id) = args::pair(text).map_err(|_| "expected FILE=NAME, such as lead=lead.example.org")?;
    match id.is_empty() {
        true => Err("the name after `=` is empty".to_owned()),
        false => Ok((file(&name)?, id)),
    }
}

/// Parses a file name without its extension.
fn file(text: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    match !text.is_empty() && text.chars().all(plain) && ![AUTHORITY, SERVER].contains(&text) {
        true => Ok(text.to_owned()),
        false => Err(format!(
            "expected a file name of a-z A-Z 0-9 - _ other than `{AUTHORITY}` and `{SERVER}`, such as lead"
        )),
    }
}

impl From<KeysError> for Failure {
    fn from(error: KeysError) -> Self {
        Self::new(error.to_string())
    }
}
