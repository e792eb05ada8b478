//! Runs the `airlock` command against a site, and returns its output.

use std::{
    net::SocketAddr,
    path::Path,
    process::{Command, Output},
};

use crate::{programs::program, site::Site};

/// The command for one site.
#[derive(Debug)]
pub struct Airlock<'a> {
    site: &'a Site,
    through: Option<SocketAddr>,
}

impl<'a> Airlock<'a> {
    /// Returns the command with a direct connection to the site's server.
    #[must_use]
    pub fn at(site: &'a Site) -> Self {
        Self { site, through: None }
    }

    /// Returns the command with a connection through a relay on the loopback.
    #[must_use]
    pub fn through(site: &'a Site, relay: SocketAddr) -> Self {
        Self { site, through: Some(relay) }
    }

    /// Returns the command with these arguments, not started yet.
    #[must_use]
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(program("airlock"));
        command.args(arguments).current_dir(self.site.path()).env("HOME", self.site.path());
        self.site.point(&mut command);
        if let Some(relay) = self.through {
            command.env("AIRLOCK_ADDRESS", format!("https://localhost:{}", relay.port()));
        }
        command
    }

    /// Runs the command to its end.
    ///
    /// # Panics
    /// If it does not start.
    #[must_use]
    pub fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Runs the command, which must succeed, and returns its standard output.
    ///
    /// # Panics
    /// If it fails.
    #[must_use]
    pub fn bytes(&self, arguments: &[&str]) -> Vec<u8> {
        let output = self.run(arguments);
        assert!(output.status.success(), "airlock {arguments:?}: {}", said(&output));
        output.stdout
    }

    /// Like [`Airlock::bytes`], as text without the last line feed.
    ///
    /// # Panics
    /// If it fails.
    #[must_use]
    pub fn text(&self, arguments: &[&str]) -> String {
        String::from_utf8_lossy(&self.bytes(arguments)).trim_end().to_owned()
    }

    /// Copies a local file to a session.
    ///
    /// # Panics
    /// If the copy fails.
    pub fn copy(&self, from: &Path, to: &str) {
        let from = from.display().to_string();
        drop(self.bytes(&["cp", &from, to]));
    }
}

/// Formats the exit code and both outputs for a person.
#[must_use]
pub fn said(output: &Output) -> String {
    let [stdout, stderr] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    format!("{}\n--- stdout\n{stdout}\n--- stderr\n{stderr}", output.status)
}
