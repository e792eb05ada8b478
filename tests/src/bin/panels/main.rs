//! Runs a fleet for some minutes and writes the metrics that a collector received to an OpenMetrics file. The
//! pictures in the documentation are drawn from it (`make panels`). It uses real programs in real sandboxes; one
//! runner dies and restarts.

#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a tool for developers: an error ends it")]

mod openmetrics;
mod work;

use std::{path::PathBuf, time::Duration};

use airlock_tests::collector::Collector;
use clap::Parser;

/// Run a fleet under load, and write its metrics.
#[derive(Debug, Parser)]
struct Arguments {
    /// The duration of the load in seconds.
    #[arg(long, default_value_t = 240)]
    seconds: u64,
    /// The OpenMetrics file to write.
    file: PathBuf,
}

#[tokio::main]
async fn main() {
    let arguments = Arguments::parse();
    let provider = rustls::crypto::ring::default_provider();
    provider.install_default().expect("no other provider is there");
    let collector = Collector::listen().await;
    work::of_a_fleet(collector.endpoint(), Duration::from_secs(arguments.seconds)).await;
    let text = openmetrics::of(&collector.measured());
    std::fs::write(&arguments.file, text).unwrap();
}
