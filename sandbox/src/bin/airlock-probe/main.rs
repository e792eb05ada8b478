//! `airlock-probe TEST [WORD...]` attempts one thing that a sandbox must prevent, in several ways, and prints as JSON
//! which of them worked.
//!
//! It is an attack by design, but harmless: it does not change the objects that it reaches. It must fail inside a
//! sandbox. It must succeed where the tested layer is absent. Otherwise it does not test the layer.

mod attempt;
mod fill;
mod forge;
mod kernel;
mod network;
mod processes;
mod search;
mod terminal;

use std::ffi::OsString;
use std::process::ExitCode;

use serde::Serialize;

use attempt::Attempt;

#[derive(Serialize)]
struct Findings {
    test: String,
    /// Whether any attempt worked.
    reached: bool,
    ways: Vec<Attempt>,
}

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    let test = words.next().unwrap_or_default().to_string_lossy().into_owned();
    let words: Vec<OsString> = words.collect();
    let word = |index: usize| words.get(index).cloned().unwrap_or_default();
    let ways = match test.as_str() {
        "capabilities" => kernel::capabilities(),
        "gain-privileges" => kernel::gain_privileges(),
        "namespaces" => kernel::namespaces(),
        "mount" => kernel::mount(),
        "device" => kernel::device(&word(0)),
        "program" => processes::program(&word(0)),
        "bend" => processes::bend(&word(0)),
        "trace" => processes::trace(),
        "terminal" => terminal::own(),
        "terminal-here" => terminal::here(),
        "forge" => return forge::everywhere(),
        "forge-to-input" => return forge::to_input(),
        "search" => search::everywhere(&word(0), &word(1)),
        "sysctl" => kernel::sysctl(),
        "call" => kernel::call(&word(0)),
        "clock" => kernel::clock(),
        "module" => kernel::module(),
        "kernel-log" => kernel::kernel_log(),
        "reboot" => kernel::reboot(),
        "fork-bomb" => fill::processes(&word(0)),
        "pids" => fill::numbers(&word(0)),
        "memory" => fill::memory(&word(0)),
        "disk" => fill::disk(&word(0), &word(1)),
        "inodes" => fill::inodes(&word(0), &word(1)),
        // Helpers that the tests above start repeatedly or watch from outside.
        "hold" => return fill::hold(&word(0)),
        "environment" => processes::environment(&word(0)),
        "process" => processes::process(&word(0)),
        "descriptors" => processes::descriptors(),
        "interfaces" => network::interfaces(),
        "connect" => network::connect(&word(0)),
        "datagram" => network::datagram(&word(0)),
        "families" => network::families(),
        "path-socket" => network::path_socket(&word(0)),
        "abstract-socket" => network::abstract_socket(&word(0)),
        "listen" => network::listen(&word(0)),
        "read" => search::read(&word(0)),
        "write" => search::write(&word(0)),
        _ => {
            eprintln!("airlock-probe: unknown test `{test}`");
            return ExitCode::from(2);
        }
    };
    let findings = Findings { test, reached: ways.iter().any(|way| way.reached), ways };
    match serde_json::to_string(&findings) {
        Ok(text) => println!("{text}"),
        Err(error) => {
            eprintln!("airlock-probe: {error}");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}
