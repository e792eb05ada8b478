//! The state of a session's protected names, shared by the commands that run in it
//! at the same time.
//!
//! What a comparison finds belongs to the command at whose end it was made, and is
//! found once. Which commands were decided about what counts for all that could
//! have made the change: those that are alive, and those that ended since the
//! comparison before.

mod act;
mod disarm;
mod restore;

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::{BorrowedFd, OwnedFd};

use serde::{Deserialize, Serialize};

use super::error::ProtectError;
use super::judge::Alive;
use super::masks::masks;
use super::names::{Names, ancestors};
use super::scan::{Record, Scope, is_of_home, scan};
use super::scrub::{Known, defer, scrub};
use super::shape::Shape;
use super::vault::Vault;
use super::{Found, Held, NAMES_LAYER, Writer};
use crate::mask::Mask;

const RECORD: &str = "record";
const BEGAN: &str = "began";

/// What is known of the beginning, and of repositories that were decided about.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Began {
    shapes: BTreeMap<Vec<u8>, Shape>,
    own: BTreeSet<Vec<u8>>,
    /// When, by the file system's clock: seconds and nanoseconds.
    at: (i64, i64),
}

/// See the module.
#[derive(Debug)]
pub struct Guard {
    scope: Scope,
    vault: Vault,
    names: Names,
    /// As of the last comparison; none before the first command that could write.
    record: Option<Record>,
    began: Began,
    /// An earlier process made the record, and nobody has compared with it since.
    recovered: bool,
    writers: BTreeMap<u64, Alive>,
    /// Ended, and no comparison since has succeeded.
    unjudged: Vec<Alive>,
    /// What is being put into the session's folders for a client: below these paths nothing is compared. None: it goes
    /// into a folder that this guard does not watch.
    uploads: BTreeMap<u64, Option<Vec<u8>>>,
    next: u64,
    /// Grows with all that can change the workspace.
    changes: u64,
    /// Something may be left running that no end was seen of.
    unsure: bool,
    /// Found at a beginning; for the next end.
    pending: Vec<Found>,
}

/// The paths of a folder that a guard holds against its record.
#[derive(Debug, Clone)]
pub struct Watched {
    scope: Scope,
    names: Names,
}

impl Watched {
    /// Whether this path can be in the record.
    #[must_use]
    pub fn has(&self, path: &[u8]) -> bool {
        match self.scope {
            Scope::Home => is_of_home(path, &self.names),
            Scope::Workspace | Scope::Git => self.names.meets(path) || Shape::has(super::names::last(path)),
        }
    }
}

/// A command that may begin.
#[derive(Debug)]
pub struct Begun {
    /// For [`Guard::end`].
    pub id: u64,
    /// What it has read-only.
    pub masks: Vec<Mask>,
    /// What [`Guard::still`] says without it.
    pub still: Option<u64>,
}

impl Guard {
    /// Of the session whose folder beside the workspace, on its file system, this is.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn open(folder: OwnedFd) -> Result<Self, ProtectError> {
        Self::with_scope(folder, Scope::Workspace)
    }

    /// The same for the session's HOME, in place of its workspace: there nothing is masked, and no bare
    /// repository is looked for.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn open_for_home(folder: OwnedFd) -> Result<Self, ProtectError> {
        Self::with_scope(folder, Scope::Home)
    }

    fn with_scope(folder: OwnedFd, scope: Scope) -> Result<Self, ProtectError> {
        let vault = Vault::open(folder)?;
        let record: Option<Record> = vault.load(RECORD);
        Ok(Self {
            scope,
            began: vault.load(BEGAN).unwrap_or_default(),
            recovered: record.is_some(),
            record,
            vault,
            names: Names::default(),
            writers: BTreeMap::new(),
            unjudged: Vec::new(),
            uploads: BTreeMap::new(),
            next: 0,
            changes: 0,
            unsure: false,
            pending: Vec::new(),
        })
    }

    /// A command is about to start. Every one that begins must end, also if it could not be started. Blocks
    /// for as long as it takes to look through the workspace, the first time.
    ///
    /// # Errors
    /// If the workspace cannot be looked at: then it must not start, and has not begun.
    pub fn begin(&mut self, workspace: BorrowedFd<'_>, writer: Writer) -> Result<Begun, ProtectError> {
        let mut found = Vec::new();
        let mut given = Vec::new();
        if writer.writes {
            self.watch(workspace, &writer)?;
            given = if self.scope == Scope::Workspace { masks(workspace, &writer)? } else { Vec::new() };
        }
        if writer.git.any && self.record.is_some() {
            found = self.clean(workspace, &[&writer.directory], &writer.execution);
        }
        self.changes += u64::from(!found.is_empty());
        self.pending.append(&mut found);
        let still = self.still();
        self.next += 1;
        if writer.writes {
            self.changes += 1;
            self.unsure |= writer.outside;
            self.writers.insert(self.next, Alive::new(writer));
        }
        Ok(Begun { id: self.next, masks: given, still })
    }

    /// A number for the workspace as it is, if nothing of the session can change it now: as long as it is the
    /// same, nothing has.
    #[must_use]
    pub fn still(&self) -> Option<u64> {
        (self.writers.is_empty() && self.uploads.is_empty() && !self.unsure).then_some(self.changes)
    }

    /// Makes the record, or what it lacks.
    fn watch(&mut self, workspace: BorrowedFd<'_>, writer: &Writer) -> Result<(), ProtectError> {
        let more = writer.rules.names.iter().any(|name| !self.names.contains(name));
        let names = self.names.with(&writer.rules.names);
        let Some(mut record) = self.record.clone() else {
            self.began.at = self.vault.moment()?;
            let record = scan(workspace, self.scope, &names)?;
            self.names = names;
            self.began.shapes.clone_from(&record.shapes);
            self.save_began()?;
            return self.set(workspace, record);
        };
        if more {
            // What only the new names protect was not watched until now.
            let now = scan(workspace, self.scope, &names)?;
            let old = &self.names;
            record.marks.extend(now.marks.into_iter().filter(|(path, _)| !old.meets(path)));
            self.names = names;
            self.set(workspace, record)?;
        }
        if std::mem::take(&mut self.recovered) {
            // What commands did that ended with the process before this one.
            let found = self.compare(workspace, &writer.rules, "")?;
            self.pending.extend(found);
        }
        Ok(())
    }

    /// A command has ended, or was not started. `directories` are those that the session had and has,
    /// relative to the workspace. Blocks for as long as it takes to look through the workspace.
    pub fn end(&mut self, workspace: BorrowedFd<'_>, id: u64, directories: &[&[u8]]) -> Vec<Found> {
        let mut found = std::mem::take(&mut self.pending);
        let Some(alive) = self.writers.remove(&id) else { return found };
        self.changes += 1;
        let writer = alive.writer.clone();
        self.unjudged.push(alive);
        match self.compare(workspace, &writer.rules, &writer.execution) {
            Ok(more) => found.extend(more),
            Err(error) => found.push(Found::failed(NAMES_LAYER, "scan_failed", None, &error)),
        }
        found.extend(self.clean(workspace, directories, &writer.execution));
        found
    }

    /// A command is gone of which no end was seen; what it did is found with the next one.
    pub fn abandon(&mut self, id: u64) {
        self.changes += 1;
        let alive = self.writers.remove(&id);
        self.unsure |= alive.is_some();
        self.unjudged.extend(alive);
    }

    /// Takes the shape of repositories off folders, unless somebody could write.
    fn clean(&mut self, workspace: BorrowedFd<'_>, directories: &[&[u8]], execution: &str) -> Vec<Found> {
        if self.scope == Scope::Home {
            return Vec::new();
        }
        let known = Known { began: &self.began.shapes, own: &self.began.own };
        match self.writers.len() {
            0 => scrub(&mut self.vault, workspace, &known, directories, execution),
            writers => defer(workspace, &known, directories, writers),
        }
    }

    /// What is put there for a client from now on is no command's doing. Without a target it goes into another of the
    /// session's folders, and all that it does here is that [`Guard::still`] holds no longer. The number is for
    /// [`Guard::uploaded`].
    pub fn uploading(&mut self, target: Option<&[u8]>) -> u64 {
        self.next += 1;
        self.changes += 1;
        self.uploads.insert(self.next, target.map(<[u8]>::to_vec));
        self.next
    }

    /// Of which paths [`Guard::uploaded`] has to be told.
    #[must_use]
    pub fn watched(&self) -> Watched {
        Watched { scope: self.scope, names: self.names.clone() }
    }

    /// This was put there. Blocks for as long as it takes to look through the workspace, if it is any of the
    /// watched names.
    ///
    /// # Errors
    /// If the workspace cannot be looked at; then it is found as a command's doing.
    pub fn uploaded(
        &mut self,
        workspace: BorrowedFd<'_>,
        upload: u64,
        paths: &[Vec<u8>],
    ) -> Result<(), ProtectError> {
        let done = self.adopt(workspace, paths);
        self.changes += 1;
        self.uploads.remove(&upload);
        done
    }

    /// Takes what is at these paths now for what belongs there.
    fn adopt(&mut self, workspace: BorrowedFd<'_>, paths: &[Vec<u8>]) -> Result<(), ProtectError> {
        let Some(mut record) = self.record.clone().filter(|_| !paths.is_empty()) else { return Ok(()) };
        let now = scan(workspace, self.scope, &self.names)?;
        let all: BTreeSet<&[u8]> = paths.iter().flat_map(|path| ancestors(path)).collect();
        for path in &all {
            if let Some(mark) = now.marks.get(*path) {
                record.marks.insert(path.to_vec(), mark.clone());
            }
            let folder = super::names::above(path);
            let shape = self.began.shapes.entry(folder.to_vec()).or_default();
            shape.add(super::names::last(path));
        }
        self.began.shapes.retain(|_, shape| *shape != Shape::default());
        record.shapes = now.shapes;
        self.save_began()?;
        self.set(workspace, record)
    }

    /// What is in quarantine, the oldest first.
    ///
    /// # Errors
    /// If its folder cannot be read.
    pub fn list(&self) -> Result<Vec<Held>, ProtectError> {
        self.vault.list()
    }

    fn set(&mut self, workspace: BorrowedFd<'_>, record: Record) -> Result<(), ProtectError> {
        if self.record.as_ref() != Some(&record) {
            let marks = record.marks.iter().map(|(path, mark)| (path.as_slice(), mark));
            self.vault.keep_originals(workspace, marks)?;
            self.vault.save(RECORD, &record)?;
            self.record = Some(record);
        }
        Ok(())
    }

    fn save_began(&self) -> Result<(), ProtectError> {
        self.vault.save(BEGAN, &self.began)
    }
}
