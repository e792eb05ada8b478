//! A fleet at work for some minutes, and what a collector got of it, as a file of OpenMetrics: the pictures in the
//! documentation are drawn from it (`make panels`). Real programs in real sandboxes; one runner dies and comes back.

#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a tool for developers: what is wrong ends it")]

mod openmetrics;
mod work;

use std::{path::PathBuf, time::Duration};

use airlock_tests::collector::Collector;
use clap::Parser;

/// Has a fleet work, and writes what was measured.
#[derive(Debug, Parser)]
struct Arguments {
    /// How long it works.
    #[arg(long, default_value_t = 240)]
    seconds: u64,
    /// Where the measurements go, as OpenMetrics.
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
