//! A session that is worked in by the command line alone. Must not know what the work is.

use std::process::{Command, Output};

use crate::{
    airlock::{Airlock, said},
    process::{Process, until},
    site::{Extras, PATIENCE, Site},
};

/// The longest that a command may be given: real work is slow on a busy machine.
const LONGEST: &str = "30m";

/// A server and a runner at work.
#[derive(Debug)]
pub struct World {
    _server: Process,
    _runner: Process,
    /// Where they live.
    pub site: Site,
}

impl World {
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

/// What a command that must succeed prints, without the last newline.
///
/// # Panics
/// If it fails.
#[must_use]
pub fn stdout_of(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", said(&output));
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

/// A session in which one project is worked on.
#[derive(Debug)]
pub struct Desk<'a> {
    /// The command line that it is worked with.
    pub airlock: Airlock<'a>,
    /// The session's id.
    pub session: String,
}

impl<'a> Desk<'a> {
    /// Opens a session of this profile.
    ///
    /// # Panics
    /// If it cannot be opened.
    #[must_use]
    pub fn new(airlock: Airlock<'a>, profile: &str) -> Self {
        let session = airlock.text(&["session", "create", "--quiet", "--profile", profile]);
        Self { airlock, session }
    }

    /// A path in it, as the command line names it.
    #[must_use]
    pub fn there(&self, path: &str) -> String {
        format!("{}:{path}", self.session)
    }

    /// Runs a command to its end.
    #[must_use]
    pub fn run(&self, command: &str) -> Output {
        self.airlock.run(&["run", "--session", &self.session, "--timeout", LONGEST, "--", command])
    }

    /// Runs a command that must succeed, and gives both its outputs.
    ///
    /// # Panics
    /// If it fails.
    #[must_use]
    pub fn check(&self, command: &str) -> String {
        let output = self.run(command);
        assert!(output.status.success(), "{command}: {}", said(&output));
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    }

    /// Runs tests that must fail.
    ///
    /// # Panics
    /// If it succeeds.
    #[must_use]
    pub fn fails(&self, command: &str) -> String {
        let output = self.run(command);
        let text = said(&output);
        assert!(!output.status.success(), "{command}: {text}");
        text
    }

    /// What the comparison with what was uploaded says.
    ///
    /// # Panics
    /// If the comparison fails.
    #[must_use]
    pub fn patch(&self) -> String {
        let output = self.airlock.run(&["diff", &self.session, "--patch"]);
        assert!(matches!(output.status.code(), Some(0 | 1)), "{}", said(&output));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Closes it, which leaves none open.
    ///
    /// # Panics
    /// If one stays open.
    pub fn close(self) {
        drop(self.airlock.bytes(&["session", "close", &self.session]));
        until("nothing is left open", PATIENCE, || {
            self.airlock.text(&["session", "list", "--quiet"]).is_empty()
        });
    }
}
