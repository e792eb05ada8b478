//! The keys of the configuration. Plain data; `check.rs` checks it.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use airlock_config::{Address, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const HOUR: u64 = 3_600_000;
const DAY: u64 = 24 * HOUR;
/// E2B's own timeout of a sandbox.
const SANDBOX_TIMEOUT: Duration = Duration::from_secs(300);
const MEBIBYTE: u64 = 1024 * 1024;

airlock_config::text_form!(
    Sha256Hex,
    "^[0-9a-f]{64}$",
    "the SHA-256 of the API key, 64 hexadecimal digits; `airlock-e2b new-key` prints one"
);
airlock_config::text_form!(KeyName, "^[A-Za-z0-9._-]{1,63}$", "1 to 63 of a-z A-Z 0-9 . _ -");

/// The whole configuration.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct E2bConfig {
    /// The address to listen on.
    #[serde(default = "listen")]
    #[schemars(with = "Address")]
    pub listen: String,
    /// The certificate of the front. Without it, it speaks plain HTTP.
    pub tls: Option<TlsConfig>,
    /// Permits plain HTTP on an address that other hosts reach, such as behind a proxy with TLS.
    #[serde(default)]
    pub allow_remote_plain_text: bool,
    /// Airlock's server.
    pub server: ServerConfig,
    /// The API keys. Each has an identity of its own.
    #[serde(default, rename = "key")]
    pub keys: Vec<KeyConfig>,
    /// The templates that callers can name, each with the base of its workspace. An empty base is an empty workspace. The
    /// SDKs name the template `base` if the caller names none.
    #[serde(default = "templates")]
    pub templates: BTreeMap<String, String>,
    /// Limits.
    #[serde(default)]
    pub limits: LimitsConfig,
}

/// See [`E2bConfig::tls`].
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TlsConfig {
    /// The certificate, followed by the intermediate certificates up to the root, PEM.
    pub certificate: PathBuf,
    /// The private key, PEM.
    pub key: PathBuf,
}

/// See [`E2bConfig::server`].
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServerConfig {
    /// `https://HOST:PORT`. Several addresses of one store are separated by commas.
    pub address: String,
    /// The CA certificates that may have signed the server's certificate, PEM.
    pub ca: PathBuf,
    /// The name in the server's certificate, if it differs from the host of the address.
    pub server_name: Option<String>,
}

/// One API key.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KeyConfig {
    /// The name of the key in messages.
    #[schemars(with = "KeyName")]
    pub name: String,
    /// The SHA-256 of the API key.
    #[schemars(with = "Sha256Hex")]
    pub sha256: String,
    /// The file with the bearer token of the identity.
    pub token_file: Option<PathBuf>,
    /// The client certificate of the identity, PEM. It needs `cert_key`.
    pub cert: Option<PathBuf>,
    /// The private key of the certificate, PEM.
    pub cert_key: Option<PathBuf>,
    /// The profile of the sandboxes. Empty: the default profile of the identity.
    #[serde(default)]
    pub profile: String,
    /// What happens to a command that policy asks about.
    #[serde(default)]
    pub on_ask: OnAsk,
    /// The maximum number of sandboxes at a time.
    #[serde(default = "sandboxes")]
    #[schemars(range(min = 1, max = 1000))]
    pub sandboxes: u32,
}

/// See [`KeyConfig::on_ask`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnAsk {
    /// It fails with exit code 126.
    #[default]
    Fail,
    /// It waits for an approver.
    Wait,
}

/// See [`E2bConfig::limits`].
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LimitsConfig {
    /// The maximum number of connections.
    #[schemars(range(min = 1, max = 65536))]
    pub connections: u32,
    /// The timeout of a sandbox whose caller names none.
    #[serde(with = "Time::<1000, DAY>")]
    #[schemars(with = "Time::<1000, DAY>")]
    pub timeout_default: Duration,
    /// The longest timeout of a sandbox.
    #[serde(with = "Time::<1000, DAY>")]
    #[schemars(with = "Time::<1000, DAY>")]
    pub timeout_max: Duration,
    /// The time for which a paused sandbox is kept.
    #[serde(with = "Time::<1000, DAY>")]
    #[schemars(with = "Time::<1000, DAY>")]
    pub paused: Duration,
    /// The longest time of a stream, such as the output of a command or a watched directory.
    #[serde(with = "Time::<1000, DAY>")]
    #[schemars(with = "Time::<1000, DAY>")]
    pub stream: Duration,
    /// The largest file in bytes that a caller can write or read at once.
    #[schemars(range(min = 1024, max = 1_099_511_627_776_u64))]
    pub file_bytes: u64,
    /// The number of files that are written or read at the same time.
    #[schemars(range(min = 1, max = 1024))]
    pub transfers: u32,
    /// The number of processes of a sandbox that are remembered. Further ones replace those that have ended.
    #[schemars(range(min = 1, max = 10_000))]
    pub processes: u32,
    /// The number of streams of a sandbox at the same time.
    #[schemars(range(min = 1, max = 10_000))]
    pub streams: u32,
    /// The number of watched directories of a sandbox.
    #[schemars(range(min = 1, max = 1000))]
    pub watchers: u32,
    /// The largest number of entries that a listing or a watched directory can have.
    #[schemars(range(min = 1, max = 100_000))]
    pub entries: u32,
}

impl Default for LimitsConfig {
    fn default() -> Self {
        Self {
            connections: 1024,
            timeout_default: SANDBOX_TIMEOUT,
            timeout_max: Duration::from_millis(DAY),
            paused: Duration::from_millis(DAY),
            stream: Duration::from_millis(DAY),
            file_bytes: 512 * MEBIBYTE,
            transfers: 32,
            processes: 512,
            streams: 64,
            watchers: 16,
            entries: 10_000,
        }
    }
}

fn listen() -> String {
    "127.0.0.1:3000".to_owned()
}

fn templates() -> BTreeMap<String, String> {
    BTreeMap::from([("base".to_owned(), String::new())])
}

fn sandboxes() -> u32 {
    20
}
