//! Attempts to inject input into a terminal.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsFd;
use std::process::{Command, Stdio};

use airlock_init::sys::{TerminalRequest, terminal_request};
use nix::errno::Errno;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::attempt::Attempt;

/// Uses the terminal of the session that started this process, and a new terminal with a process that it controls.
pub(crate) fn own() -> Vec<Attempt> {
    let mut ways = vec![Attempt::of("/dev/tty", OpenOptions::new().read(true).write(true).open("/dev/tty"))];
    match on_a_new_terminal() {
        Ok(found) => ways.extend(found),
        Err(error) => {
            ways.push(Attempt::new(
                "terminal",
                true,
                format!("no terminal was created, and nothing was attempted: {error}"),
            ));
        }
    }
    ways
}

/// Sends injection requests to the terminal at the input.
pub(crate) fn here() -> Vec<Attempt> {
    let terminal = io::stdin();
    [
        ("type", TerminalRequest::Type),
        ("type, with high bits", TerminalRequest::TypeWithHighBits),
        ("console", TerminalRequest::Console),
    ]
    .map(|(name, request)| {
        // A terminal that is not a console rejects the request as unknown, and newer kernels can disable it. Both
        // errors show that the filter allowed the call.
        let asked = terminal_request(terminal.as_fd(), request);
        Attempt::past(name, asked, |errno| matches!(errno, Errno::ENOTTY | Errno::EIO))
    })
    .into()
}

fn on_a_new_terminal() -> io::Result<Vec<Attempt>> {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
    grantpt(&master)?;
    unlockpt(&master)?;
    let name = ptsname(&master, Vec::new())?;
    let path = name.to_string_lossy().into_owned();
    let slave: File = OpenOptions::new().read(true).write(true).open(path)?;
    let output = Command::new("setsid")
        .args(["--ctty", "--wait"])
        .arg(std::env::current_exe()?)
        .arg("terminal-here")
        .stdin(Stdio::from(slave))
        .output()?;
    let found: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let ways = found.get("ways").and_then(serde_json::Value::as_array).cloned().unwrap_or_default();
    let text = |way: &serde_json::Value, name: &str| {
        way.get(name).and_then(serde_json::Value::as_str).unwrap_or_default().to_owned()
    };
    let reached = |way: &serde_json::Value| way.get("reached") == Some(&serde_json::Value::Bool(true));
    let ways = ways.iter().map(|way| Attempt {
        errno: way.get("errno").and_then(serde_json::Value::as_str).map(str::to_owned),
        ..Attempt::new(text(way, "way"), reached(way), text(way, "detail"))
    });
    Ok(ways.collect())
}
