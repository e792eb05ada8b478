//! The program `airlock-runner`: reads its configuration, runs until SIGTERM or SIGINT, and then drains.

use std::{path::PathBuf, process::ExitCode};

use airlock_runner::{Runner, RunnerConfig, Telemetry};
use clap::Parser;
use tokio::signal::unix::{SignalKind, signal};

/// Airlock's worker: dials the servers it is told of and runs commands in sandboxes.
#[derive(Debug, Parser)]
#[command(name = "airlock-runner", version)]
struct Arguments {
    /// The configuration, TOML.
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// Check the configuration and end.
    #[arg(long)]
    check_config: bool,
}

fn main() -> ExitCode {
    // Fails only where one is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let arguments = Arguments::parse();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("airlock-runner: {error}");
            ExitCode::FAILURE
        }
    }
}

type AnyError = Box<dyn std::error::Error>;

fn run(arguments: &Arguments) -> Result<(), AnyError> {
    let config = RunnerConfig::load(&arguments.config)?;
    if arguments.check_config {
        println!("{} is right", arguments.config.display());
        return Ok(());
    }
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(serve(config))
}

async fn serve(config: RunnerConfig) -> Result<(), AnyError> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let telemetry = Telemetry::start(&config.telemetry, &config.runner_id)?;
    let runner = Runner::start(config).await?;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    let cut = runner.shut_down().await;
    if cut > 0 {
        eprintln!("airlock-runner: {cut} commands were cut by the end of the drain");
    }
    tokio::task::spawn_blocking(move || telemetry.flush()).await?;
    Ok(())
}
