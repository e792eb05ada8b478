//! `airlock policy test`: decides the test cases of profiles.

use std::{
    ffi::OsString,
    fmt::Write as _,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

use airlock_policy::{
    Case, Profile,
    check::{self, Style},
};
use clap::Args;

use super::Failure;
use crate::{
    command::{local_profile, output},
    render::escape,
};

/// The exit code if a case failed or a file is invalid.
const FAILED: u8 = 1;

#[derive(Debug, Args)]
pub(in crate::command) struct Test {
    /// Profiles: built-in names (strict, agent, sandboxed, demo, read_only) or TOML files.
    #[arg(value_name = "NAME|FILE", required = true)]
    profiles: Vec<OsString>,
    /// Further cases for each profile, as [[test]] tables in a TOML file; may be repeated.
    #[arg(long, value_name = "FILE")]
    cases: Vec<PathBuf>,
}

/// The file that contains the cases, and the cases.
struct Cases {
    file: String,
    cases: Vec<Case>,
}

#[derive(Default)]
struct Tally {
    decided: usize,
    failed: usize,
    broken: usize,
}

impl Test {
    pub(super) fn run(self) -> Result<u8, Failure> {
        let more: Vec<Cases> = self.cases.iter().map(|path| read_cases(path)).collect::<Result<_, _>>()?;
        let mut tally = Tally::default();
        for name in &self.profiles {
            let shown = escape::line(name.as_bytes());
            match local_profile::read(name) {
                Ok((profile, cases)) => {
                    let own = Cases { file: shown, cases };
                    for cases in std::iter::once(&own).chain(&more) {
                        tally.decide(&profile, cases)?;
                    }
                }
                Err(failure) if failure.code() == FAILED => {
                    output::report(&failure);
                    tally.broken += 1;
                }
                Err(failure) => return Err(failure),
            }
        }
        output::print(&tally.summary(self.profiles.len()))?;
        Ok(if tally.failed + tally.broken == 0 { 0 } else { FAILED })
    }
}

fn read_cases(path: &Path) -> Result<Cases, Failure> {
    let file = escape::line(path.as_os_str().as_bytes());
    let text = airlock_config::read(path).map_err(|error| Failure::new(error.to_string()))?;
    let cases = Case::read_all(&text, &file).map_err(|error| Failure::new(error.to_string()))?;
    Ok(Cases { file, cases })
}

impl Tally {
    /// Decides the cases, and prints those that fail.
    fn decide(&mut self, profile: &Profile, Cases { file, cases }: &Cases) -> Result<(), Failure> {
        for case in cases {
            self.decided += 1;
            let decision = case.decide(profile);
            let Some(what) = case.failure(&decision) else { continue };
            self.failed += 1;
            let Case { line, column, key, .. } = case;
            let mut text = format!(
                "{file}:{line}:{column}: `{key}` by `{}`: {}\n",
                profile.name(),
                escape::line(what.as_bytes())
            );
            for line in
                check::render(case.command.as_bytes(), &decision, &case.parts(profile), Style::PLAIN).lines()
            {
                let _ = writeln!(text, "    {line}");
            }
            output::print(&format!("{text}\n"))?;
        }
        Ok(())
    }

    fn summary(&self, profiles: usize) -> String {
        let Self { decided, failed, broken } = self;
        let count =
            |number: usize, one: &str| format!("{number} {one}{}", if number == 1 { "" } else { "s" });
        let mut text = format!("{}, {}: ", count(profiles, "profile"), count(*decided, "case"));
        match failed {
            0 => text.push_str("all passed"),
            failed => {
                let _ = write!(text, "{} passed, {failed} failed", decided - failed);
            }
        }
        if *broken > 0 {
            let _ = write!(text, "; {} not loaded", count(*broken, "profile"));
        }
        text.push('\n');
        text
    }
}
