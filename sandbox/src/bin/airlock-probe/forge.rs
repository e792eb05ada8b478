//! A report that nothing but airlock-init may send, written to whatever can be
//! written inside. On a host it is written to one socket only: to every descriptor
//! of every process it would destroy other programs' files.

use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::process::ExitCode;

use airlock_init::frame::send_frame;
use airlock_init::wire::{End, INSIDE_INIT, Report, Status};
use rustix::fs::{Mode, OFlags, open};

/// The report, to its input alone: the control.
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

/// The report, to each descriptor that this process has, to each that it can
/// open of others. Says nothing of its own.
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
    // The directory of the report is that of the shell, which no child of it moves.
    let _ = std::env::set_current_dir("/");
    ExitCode::SUCCESS
}
