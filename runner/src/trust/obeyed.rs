//! Checks files that the programs of a read-only command obey at their start: whether one of them names a program.
//!
//! Applies only to commands that the read-only proof alone allows. The check improves the decision. It is not the
//! security boundary: such a command runs on read-only mounts without a network, whatever these files contain.

use std::cell::Cell;

use airlock_domain::{
    Decided, Obeyed, ObeyedFormat,
    limits::{OBEYED_FILE_BYTES, OBEYED_FILES},
};
use airlock_sandbox::{HOME, SettingsFormat, git_includes, named_setting};
use globset::{GlobBuilder, GlobMatcher};

use super::view::{Owner, Text, View};
use crate::{files::shown, floor::Refusal};

/// The reason of a refusal that an approval can override.
const NAMES_A_PROGRAM: &str = "names_a_program";
/// The maximum depth of git configuration files that include one another.
const INCLUDES: usize = 10;

/// Refuses a command if one of its programs obeys a file that names another program.
pub(super) fn check(decided: &Decided, view: &View) -> Result<(), Refusal> {
    let look = Look { view, left: Cell::new(OBEYED_FILES) };
    decided.obeyed.iter().try_for_each(|obeyed| look.at(obeyed))
}

struct Look<'a> {
    view: &'a View,
    /// The number of files and directories that may still be read.
    left: Cell<usize>,
}

impl Look<'_> {
    fn at(&self, obeyed: &Obeyed) -> Result<(), Refusal> {
        if obeyed.paths.is_empty() {
            let program = shown(obeyed.program.as_bytes());
            return Err(refuse(format!(
                "the directory where `{program}` runs, and the files that it obeys there, are not known"
            )));
        }
        for pattern in &obeyed.paths {
            for path in self.matching(pattern.as_bytes(), obeyed)? {
                match obeyed.format {
                    ObeyedFormat::Present => self.present(&path, obeyed)?,
                    ObeyedFormat::Git if path.ends_with(b"/.git") => self.repository(&path, obeyed)?,
                    ObeyedFormat::Git => self.git_file(&path, obeyed, 0)?,
                    ObeyedFormat::Toml => self.file(&path, obeyed, SettingsFormat::Toml)?,
                    ObeyedFormat::Json => self.file(&path, obeyed, SettingsFormat::Json)?,
                    ObeyedFormat::Text => self.file(&path, obeyed, SettingsFormat::Text)?,
                }
            }
        }
        Ok(())
    }

    fn spend(&self, path: &[u8], obeyed: &Obeyed) -> Result<(), Refusal> {
        let left = self.left.get().checked_sub(1).ok_or_else(|| unreadable(path, obeyed))?;
        self.left.set(left);
        Ok(())
    }

    /// Returns the existing paths that match the pattern, or the path itself if it is not a pattern.
    fn matching(&self, pattern: &[u8], obeyed: &Obeyed) -> Result<Vec<Vec<u8>>, Refusal> {
        let mut found = vec![Vec::new()];
        for part in pattern.split(|byte| *byte == b'/').filter(|part| !part.is_empty()) {
            let mut next = Vec::new();
            for above in &found {
                let below = |name: &[u8]| [above.as_slice(), b"/", name].concat();
                if !part.contains(&b'*') {
                    next.push(below(part));
                    continue;
                }
                let matcher = matcher(part).ok_or_else(|| unreadable(pattern, obeyed))?;
                self.spend(above, obeyed)?;
                let names = self.view.names(above, OBEYED_FILES).map_err(|_| unreadable(above, obeyed))?;
                let fitting =
                    names.iter().filter(|name| matcher.is_match(String::from_utf8_lossy(name).as_ref()));
                next.extend(fitting.map(|name| below(name)));
            }
            found = next;
        }
        Ok(found)
    }

    fn present(&self, path: &[u8], obeyed: &Obeyed) -> Result<(), Refusal> {
        self.spend(path, obeyed)?;
        match self.view.follow(path, true) {
            Ok(resolved) if !resolved.is_there && resolved.owner != Owner::Kernel => Ok(()),
            _ => Err(refuse(format!(
                "`{}` exists, and makes `{}` run other programs; have the command approved",
                shown(path),
                shown(obeyed.program.as_bytes())
            ))),
        }
    }

    fn file(&self, path: &[u8], obeyed: &Obeyed, format: SettingsFormat) -> Result<(), Refusal> {
        let Some(text) = self.text(path, obeyed)? else { return Ok(()) };
        match named_setting(format, &text, &obeyed.settings) {
            None => Ok(()),
            Some(setting) => Err(refuse(format!(
                "`{}` sets `{setting}`, which makes `{}` run another program; have the command approved",
                shown(path),
                shown(obeyed.program.as_bytes())
            ))),
        }
    }

    /// Returns the text of a file, or `None` if the file does not exist.
    fn text(&self, path: &[u8], obeyed: &Obeyed) -> Result<Option<Vec<u8>>, Refusal> {
        self.spend(path, obeyed)?;
        match self.view.text(path, OBEYED_FILE_BYTES) {
            Text::Nothing => Ok(None),
            Text::Bytes(text) => Ok(Some(text)),
            Text::Unknown => Err(unreadable(path, obeyed)),
        }
    }

    /// Checks the configuration of a repository, of its working tree and of its submodules. A `.git` file leads to the
    /// repository.
    fn repository(&self, path: &[u8], obeyed: &Obeyed) -> Result<(), Refusal> {
        let text = self.text(path, obeyed)?;
        let directory = match text.as_deref().and_then(|text| text.strip_prefix(b"gitdir:")) {
            Some(target) => beside(path, target.trim_ascii()),
            None => path.to_vec(),
        };
        let below = |at: &[u8], name: &str| [at, b"/", name.as_bytes()].concat();
        let common = self.text(&below(&directory, "commondir"), obeyed)?;
        let common = common.map(|text| beside(&below(&directory, "commondir"), text.trim_ascii()));
        self.git_file(&below(&directory, "config.worktree"), obeyed, 0)?;
        self.git_file(&below(&directory, "config"), obeyed, 0)?;
        let common = common.unwrap_or(directory);
        self.git_file(&below(&common, "config"), obeyed, 0)?;
        let modules = self.matching(&below(&common, "modules/*/config"), obeyed)?;
        modules.iter().try_for_each(|path| self.git_file(path, obeyed, 0))
    }

    /// Checks a git configuration file and the files that it includes.
    fn git_file(&self, path: &[u8], obeyed: &Obeyed, depth: usize) -> Result<(), Refusal> {
        let Some(text) = self.text(path, obeyed)? else { return Ok(()) };
        if depth > INCLUDES {
            return Err(unreadable(path, obeyed));
        }
        self.file(path, obeyed, SettingsFormat::Git)?;
        for include in git_includes(&text) {
            let included = match include.strip_prefix("~/") {
                Some(rest) => [HOME.as_bytes(), b"/", rest.as_bytes()].concat(),
                None => beside(path, include.as_bytes()),
            };
            self.git_file(&included, obeyed, depth + 1)?;
        }
        Ok(())
    }
}

/// Resolves a path that a file names: absolute, or relative to the file's directory.
fn beside(file: &[u8], named: &[u8]) -> Vec<u8> {
    if named.first() == Some(&b'/') {
        return named.to_vec();
    }
    let directory = file.rsplitn(2, |byte| *byte == b'/').nth(1).unwrap_or_default();
    [directory, b"/", named].concat()
}

fn matcher(part: &[u8]) -> Option<GlobMatcher> {
    let glob = GlobBuilder::new(std::str::from_utf8(part).ok()?).literal_separator(true).build().ok()?;
    Some(glob.compile_matcher())
}

fn refuse(message: String) -> Refusal {
    Refusal::new(NAMES_A_PROGRAM, message)
}

fn unreadable(path: &[u8], obeyed: &Obeyed) -> Refusal {
    let (path, program) = (shown(path), shown(obeyed.program.as_bytes()));
    refuse(format!("`{path}`, which `{program}` obeys, cannot be read in full; request an approval"))
}

#[cfg(test)]
mod tests;
