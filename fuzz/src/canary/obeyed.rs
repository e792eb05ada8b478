//! Checks whether a configuration file that a command's programs read names a program. A runner withdraws the verdict
//! then, so that the command does not run here. It reads the files as the runner does, on a known tree.

use std::io;
use std::path::{Path, PathBuf};

use airlock_policy::{Decision, ObeyedFormat};
use airlock_sandbox::{SettingsFormat, git_includes, named_setting};
use serde::{Deserialize, Serialize};

/// Files, and the settings in them that can name a program.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ConfigFiles {
    paths: Vec<String>,
    format: Format,
    settings: Vec<String>,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
enum Format {
    Toml,
    Json,
    Git,
    Text,
    Present,
}

/// Returns the files that the decision depends on.
#[must_use]
pub fn of(decision: &Decision) -> Vec<ConfigFiles> {
    let held = |files: &airlock_policy::Obeyed| ConfigFiles {
        paths: files.paths.clone(),
        format: match files.format {
            ObeyedFormat::Toml => Format::Toml,
            ObeyedFormat::Json => Format::Json,
            ObeyedFormat::Git => Format::Git,
            ObeyedFormat::Text => Format::Text,
            ObeyedFormat::Present => Format::Present,
        },
        settings: files.settings.iter().map(|setting| (*setting).to_owned()).collect(),
    };
    decision.obeyed.iter().map(held).collect()
}

/// Returns whether one of the files names a program or cannot be read.
pub(super) fn names_a_program(all: &[ConfigFiles]) -> bool {
    all.iter().any(|held| {
        let files: io::Result<Vec<Vec<PathBuf>>> = held.paths.iter().map(|path| matching(path)).collect();
        let Ok(files) = files else { return true };
        held.paths.is_empty() || files.iter().flatten().any(|path| held.is_named_in(path))
    })
}

impl ConfigFiles {
    fn is_named_in(&self, path: &Path) -> bool {
        match self.format {
            Format::Present => path.exists(),
            Format::Git if path.is_dir() => {
                let file = |name: &str| self.is_named_by_git(&path.join(name));
                file("config") || file("config.worktree")
            }
            Format::Git => self.is_named_by_git(path),
            Format::Toml => self.is_set_in(path, SettingsFormat::Toml),
            Format::Json => self.is_set_in(path, SettingsFormat::Json),
            Format::Text => self.is_set_in(path, SettingsFormat::Text),
        }
    }

    /// The `gitdir:` file of a linked working tree leads to the tree's own repository. No file of the tree includes
    /// another file.
    fn is_named_by_git(&self, path: &Path) -> bool {
        let text = std::fs::read(path).unwrap_or_default();
        if text.starts_with(b"gitdir:") {
            return self.is_named_in(Path::new("/workspace/.git"));
        }
        !git_includes(&text).is_empty() || self.is_set_in(path, SettingsFormat::Git)
    }

    fn is_set_in(&self, path: &Path, format: SettingsFormat) -> bool {
        match std::fs::read(path) {
            Ok(text) => named_setting(format, &text, &self.settings).is_some(),
            Err(error) => !matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::IsADirectory
            ),
        }
    }
}

/// Returns the existing paths that match a pattern.
fn matching(pattern: &str) -> io::Result<Vec<PathBuf>> {
    let mut found = vec![PathBuf::from("/")];
    for part in pattern.split('/').filter(|part| !part.is_empty()) {
        let Some((head, tail)) = part.split_once('*') else {
            found.iter_mut().for_each(|path| path.push(part));
            continue;
        };
        let mut next = Vec::new();
        for above in found.iter().filter(|above| above.is_dir()) {
            for entry in std::fs::read_dir(above)? {
                let name = entry?.file_name();
                let text = name.to_string_lossy();
                if text.len() >= head.len() + tail.len() && text.starts_with(head) && text.ends_with(tail) {
                    next.push(above.join(&name));
                }
            }
        }
        found = next;
    }
    Ok(found)
}
