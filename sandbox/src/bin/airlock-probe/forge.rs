//! Forges a report that only airlock-init may send, to everything inside that can be written. On a host it writes to
//! one socket only: writing to every descriptor of every process would destroy files of other programs.

use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::process::ExitCode;

use airlock_init::frame::send_frame;
use airlock_init::wire::{End, INSIDE_INIT, Report, Status};
use rustix::fs::{Mode, OFlags, open};

/// The control: sends the report to its input only.
pub(crate) fn to_input() -> ExitCode {
    let _ = send_frame(io::stdin().as_fd(), &report(), &[]);
    ExitCode::SUCCESS
}

fn report() -> Report {
    Report::Ended(End {
        status: Status::Exited(0),
        leftovers: false,
        cwd: Some(b"/forged".to_vec()),
        user_micros: 0,
        system_micros: 0,
        peak_rss: 0,
    })
}

/// Sends the report to each descriptor of this process and to each that it can open of others. Prints nothing.
pub(crate) fn everywhere() -> ExitCode {
    if !fs::exists(INSIDE_INIT).unwrap_or(false) {
        eprintln!("airlock-probe: `forge` is for the inside of a sandbox; the control is `forge-to-input`");
        return ExitCode::from(2);
    }
    let report = report();
    let body = serde_json::to_vec(&report).unwrap_or_default();
    let length = u32::try_from(body.len()).unwrap_or(0);
    let frame = [length.to_le_bytes().as_slice(), &body].concat();
    let send = |to: BorrowedFd<'_>| {
        let _ = send_frame(to, &report, &[]);
        let _ = rustix::io::write(to, &frame);
    };
    for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
        for entry in fs::read_dir(process.path().join("fd")).into_iter().flatten().flatten() {
            let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
            if let Ok(opened) = open(entry.path(), flags, Mode::empty()) {
                send(opened.as_fd());
            }
        }
    }
    send(io::stdin().as_fd());
    send(io::stdout().as_fd());
    send(io::stderr().as_fd());
    // The report contains the shell's directory, which no child can change.
    let _ = std::env::set_current_dir("/");
    ExitCode::SUCCESS
}
