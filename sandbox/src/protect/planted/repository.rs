//! One repository: its own directory or a file that leads to it, its configurations and those that they include, and
//! its directories of hooks.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, fstat, statat};

use super::super::directory::{Directory, Need, kind};
use super::super::error::ProtectError;
use super::super::git_config::{leads, started_programs, without_programs};
use super::super::index::gitdir;
use super::super::mark::Kind;
use super::super::scrub::Shape;
use super::search::{Found, Plant, REPOSITORIES, Search, content, path};
use crate::layout::HOME;

impl Search<'_> {
    pub(super) fn repository(&mut self, at: &Path) -> Result<(), ProtectError> {
        let Some(found) = self.find(at)? else { return Ok(()) };
        if !found.is_directory {
            return self.pointer(at, &found);
        }
        if !Shape::of(&found.handle).is_ok_and(Shape::is_repository) {
            return Ok(());
        }
        self.bases.insert(at.to_owned());
        self.add_base(at);
        if let Some(common) = self.find(&at.join("commondir"))?.and_then(|found| content(&found)) {
            let written = path(common.trim_ascii_end());
            if let Some(common) = self.find_pointed(at, written)? {
                self.add(common)?;
            }
        }
        for name in ["config", "config.worktree"] {
            self.config(&at.join(name))?;
        }
        self.hook_directory(&at.join("hooks"))?;
        if self.rebases() {
            self.todo(&at.join("rebase-merge/git-rebase-todo"))?;
        }
        // A directory in the record was scanned with all its contents.
        if self.is_repository(&found) { Ok(()) } else { self.add_parts(at, &found.handle) }
    }

    /// Follows a `.git` file. If it is reached through a link, git resolves it relative to the link.
    fn pointer(&mut self, at: &Path, found: &Found) -> Result<(), ProtectError> {
        if at.file_name().is_none_or(|name| !name.eq_ignore_ascii_case(".git")) {
            return Ok(());
        }
        let Some(content) = content(found) else { return Ok(()) };
        let (Some(target), Some(base)) = (gitdir(&content), at.parent()) else { return Ok(()) };
        self.add_base(at);
        let target = Path::new(OsStr::from_bytes(target));
        match self.find_pointed(base, target)? {
            Some(target) => self.add(target),
            None => Ok(()),
        }
    }

    fn add_base(&mut self, at: &Path) {
        if at.file_name().is_some_and(|name| name.eq_ignore_ascii_case(".git")) {
            self.bases.extend(at.parent().map(Path::to_owned));
        }
    }

    /// Checks the list of a rebase in progress. git rewrites it, so no mask can cover it.
    fn todo(&mut self, at: &Path) -> Result<(), ProtectError> {
        let Some(found) = self.find(at)? else { return Ok(()) };
        let runs = |line: &[u8]| {
            let word = line.trim_ascii_start().split(u8::is_ascii_whitespace).next().unwrap_or_default();
            matches!(word, b"exec" | b"x")
        };
        match content(&found) {
            Some(list) if !list.split(|byte| *byte == b'\n').any(runs) => {}
            _ => self.cannot_mask(at, "has lines that run programs"),
        }
        Ok(())
    }

    /// Checks a repository's configuration. Its programs are trusted if they existed before any command, or if a
    /// decision permitted them.
    pub(super) fn config(&mut self, at: &Path) -> Result<(), ProtectError> {
        let Some(found) = self.find(at)?.filter(|found| !found.is_directory) else { return Ok(()) };
        let is_straight = self.is_straight(at, &found);
        let mark = self.mark(found.directory, &found.relative).filter(|_| is_straight);
        let is_old =
            is_straight && mark.is_none() && fstat(&found.handle).is_ok_and(|stat| self.is_old(&stat));
        let mark = mark.filter(|mark| !mark.planted);
        let Some(text) = content(&found) else {
            if !is_old && mark.is_none() {
                self.plant(&found, Plant::Config([].as_slice().into()));
            }
            return Ok(());
        };
        let trusted = mark.and_then(|mark| mark.programs.as_ref());
        let is_trusted = match started_programs(&text) {
            // git rejects it, too.
            None => is_old || trusted.is_some(),
            Some(programs) => {
                is_old || programs.is_empty() || trusted.is_some_and(|trusted| programs.is_subset(trusted))
            }
        };
        if is_trusted {
            return self.follow_config(at, &text);
        }
        self.plant(&found, Plant::Config(without_programs(&text).into()));
        Ok(())
    }

    /// Follows a configuration of HOME, which has its own guard.
    pub(super) fn global_config(&mut self, at: &Path) -> Result<(), ProtectError> {
        match self.find(at)?.and_then(|found| content(&found)) {
            Some(text) => self.follow_config(at, &text),
            None => Ok(()),
        }
    }

    fn follow_config(&mut self, at: &Path, text: &[u8]) -> Result<(), ProtectError> {
        let leads = leads(text);
        self.hooks.extend(leads.hooks);
        for written in leads.includes {
            let included = expanded(at.parent().unwrap_or(at), &written);
            if self.once(&included)? {
                self.included(&included)?;
            }
        }
        Ok(())
    }

    /// Checks an included configuration, which no guard watches. Its programs are trusted if no command could have
    /// changed it.
    fn included(&mut self, at: &Path) -> Result<(), ProtectError> {
        let Some(found) = self.find(at)?.filter(|found| !found.is_directory) else { return Ok(()) };
        let is_old = !found.by_link && fstat(&found.handle).is_ok_and(|stat| self.is_old(&stat));
        let text = content(&found);
        let programs = text.as_deref().and_then(started_programs);
        match text {
            Some(text) if is_old || programs.is_some_and(|programs| programs.is_empty()) => {
                self.follow_config(at, &text)
            }
            Some(text) => {
                self.plant(&found, Plant::Config(without_programs(&text).into()));
                Ok(())
            }
            None if is_old => Ok(()),
            None => {
                self.plant(&found, Plant::Config([].as_slice().into()));
                Ok(())
            }
        }
    }
}

/// Expands a path of a configuration as git does.
pub(super) fn expanded(base: &Path, written: &str) -> PathBuf {
    match written.strip_prefix('~') {
        Some(rest) => Path::new(HOME).join(rest.trim_start_matches('/')),
        None => base.join(written),
    }
}

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

    fn hook_directory(&mut self, at: &Path) -> Result<(), ProtectError> {
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
