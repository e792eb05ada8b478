//! `airlock-server`: reads its configuration and serves until it receives a signal to stop. Also contains the
//! administrative subcommands.

use std::{
    io::{IsTerminal as _, Read as _},
    path::PathBuf,
    process::ExitCode,
};

use airlock_server::{
    config::{self, Config, Layers, Overrides},
    profiles::{BuiltInSettings, Profiles},
    telemetry::{Telemetry, level_in},
    wiring::{AllEngines, Options, Server},
};
use airlock_telemetry::follow;
use clap::{Args, Parser, Subcommand};
use sha2::{Digest as _, Sha256};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::task::AbortOnDropHandle;

const EXAMPLES: &str = "\
Examples:
  airlock-server check-config --config deploy/server.toml
  airlock-server check-config --config server.toml --effective   # every key with its value and origin
  airlock-server hash-token < orchestrator.token      # the line for [[identity]]
  airlock-server serve --config server.toml           # the same as airlock-server --config server.toml

Signals: SIGTERM, SIGINT and SIGHUP shut the server down within `limits.shutdown_grace`. Commands continue on their
runners for `link.link_grace`. The server reloads `telemetry.log_level`, each `[[identity]]`, certificates, keys and
authorities within seconds after they change. It reads all other settings at the next start.

Environment: AIRLOCK_SERVER__SECTION__KEY sets a key of the configuration, such as AIRLOCK_SERVER__LIMITS__QUEUE=100.
It overrides the file, and --set overrides it. AIRLOCK_ADVERTISE sets `peers.advertise`, if the file has [peers].

Exit codes: 0 success, 1 failure, 2 wrong usage or an invalid configuration.";

/// The front service of Airlock
#[derive(Debug, Parser)]
#[command(
    name = "airlock-server",
    version,
    after_help = EXAMPLES,
    arg_required_else_help = true,
    subcommand_negates_reqs = true,
    args_conflicts_with_subcommands = true
)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    config: Option<Configuration>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve until SIGTERM
    Serve(Configuration),
    /// Check the configuration, the files that it names and the profiles
    CheckConfig {
        #[command(flatten)]
        config: Configuration,
        /// Print every key with its value and its origin: the default, the file, a variable or a flag
        #[arg(long)]
        effective: bool,
    },
    /// Read a token from standard input and print the `match` of its identity
    HashToken,
    /// Print the version
    Version,
}

#[derive(Debug, Args)]
struct Configuration {
    /// The configuration file, in TOML
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// Set a key of the configuration, such as limits.queue=100; can be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
}

impl Configuration {
    fn layers(self) -> Layers {
        let mut overrides = Overrides::new(config::VARIABLES, std::env::vars_os(), self.set);
        if let Some(address) = std::env::var_os(config::ADVERTISE) {
            let address = address.to_string_lossy().into_owned();
            overrides.named.push((config::ADVERTISE, "peers.advertise", address));
        }
        Layers { file: self.config, overrides }
    }
}

/// The server did not start, or failed.
const FAILED: u8 = 1;
/// The configuration was refused. Clap uses the same code for invalid arguments.
const REFUSED: u8 = 2;
/// The maximum length of a token in bytes.
const TOKEN_BYTES: u64 = 4096;
/// The length in bytes below which a token could be guessed.
const TOKEN_SHORT: usize = 32;

/// The exit code and the message.
type Failure = (u8, String);

fn main() -> ExitCode {
    // Must precede any code that installs another provider.
    let provider = rustls::crypto::ring::default_provider();
    let done = match provider.install_default() {
        Ok(()) => obey(Arguments::parse()),
        Err(_) => Err((FAILED, "another cryptography provider is installed".to_owned())),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err((code, said)) => {
            for line in said.lines() {
                eprintln!("airlock-server: {line}");
            }
            ExitCode::from(code)
        }
    }
}

fn obey(arguments: Arguments) -> Result<(), Failure> {
    match (arguments.command, arguments.config) {
        (Some(Command::Serve(config)), _) => run(&config.layers()),
        (Some(Command::CheckConfig { config, effective }), _) => check(&config.layers(), effective),
        (Some(Command::HashToken), _) => hash_token(),
        (Some(Command::Version), _) => {
            println!("airlock-server {}", env!("CARGO_PKG_VERSION"));
            Ok(())
        }
        (None, Some(config)) => run(&config.layers()),
        (None, None) => Err((REFUSED, "no configuration file is given; use --config FILE".to_owned())),
    }
}

fn load(layers: Layers) -> Result<Config, Failure> {
    Config::load(layers).map_err(|error| (REFUSED, error.to_string()))
}

/// Prints the effective configuration also if relations between keys are wrong: it shows the reason.
fn check(layers: &Layers, effective: bool) -> Result<(), Failure> {
    if effective {
        let loaded = layers.load::<Config>(config::schema()).map_err(|error| (REFUSED, error.to_string()))?;
        print!("{}", loaded.effective().map_err(|error| (FAILED, error.to_string()))?);
    }
    let config = load(layers.clone())?;
    Server::check(&config).map_err(|error| (REFUSED, error.to_string()))?;
    let hooks = config.hooks.keys().cloned().collect();
    let settings = BuiltInSettings { hooks, ..BuiltInSettings::default() };
    let profiles = Profiles::load_with(&settings, config.profiles.directory.as_deref());
    let profiles = profiles.map_err(|error| (REFUSED, error.to_string()))?;
    for (profile, warning) in profiles.warnings() {
        eprintln!("airlock-server: warning: profile {profile}: {warning}");
    }
    if !effective {
        println!("{}: ok", layers.file.display());
    }
    Ok(())
}

/// Never prints a part of the token, even in an error.
fn hash_token() -> Result<(), Failure> {
    if std::io::stdin().is_terminal() {
        eprintln!("airlock-server: type or paste the token, then Enter and Ctrl-D");
    }
    let mut token = String::new();
    let read = std::io::stdin().take(TOKEN_BYTES + 1).read_to_string(&mut token);
    read.map_err(|error| (FAILED, format!("the token cannot be read: {error}")))?;
    let wrong = |what: &str| Err((REFUSED, format!("{what}; create one with `openssl rand -hex 32`")));
    let token = token.trim();
    match token {
        "" => return wrong("standard input contains no token"),
        _ if token.len() as u64 > TOKEN_BYTES => return wrong("the token is too long"),
        _ if !token.bytes().all(|byte| byte.is_ascii_graphic()) => {
            return wrong("a token must be one line of printable ASCII characters without spaces");
        }
        _ if token.len() < TOKEN_SHORT => {
            eprintln!("airlock-server: warning: the token is short and could be guessed");
        }
        _ => {}
    }
    println!("match = {{ token_sha256 = \"{}\" }}", hex::encode(Sha256::digest(token.as_bytes())));
    Ok(())
}

/// The signals that stop the server.
struct Stop {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

impl Stop {
    /// Starts to catch the signals. A signal that arrives before the first [`Stop::asked`] is not lost.
    /// Requires a runtime.
    fn catch() -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    /// Returns when one of the signals has arrived. Cancel-safe.
    async fn asked(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
            _ = self.hang_up.recv() => {}
        }
    }
}

fn run(layers: &Layers) -> Result<(), Failure> {
    let failed = |error: Box<dyn std::error::Error>| (FAILED, error.to_string());
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| failed(error.into()))?;
    let served = runtime.block_on(async {
        // Must precede anything slow: the first process of a container never receives a signal that it does
        // not catch.
        let mut stop = Stop::catch().map_err(|error| failed(error.into()))?;
        let read = layers.clone();
        let loading = tokio::task::spawn_blocking(move || load(read));
        let config = tokio::select! {
            loaded = loading => loaded.map_err(|error| failed(error.into()))??,
            () = stop.asked() => return Ok(()),
        };
        serve(config, layers.clone(), stop).await.map_err(failed)
    });
    // A thread that is still blocked, for example on a disk that does not respond, ends with the process.
    runtime.shutdown_background();
    served
}

async fn serve(config: Config, layers: Layers, mut stop: Stop) -> Result<(), Box<dyn std::error::Error>> {
    let telemetry = Telemetry::start(&config.telemetry, &config.server_id)?;
    let overrides = layers.overrides.clone();
    let read = move |text: &str| level_in(text, &overrides);
    let following = tokio::spawn(follow(telemetry.install()?, layers.file.clone(), read));
    let _following = AbortOnDropHandle::new(following);
    let options = Options { telemetry: Some(telemetry), layers: Some(layers), ..Options::new(&AllEngines) };
    let mut server = tokio::select! {
        started = Server::start_with(config, options) => started?,
        // No request was accepted yet. Incomplete work is handled as after a crash.
        () = stop.asked() => {
            tracing::info!("stopped before the server was ready");
            return Ok(());
        }
    };
    let failed = tokio::select! {
        error = server.wait() => Some(error),
        () = stop.asked() => None,
    };
    server.shut_down().await;
    failed.map_or(Ok(()), |error| Err(error.into()))
}
