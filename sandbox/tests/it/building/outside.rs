//! Tests that a command outside the sandbox is a separate script too. The rows are harmless on a host: they run as a
//! session's user, in its directories.

use std::fs;

use airlock_sandbox::LaunchSpec;
use airlock_sandbox::env::outside;

use crate::building::{Outcome, Site, rows};
use crate::support::finish;

/// A row that names this path would write to the host's own directory.
const HOSTS_OWN: &[u8] = b"/tmp/";

impl Site {
    fn outside(&self, command: &[u8], script: &str) -> Outcome {
        let spec = self.host.spec(command);
        let spec = LaunchSpec { env: outside(spec.env.clone(), &self.session.directories), ..spec };
        let running = self.host.launcher.start_outside(&self.session, &self.host.limits, &spec);
        let output = finish(running.unwrap_or_else(|error| panic!("{}: {error}", error.step())));
        let ended = output.ended;
        Outcome { output: output.stdout.replace(script, "SCRIPT"), cause: ended.cause, directory: ended.cwd }
    }

    fn built_outside(&self, command: &[u8]) -> Outcome {
        self.empty();
        self.outside(command, &self.session.directories.root.join("run/command").to_string_lossy())
    }

    fn reference_outside(&self, command: &[u8]) -> Outcome {
        self.empty();
        let script = self.session.directories.tmp.join("reference-script");
        fs::write(&script, command).unwrap();
        let script = script.to_string_lossy();
        let driver = format!("exec bash --noprofile --norc +H -O expand_aliases {script}");
        self.outside(driver.as_bytes(), &script)
    }
}

#[test]
fn every_command_does_outside_what_it_does_as_a_file() {
    let site = Site::new();
    let rows: Vec<_> = rows::all()
        .into_iter()
        .filter(|row| !row.windows(HOSTS_OWN.len()).any(|part| part == HOSTS_OWN))
        .collect();
    assert!(rows.len() >= 320, "{} rows", rows.len());
    let mut wrong = Vec::new();
    for row in &rows {
        let (wanted, got) = (site.reference_outside(row), site.built_outside(row));
        if wanted != got {
            let shown = String::from_utf8_lossy(row.get(..200).unwrap_or(row)).into_owned();
            wrong.push(format!("{shown:?}\n  as a file: {wanted:?}\n  built:     {got:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {} rows:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}
