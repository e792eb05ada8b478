//! Directories of hooks.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, fstat, statat};

use super::super::directory::{Directory, Need, kind};
use super::super::error::ProtectError;
use super::super::mark::Kind;
use super::config::expanded;
use super::item::Plant;
use super::search::{Found, REPOSITORIES, Search};

/// The suffix of sample hooks, which git does not run.
const SAMPLE: &[u8] = b".sample";

impl Search<'_> {
    /// Checks the hook directories that trusted configurations name. A relative one can begin in any working tree.
    pub(super) fn named_hooks(&mut self) -> Result<(), ProtectError> {
        let (hooks, bases) = (std::mem::take(&mut self.hooks), std::mem::take(&mut self.bases));
        if hooks.len().saturating_mul(bases.len()) > REPOSITORIES {
            return Err(ProtectError::TooMany { what: "directories of hooks", limit: REPOSITORIES });
        }
        for written in &hooks {
            let all: BTreeSet<PathBuf> = bases.iter().map(|base| expanded(base, written)).collect();
            all.iter().try_for_each(|at| self.hook_directory(at))?;
        }
        Ok(())
    }

    pub(super) fn hook_directory(&mut self, at: &Path) -> Result<(), ProtectError> {
        let Some(found) = self.find(at)?.filter(|found| found.is_directory) else { return Ok(()) };
        if self.is_straight(at, &found) && self.is_trusted(&found) {
            return Ok(());
        }
        // A mask cannot cover a session's whole directory.
        if found.relative.as_os_str().is_empty() {
            self.cannot_mask(at, "is a directory of hooks");
        } else {
            self.plant(&found, Plant::Hooks);
        }
        Ok(())
    }

    /// Reports whether all hooks existed before any command, or were permitted by a decision.
    fn is_trusted(&self, found: &Found) -> bool {
        let Ok(directory) = Directory::of(&found.handle, Need::Look) else { return false };
        let Ok(entries) = Dir::read_from(&directory) else { return false };
        let is_old = fstat(&directory).is_ok_and(|stat| self.is_old(&stat));
        for entry in entries {
            let Ok(entry) = entry else { return false };
            let name = entry.file_name().to_bytes();
            if matches!(name, b"." | b"..") {
                continue;
            }
            let Ok(stat) = statat(&directory, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW) else {
                return false;
            };
            let is_harmless = kind(&stat) == FileType::Directory
                || (kind(&stat) == FileType::RegularFile && name.ends_with(SAMPLE));
            let path = found.relative.join(OsStr::from_bytes(name));
            let known = self.mark(found.directory, &path);
            let is_trusted = match known {
                Some(mark) => !mark.planted && mark.kind == Kind::of(&stat),
                None => is_old && self.is_old(&stat),
            };
            if !is_harmless && !is_trusted {
                return false;
            }
        }
        true
    }
}
