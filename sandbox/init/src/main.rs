//! `airlock-init`: several small programs in one static file. `launch` is the step on the host before bubblewrap.
//! `hold` creates a session's namespaces, `socket` opens sockets in them. `pid1` runs one command in a sandbox,
//! `outside` runs one without a sandbox. `look` is a command that reports the state inside a sandbox, `connect` one
//! that connects ssh to the proxy.
//!
//! Except for these two, they communicate only through descriptor 0. Must not make decisions: each carries out the
//! message that it receives, and reports.

mod connect;
mod failure;
mod hold;
mod identity;
mod launch;
mod look;
mod outside;
mod pid1;
mod socket;
mod stage;

use std::os::fd::AsFd;
use std::process::ExitCode;

use airlock_init::frame::send_frame;
use airlock_init::sight::MODE_LOOK;
use airlock_init::wire::{
    MODE_CONNECT, MODE_HOLD, MODE_LAUNCH, MODE_OUTSIDE, MODE_OUTSIDE_PID1, MODE_PID1, MODE_SOCKET, Report,
    Step,
};

use failure::Failure;

/// The exit code for a failed step. The report names the step.
const FAILED: u8 = 125;

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let mode = words.next();
    let result = match mode.as_deref() {
        Some(MODE_LAUNCH) => launch::run(),
        Some(MODE_HOLD) => hold::run(),
        Some(MODE_SOCKET) => socket::run(),
        Some(MODE_PID1) => pid1::run(true),
        Some(MODE_OUTSIDE) => outside::run(),
        Some(MODE_OUTSIDE_PID1) => pid1::run(false),
        Some(MODE_LOOK) => look::run(words.next()),
        Some(MODE_CONNECT) => Ok(connect::run(words)),
        _ => Err(Failure::new(Step::Message, "airlock-init can be started only by Airlock")),
    };
    match result {
        Ok(code) => code,
        Err(Failure { step, fault, cause }) => {
            let report = Report::Failed { step, fault, cause };
            // If the other end is closed, the report has no recipient.
            let _ = send_frame(std::io::stdin().as_fd(), &report, &[]);
            ExitCode::from(FAILED)
        }
    }
}
