//! A session that is used only through the command line. This module does not depend on the
//! commands that run in it.

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Output};

use crate::{
    process::{Process, until},
    site::{Extras, PATIENCE, Site},
    tools::program,
};

/// The largest timeout of a command. Real projects build slowly on a busy host.
const LONGEST: &str = "30m";

/// A fixture with a running server and a running runner.
#[derive(Debug)]
pub struct Fixture {
    _server: Process,
    _runner: Process,
    /// Their directory.
    pub site: Site,
}

impl Fixture {
    /// Starts them, and waits until they are ready.
    ///
    /// # Panics
    /// If they do not become ready.
    #[must_use]
    pub fn new(extras: Extras) -> Self {
        let site = Site::with(extras);
        let (server, runner) = (site.server(&[]), site.runner(&[]));
        tokio::runtime::Runtime::new().unwrap().block_on(site.ready());
        Self { _server: server, _runner: runner, site }
    }
}

/// Runs a command, which must succeed, and returns its standard output without the last line feed.
///
/// # Panics
/// If it fails.
#[must_use]
pub fn stdout_of(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", said(&output));
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

/// A session with one project.
#[derive(Debug)]
pub struct Desk<'a> {
    /// The command line.
    pub airlock: Airlock<'a>,
    /// The ID of the session.
    pub session: String,
}

impl<'a> Desk<'a> {
    /// Opens a session with this profile.
    ///
    /// # Panics
    /// If it cannot be opened.
    #[must_use]
    pub fn new(airlock: Airlock<'a>, profile: &str) -> Self {
        let session = airlock.text(&["session", "create", "--quiet", "--profile", profile]);
        Self { airlock, session }
    }

    /// Returns a path in the session in the form of the command line.
    #[must_use]
    pub fn there(&self, path: &str) -> String {
        format!("{}:{path}", self.session)
    }

    /// Runs a command to its end.
    #[must_use]
    pub fn run(&self, command: &str) -> Output {
        self.airlock.run(&["run", "--session", &self.session, "--timeout", LONGEST, "--", command])
    }

    /// Runs a command, which must succeed, and returns both outputs.
    ///
    /// # Panics
    /// If it fails.
    #[must_use]
    pub fn check(&self, command: &str) -> String {
        let output = self.run(command);
        assert!(output.status.success(), "{command}: {}", said(&output));
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    }

    /// Runs tests that must fail, and returns their output.
    ///
    /// # Panics
    /// If they succeed.
    #[must_use]
    pub fn fails(&self, command: &str) -> String {
        let output = self.run(command);
        let text = said(&output);
        assert!(!output.status.success(), "{command}: {text}");
        text
    }

    /// Returns the differences from the uploaded files.
    ///
    /// # Panics
    /// If `airlock diff` fails.
    #[must_use]
    pub fn patch(&self) -> String {
        let output = self.airlock.run(&["diff", &self.session, "--patch"]);
        assert!(matches!(output.status.code(), Some(0 | 1)), "{}", said(&output));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Closes the session, and checks that no session is open.
    ///
    /// # Panics
    /// If one is.
    pub fn close(self) {
        drop(self.airlock.bytes(&["session", "close", &self.session]));
        until("no handle remains open", PATIENCE, || {
            self.airlock.text(&["session", "list", "--quiet"]).is_empty()
        });
    }
}

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
