//! The host's side of one sandbox: sends commands, receives the observations, and creates a new
//! sandbox after a change of the tree. It runs no command itself.

use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout};

use super::inside::{Seen, Task};
use super::obeyed::ConfigFiles;
use super::place::{self, Alias, CanarySandbox, Planted};

/// After this number of commands, all bytes are compared and a new sandbox starts with the next
/// awk.
const COMMANDS_PER_PLACE: usize = 250;

/// Runs commands in successive sandboxes.
#[derive(Debug)]
pub struct Worker<'a> {
    driver: &'a Path,
    /// The index of the next awk.
    turn: usize,
    /// The planted configurations, used in turn.
    planted: &'static [Planted],
    running: Option<Running>,
}

#[derive(Debug)]
struct Running {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    ran: Vec<String>,
    planted: Planted,
    /// Removed when every process inside the sandbox has ended.
    _place: CanarySandbox,
}

impl<'a> Worker<'a> {
    /// Creates a worker with sandboxes that run `driver`.
    #[must_use]
    pub fn new(driver: &'a Path, turn: usize) -> Self {
        Self { driver, turn, planted: &[Planted::Nothing], running: None }
    }

    /// Returns the worker with these configurations, which its sandboxes use in turn.
    #[must_use]
    pub fn planting(self, planted: &'static [Planted]) -> Self {
        Self { planted, ..self }
    }

    /// Runs the command on an unchanged tree.
    ///
    /// # Errors
    ///
    /// Returns an error if the sandbox cannot be created or ends before it answers.
    pub fn run(&mut self, command: &str) -> io::Result<Seen> {
        self.run_held(command, Vec::new())
    }

    /// Runs the command unless one of these files names a program.
    ///
    /// # Errors
    ///
    /// Returns an error in the same cases as [`run`](Self::run).
    pub fn run_held(&mut self, command: &str, held: Vec<ConfigFiles>) -> io::Result<Seen> {
        let mut running = match self.running.take() {
            Some(running) => running,
            None => self.start()?,
        };
        let seen = running.ask(&Task { command: Some(command.to_owned()), held })?;
        running.ran.push(command.to_owned());
        if seen.changed.is_empty() && seen.trouble.is_none() {
            self.running = Some(running);
        }
        Ok(seen)
    }

    /// Returns the planted configuration for the next command.
    #[must_use]
    pub fn planted(&self) -> Planted {
        self.running.as_ref().map_or_else(|| self.next_planted(), |running| running.planted)
    }

    fn next_planted(&self) -> Planted {
        let turn = self.turn.checked_rem(self.planted.len()).unwrap_or(0);
        self.planted.get(turn).copied().unwrap_or(Planted::Nothing)
    }

    /// Returns whether the sandbox has run its number of commands.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.running.as_ref().is_some_and(|running| running.ran.len() >= COMMANDS_PER_PLACE)
    }

    /// Ends the sandbox. Returns content changes that no timestamp showed, and the commands that
    /// may have caused them.
    ///
    /// # Errors
    ///
    /// Returns an error if the sandbox ends before it answers.
    pub fn finish(&mut self) -> io::Result<Option<(Vec<String>, Vec<String>)>> {
        let Some(mut running) = self.running.take() else {
            return Ok(None);
        };
        let seen = running.ask(&Task { command: None, held: Vec::new() })?;
        Ok((!seen.changed.is_empty()).then(|| (std::mem::take(&mut running.ran), seen.changed)))
    }

    fn start(&mut self) -> io::Result<Running> {
        let awks = place::awks();
        let awk = awks.get(self.turn.checked_rem(awks.len()).unwrap_or(0)).copied();
        let planted = self.next_planted();
        self.turn += 1;
        let aliases: Vec<Alias> = place::renamed().into_iter().chain(awk).collect();
        let place = CanarySandbox::new(self.driver, aliases, planted)?;
        let mut child = place.command().spawn()?;
        let missing = || io::Error::other("the sandbox has no pipes");
        let input = Some(child.stdin.take().ok_or_else(missing)?);
        let output = BufReader::new(child.stdout.take().ok_or_else(missing)?);
        Ok(Running { child, input, output, ran: Vec::new(), planted, _place: place })
    }
}

impl Running {
    fn ask(&mut self, task: &Task) -> io::Result<Seen> {
        let mut line = serde_json::to_string(task)?;
        line.push('\n');
        if let Some(input) = &mut self.input {
            input.write_all(line.as_bytes())?;
        }
        let mut answer = String::new();
        if self.output.read_line(&mut answer)? == 0 {
            let status = self.child.wait()?;
            let last = task.command.as_deref().unwrap_or("the comparison of all bytes");
            return Err(io::Error::other(format!("the sandbox ended with {status} at `{last}`")));
        }
        Ok(serde_json::from_str(&answer)?)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The sandbox and all its processes end when their input is closed.
        drop(self.input.take());
        let _ = self.child.wait();
    }
}
