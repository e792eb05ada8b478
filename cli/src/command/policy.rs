//! `airlock policy`: profiles as files, without a server: by their built-in names, or with the profiles next to them
//! that they extend. Runs their test cases, and creates profiles from the settings of another tool.
//! [`super::suggest_network`] proposes a key of a profile.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::{Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use airlock_policy::import::{self, Imported};
use airlock_policy::{
    Case, Profile,
    check::{self, Style},
};
use clap::{Args, Subcommand};

use super::{Failure, suggest_network::SuggestNetwork};
use crate::command::output;
use crate::render::escape;

/// Test profiles in files, create one from another tool's settings, or propose a network.
///
/// Use this in CI to see the effect of a changed rule before a server loads it. Only `suggest-network` needs a server.
#[derive(Debug, Subcommand)]
pub(super) enum Policy {
    /// Decide a profile's own test cases and further cases; no command is run.
    ///
    /// Use this to find out which cases fail. A server does not load a profile with a failing case.
    #[command(
        after_help = "Examples:\n  airlock policy test team.toml\n  printf '[[test]]\\ncommand = \"git push\"\\nexpect = \"deny\"\\n' > more.toml; airlock policy test --cases more.toml team.toml\n\nExit codes: 0 every case passed, 1 a case failed or a file is invalid, 2 wrong usage."
    )]
    Test(Test),
    /// Create a profile from the settings.json of Claude Code, or from the rules of Codex.
    ///
    /// Use this to keep existing rules. Settings that cannot be converted are listed line by line.
    #[command(
        after_help = "Examples:\n  echo '{\"permissions\": {\"deny\": [\"Bash(git push:*)\"]}}' | airlock policy import -\n  echo '{\"sandbox\": {\"enabled\": true}}' > settings.json; airlock policy import settings.json -o agent.toml\n\nExit codes: 0 every setting was converted, 3 a profile was created without some settings, 1 no profile was\ncreated, 2 wrong usage."
    )]
    Import(Import),
    SuggestNetwork(SuggestNetwork),
}

impl Policy {
    pub(super) async fn run(self) -> Result<u8, Failure> {
        match self {
            Self::Test(test) => test.run(),
            Self::Import(import) => import.run(),
            Self::SuggestNetwork(suggest) => suggest.run().await,
        }
    }
}

/// The exit code if a profile was created but some settings were left out.
const LEFT_OUT: u8 = 3;
/// The largest settings file, in bytes.
const SETTINGS_BYTES: u64 = 1024 * 1024;

#[derive(Debug, Args)]
pub(super) struct Import {
    /// The settings file; - is standard input.
    #[arg(value_name = "SETTINGS")]
    settings: OsString,
    /// Write the profile to a new file and name it after the file [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The profile's name [default: the output file's name without .toml, or imported]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
}

impl Import {
    pub(super) fn run(self) -> Result<u8, Failure> {
        let source = escape::line(self.settings.as_bytes());
        let name = self.name()?;
        let text = self.text(&source)?;
        let imported = import::import(&text, if source == "-" { "standard input" } else { &source }, &name);
        let Imported { toml, left_out } = imported.map_err(|error| {
            Failure::new(format!("`{source}`: {}", escape::line(error.to_string().as_bytes())))
        })?;
        match &self.output {
            Some(path) => write_new(path, &toml)?,
            None => output::print_exact(&toml)?,
        }
        for one in &left_out {
            let value = escape::shortened(one.value.as_bytes(), 120);
            output::note(&format!(
                "not converted: {}: {value}: {}",
                escape::line(one.place.as_bytes()),
                one.why
            ));
        }
        Ok(if left_out.is_empty() { 0 } else { LEFT_OUT })
    }

    fn name(&self) -> Result<String, Failure> {
        let stem = || self.output.as_deref().and_then(Path::file_stem)?.to_str().map(str::to_owned);
        let name = self.name.clone().or_else(stem).unwrap_or_else(|| "imported".to_owned());
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        if name.is_empty() || !name.chars().all(plain) {
            let shown = escape::line(name.as_bytes());
            return Err(Failure::usage(format!(
                "`{shown}` is not a valid profile name; use letters, digits, `_` and `-`, such as --name team"
            )));
        }
        Ok(name)
    }

    fn text(&self, source: &str) -> Result<String, Failure> {
        if self.settings.as_bytes() != b"-" {
            let path = Path::new(&self.settings);
            return airlock_config::read(path).map_err(|error| Failure::new(error.to_string()));
        }
        let mut bytes = Vec::new();
        let read = std::io::stdin().lock().take(SETTINGS_BYTES + 1).read_to_end(&mut bytes);
        read.map_err(|error| Failure::new(format!("cannot read standard input: {error}")))?;
        if bytes.len() as u64 > SETTINGS_BYTES {
            return Err(Failure::new(format!("`{source}` is longer than {SETTINGS_BYTES} bytes")));
        }
        String::from_utf8(bytes).map_err(|_| Failure::new(format!("`{source}` is not UTF-8")))
    }
}

/// Writes a file that must not exist yet.
fn write_new(path: &Path, text: &str) -> Result<(), Failure> {
    let shown = escape::line(path.as_os_str().as_bytes());
    let file = OpenOptions::new().write(true).create_new(true).open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => {
            Failure::new(format!("`{shown}` already exists; use another file, or remove it"))
        }
        _ => Failure::new(format!("cannot write `{shown}`: {error}")),
    })
}

/// The exit code if a case failed or a file is invalid.
const FAILED: u8 = 1;

#[derive(Debug, Args)]
pub(super) struct Test {
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
            match read_profile(name) {
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

/// Returns a built-in profile by name, or the profile in a file with the file's own test cases. The
/// cases are not run.
pub(super) fn read_profile(name: &OsStr) -> Result<(Profile, Vec<Case>), Failure> {
    if let Some(profile) = name.to_str().and_then(Profile::builtin) {
        return Ok((profile, Vec::new()));
    }
    let path = Path::new(name);
    if !path.exists() {
        return Err(Failure::usage(format!(
            "`{}` is neither a built-in profile nor a file; built-in profiles: {}",
            path.display(),
            Profile::builtin_names().join(", ")
        )));
    }
    let read = airlock_server::profiles::read_one(path);
    let (profile, cases) = read.map_err(|error| Failure::new(error.to_string()))?;
    for warning in profile.warnings() {
        output::note(warning);
    }
    Ok((profile, cases))
}

/// Like [`read_profile`], but fails if one of the profile's own test cases fails.
pub(super) fn tested_profile(name: &OsStr) -> Result<Profile, Failure> {
    let (profile, cases) = read_profile(name)?;
    let shown = Path::new(name).display().to_string();
    Case::run_all(&cases, &profile, &shown).map_err(|error| Failure::new(error.to_string()))?;
    Ok(profile)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_are_found_by_name_and_by_file() {
        assert_eq!(tested_profile("demo".as_ref()).unwrap().name(), "demo");
        assert_eq!(tested_profile("no-such".as_ref()).unwrap_err().code(), 2);
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = directory.path().join(name);
            std::fs::write(&path, text).unwrap();
            path.into_os_string()
        };
        write("base.toml", "name = \"base\"\n[policy]\ndeny = [\"Bash(git push:*)\"]\n");
        let team = write("team.toml", "name = \"team\"\nextends = \"base\"\n");
        let profile = tested_profile(&team).unwrap();
        assert_eq!((profile.name(), profile.rules().deny.len()), ("team", 1));
        write("x.toml", "name = \"x\"\nextends = \"y\"\n");
        write("y.toml", "name = \"y\"\nextends = \"base\"\n");
        let far = write("far.toml", "name = \"far\"\nextends = \"x\"\n");
        assert_eq!(tested_profile(&far).unwrap().rules().deny.len(), 1, "through the whole chain");
        let broken = write("broken.toml", "name = \"x\"\n[policy]\nnonsense = 1\n");
        let error = tested_profile(&broken).unwrap_err();
        assert_eq!(error.code(), 1);
        assert!(error.message().contains("broken.toml:3:1: `policy.nonsense`: "), "{}", error.message());
        let wrong =
            write("wrong.toml", "name = \"w\"\n[policy]\nask = [\"Bosh\"]\n[env]\nallowed = [\"1\"]\n");
        assert_eq!(tested_profile(&wrong).unwrap_err().message().lines().count(), 2, "all at once");
        let failing =
            write("failing.toml", "name = \"f\"\n[[policy.test]]\ncommand = \"rm x\"\nexpect = \"allow\"\n");
        assert!(
            tested_profile(&failing).unwrap_err().message().contains("failing.toml:2:1: `policy.test[0]`: ")
        );
        let loose = write("loose.toml", "name = \"l\"\nextends = \"wrong\"\n");
        assert!(tested_profile(&loose).unwrap_err().message().contains("wrong.toml:3:8: `policy.ask[0]`: "));
    }
}
