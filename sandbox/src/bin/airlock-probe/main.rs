//! `airlock-probe TEST [WORD...]` attempts one thing that a sandbox must prevent, in several ways, and prints as JSON
//! which of them worked.
//!
//! It is an attack by design, and harmless: it changes nothing that it reaches. It must fail inside a sandbox. It must
//! succeed where the tested layer is absent, otherwise it proves nothing.

mod calls;
mod files;
mod fill;
mod forge;
mod kernel;
mod machine;
mod network;
mod processes;
mod search;
mod terminal;

use std::ffi::OsString;
use std::io;
use std::process::ExitCode;

use nix::errno::Errno;
use serde::Serialize;

/// One attempt.
#[derive(Serialize)]
struct Way {
    /// A description of the attempt.
    way: String,
    /// Whether it worked.
    reached: bool,
    /// The observation or the answer; never the contents of a file.
    detail: String,
    /// The name of the error, if the operating system returned one.
    #[serde(skip_serializing_if = "Option::is_none")]
    errno: Option<String>,
}

impl Way {
    fn new(way: impl Into<String>, reached: bool, detail: impl Into<String>) -> Self {
        Self { way: way.into(), reached, detail: detail.into(), errno: None }
    }

    /// An attempt that worked if the call succeeded.
    fn of<T>(way: impl Into<String>, result: Result<T, impl Into<io::Error>>) -> Self {
        Self::past(way, result, |_| false)
    }

    /// An attempt that worked if the program exited successfully; otherwise its first message is the detail.
    fn program(way: impl Into<String>, result: io::Result<std::process::Output>) -> Self {
        Self::of(
            way,
            result.and_then(|output| {
                if output.status.success() {
                    return Ok(());
                }
                let said = String::from_utf8_lossy(&output.stderr);
                let said = said.lines().next().unwrap_or_default();
                Err(io::Error::other(format!("{}, {said}", output.status)))
            }),
        )
    }

    /// An attempt that worked if the call succeeded, or if its error shows that the call was allowed.
    fn past<T>(
        way: impl Into<String>,
        result: Result<T, impl Into<io::Error>>,
        let_through: impl Fn(Errno) -> bool,
    ) -> Self {
        match result {
            Ok(_) => Self::new(way, true, "worked"),
            Err(error) => {
                let error = error.into();
                let errno = error.raw_os_error().map(Errno::from_raw);
                let errno_name = errno.map(|errno| format!("{errno:?}"));
                let way = Self::new(way, errno.is_some_and(let_through), error.to_string());
                Self { errno: errno_name, ..way }
            }
        }
    }
}

#[derive(Serialize)]
struct Findings {
    test: String,
    /// Whether any attempt worked.
    reached: bool,
    ways: Vec<Way>,
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
        "call" => calls::bare(&word(0)),
        "clock" => machine::clock(),
        "module" => machine::module(),
        "kernel-log" => machine::kernel_log(),
        "reboot" => machine::reboot(),
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
        "read" => files::read(&word(0)),
        "write" => files::write(&word(0)),
        _ => {
            eprintln!("airlock-probe: no test `{test}`");
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
