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

/// The configuration was refused; the same as clap's for bad arguments.
const REFUSED: u8 = 2;

fn main() -> ExitCode {
    // Fails only where one is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let arguments = Arguments::parse();
    let config = match RunnerConfig::load(&arguments.config) {
        Ok(config) => config,
        Err(error) => {
            eprintln!("airlock-runner: {error}");
            return ExitCode::from(REFUSED);
        }
    };
    if arguments.check_config {
        let unreadable = unreadable(&config);
        for problem in &unreadable {
            eprintln!("airlock-runner: {}: {problem}", arguments.config.display());
        }
        if !unreadable.is_empty() {
            return ExitCode::from(REFUSED);
        }
        println!("{}: ok", arguments.config.display());
        return ExitCode::SUCCESS;
    }
    match run(config) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("airlock-runner: {error}");
            ExitCode::FAILURE
        }
    }
}

/// What of the files and folders that the configuration names cannot be read just now. A start does not
/// look: certificates may come, and change, while the runner dials.
fn unreadable(config: &RunnerConfig) -> Vec<String> {
    let files = config.servers.iter().enumerate().flat_map(|(index, server)| {
        let named = [("ca", &server.ca), ("cert", &server.cert), ("key", &server.key)];
        named
            .into_iter()
            .filter_map(move |(name, path)| Some((format!("server.{index}.{name}"), path.as_ref()?)))
    });
    let bases = config.bases.iter().map(|(name, path)| (format!("bases.{name}"), path));
    let problem = |(field, path): (String, &PathBuf)| {
        let error = std::fs::File::open(path).err()?;
        let shown = path.display();
        Some(format!("`{field}`: `{shown}` cannot be read: {error}; put it there, or name the one that is"))
    };
    files.chain(bases).filter_map(problem).collect()
}

type AnyError = Box<dyn std::error::Error>;

fn run(config: RunnerConfig) -> Result<(), AnyError> {
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
