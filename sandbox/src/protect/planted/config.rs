//! Git configurations, and those that they include.

use std::path::{Path, PathBuf};

use rustix::fs::fstat;

use super::super::error::ProtectError;
use super::super::git_config::{leads, started_programs, without_programs};
use super::item::Plant;
use super::search::{Search, content};
use crate::layout::HOME;

impl Search<'_> {
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
