//! The program `airlock-e2b`. It reads its configuration and serves until it receives a stop signal.

use std::{path::PathBuf, process::ExitCode};

use airlock_e2b::{E2bConfig, KeyHash, Layers, Listener, Overrides, VARIABLES, new_key, schema};
use clap::{Args, Parser, Subcommand};
use tokio::signal::unix::{SignalKind, signal};

const EXAMPLES: &str = "\
Examples:
  airlock-e2b new-key                              # a new API key, and its hash for the configuration
  airlock-e2b check-config --config e2b.toml
  airlock-e2b check-config --config e2b.toml --effective   # every key with its value and origin
  airlock-e2b run --config e2b.toml                # the same as airlock-e2b --config e2b.toml

Set E2B_API_URL and E2B_SANDBOX_URL to the URL that the program prints, and E2B_API_KEY to an API key. The SDKs of E2B
then use sessions of Airlock.

Signals: SIGTERM and SIGINT end all sandboxes and exit.

Environment: AIRLOCK_E2B__SECTION__KEY sets a key of the configuration, such as AIRLOCK_E2B__LIMITS__TIMEOUT_MAX=1h. It
overrides the file, and --set overrides it.

Exit codes: 0 success, 1 failure, 2 wrong usage or an invalid configuration.";

/// Serves the API of E2B on sessions of Airlock, for the SDKs of E2B.
#[derive(Debug, Parser)]
#[command(
    name = "airlock-e2b",
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
    /// Serve until SIGTERM.
    Run(Configuration),
    /// Check that the configuration is valid and that the files it names are readable.
    CheckConfig {
        #[command(flatten)]
        config: Configuration,
        /// Print every key with its value and its origin: the default, the file, a variable or a flag.
        #[arg(long)]
        effective: bool,
    },
    /// Print a new API key and its hash. Give the key to the caller, and the hash to the configuration.
    NewKey,
    /// Print the version.
    Version,
}

#[derive(Debug, Args)]
struct Configuration {
    /// The configuration file (TOML).
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// Set a key of the configuration, such as limits.timeout_max=1h. Can be repeated.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
}

impl Configuration {
    fn layers(self) -> Layers {
        Layers { file: self.config, overrides: Overrides::new(VARIABLES, std::env::vars_os(), self.set) }
    }
}

/// The exit code if the start failed.
const FAILED: u8 = 1;
/// The exit code if the configuration is invalid. It equals clap's exit code for invalid arguments.
const REFUSED: u8 = 2;

/// An exit code and the message to print.
type Failure = (u8, String);

fn main() -> ExitCode {
    // Fails only if a provider is already installed.
    let _ = rustls::crypto::ring::default_provider().install_default();
    match obey(Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err((code, said)) => {
            for line in said.lines() {
                eprintln!("airlock-e2b: {line}");
            }
            ExitCode::from(code)
        }
    }
}

fn obey(arguments: Arguments) -> Result<(), Failure> {
    match (arguments.command, arguments.config) {
        (Some(Command::Run(config)), _) | (None, Some(config)) => run(&config.layers()),
        (Some(Command::CheckConfig { config, effective }), _) => check(&config.layers(), effective),
        (Some(Command::NewKey), _) => {
            let key = new_key().map_err(|error| (FAILED, format!("no random bytes: {error}")))?;
            println!("E2B_API_KEY={key}\nsha256 = \"{}\"", KeyHash::of(&key).to_hex());
            Ok(())
        }
        (Some(Command::Version), _) => {
            println!("airlock-e2b {}", env!("CARGO_PKG_VERSION"));
            Ok(())
        }
        (None, None) => {
            Err((REFUSED, "no configuration file is given; name one with --config FILE".to_owned()))
        }
    }
}

fn load(layers: &Layers) -> Result<E2bConfig, Failure> {
    E2bConfig::load(layers).map_err(|error| (REFUSED, error.to_string()))
}

fn check(layers: &Layers, effective: bool) -> Result<(), Failure> {
    if effective {
        let loaded = layers.load::<E2bConfig>(schema()).map_err(|error| (REFUSED, error.to_string()))?;
        print!("{}", loaded.effective().map_err(|error| (FAILED, error.to_string()))?);
    }
    let config = load(layers)?;
    let unreadable = config.files().into_iter().filter_map(|(field, path)| {
        let (error, shown) = (std::fs::File::open(path).err()?, path.display());
        Some(format!("`{field}`: `{shown}` cannot be read: {error}; create it, or correct the path"))
    });
    let lines: Vec<String> = unreadable.map(|line| format!("{}: {line}", layers.file.display())).collect();
    if !lines.is_empty() {
        return Err((REFUSED, lines.join("\n")));
    }
    if !effective {
        println!("{}: ok", layers.file.display());
    }
    Ok(())
}

fn run(layers: &Layers) -> Result<(), Failure> {
    let config = load(layers)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| (FAILED, format!("the async runtime does not start: {error}")))?;
    runtime.block_on(serve(&config)).map_err(|error| (FAILED, error))
}

async fn serve(config: &E2bConfig) -> Result<(), String> {
    let caught = |kind| signal(kind).map_err(|error| format!("a signal cannot be caught: {error}"));
    let (mut terminate, mut interrupt) = (caught(SignalKind::terminate())?, caught(SignalKind::interrupt())?);
    let stop = async {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    };
    let listener = Listener::bind(config).await?;
    let url = listener.url();
    println!("airlock-e2b serves {url}\n  export E2B_API_URL={url}\n  export E2B_SANDBOX_URL={url}");
    listener.serve(stop).await
}
