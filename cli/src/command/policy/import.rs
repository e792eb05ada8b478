//! `airlock policy import`: converts the settings of Claude Code to a profile.

use std::{
    ffi::OsString,
    fs::OpenOptions,
    io::{Read as _, Write as _},
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

use airlock_policy::import::{self, Imported};
use clap::Args;

use super::Failure;
use crate::{command::output, render::escape};

/// The exit code if a profile was created but some settings were left out.
const LEFT_OUT: u8 = 3;
/// The largest settings file, in bytes.
const SETTINGS_BYTES: u64 = 1024 * 1024;

#[derive(Debug, Args)]
pub(in crate::command) struct Import {
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
