//! One repository: its own directory, or a file that leads to it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::super::error::ProtectError;
use super::super::index::gitdir;
use super::super::shape::Shape;
use super::search::{Found, Search, content, path};

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
}
