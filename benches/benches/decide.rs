//! Benchmarks of decisions, by construct. They report commands per second on one core, and the time relative to a bare
//! parse of the same text, by tree-sitter or by the parser for PowerShell. The worst text of each construct has hard
//! limits.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a benchmark")]

#[path = "decide/commands.rs"]
mod commands;
#[path = "decide/hostile.rs"]
mod hostile;
#[path = "decide/powershell.rs"]
mod powershell;
#[path = "decide/speed.rs"]
mod speed;
#[path = "decide/worst.rs"]
mod worst;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(at) = arguments.iter().position(|argument| argument == worst::ONE) {
        worst::answer_once(arguments[at + 1].parse().unwrap());
        return ExitCode::SUCCESS;
    }
    let commands = commands::load();
    speed::throughput(&commands);
    speed::by_construct(&commands);
    powershell::measure();
    if worst::all_within_limits() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
