//! `airlock-server`: reads its configuration, serves until it is told to stop.

use std::{path::PathBuf, process::ExitCode};

use airlock_server::{
    config::Config,
    telemetry::Telemetry,
    wiring::{Options, Server},
};
use clap::Parser;
use tokio::signal::unix::{SignalKind, signal};

/// The front service of Airlock.
#[derive(Debug, Parser)]
#[command(version, about)]
struct Arguments {
    /// The configuration, in TOML.
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// Only say whether the configuration is right.
    #[arg(long)]
    check_config: bool,
}

/// It did not start, or stopped by itself.
const FAILED: u8 = 1;
/// The configuration was refused; the same as clap's for bad arguments.
const REFUSED: u8 = 2;

fn main() -> ExitCode {
    // Before anything that could want another one.
    let provider = rustls::crypto::ring::default_provider();
    if provider.install_default().is_err() {
        eprintln!("airlock-server: another cryptography provider is installed");
        return ExitCode::from(FAILED);
    }
    let arguments = Arguments::parse();
    let config = match Config::load(&arguments.config) {
        Ok(config) => config,
        Err(error) => {
            eprintln!("airlock-server: {error}");
            return ExitCode::from(REFUSED);
        }
    };
    if arguments.check_config {
        return match Server::check(&config) {
            Ok(()) => {
                println!("{}: ok", arguments.config.display());
                ExitCode::SUCCESS
            }
            Err(error) => {
                eprintln!("airlock-server: {error}");
                ExitCode::from(REFUSED)
            }
        };
    }
    let served = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(Into::into)
        .and_then(|runtime| runtime.block_on(serve(config)));
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("airlock-server: {error}");
            ExitCode::from(FAILED)
        }
    }
}

async fn serve(config: Config) -> Result<(), Box<dyn std::error::Error>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let telemetry = Telemetry::start(&config.telemetry, &config.server_id)?;
    telemetry.install(&config.telemetry)?;
    let options = Options { telemetry: Some(telemetry), ..Options::default() };
    let mut server = Server::start_with(config, options).await?;
    let failed = tokio::select! {
        error = server.wait() => Some(error),
        _ = terminate.recv() => None,
        _ = interrupt.recv() => None,
    };
    server.shut_down().await;
    failed.map_or(Ok(()), |error| Err(error.into()))
}
