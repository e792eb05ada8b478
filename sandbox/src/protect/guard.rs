//! The guard: the state of a session's protected names, shared by its concurrent commands.
//!
//! A change is reported once, for the command after which it is found. A change is permitted if the decision about any
//! possible author permits it. Possible authors are the running commands, and those that ended since the previous
//! comparison.

mod act;
mod disarm;

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::{BorrowedFd, OwnedFd};

use serde::{Deserialize, Serialize};

use super::error::ProtectError;
use super::found::{Found, Held, NAMES_LAYER};
use super::judge::ActiveWriter;
use super::names::{Names, ancestors};
use super::rules::{Writer, masks};
use super::scan::{Record, Scope, is_of_home, scan};
use super::scrub::{KnownShapes, Shape, defer, scrub};
use super::store::GuardStore;
use crate::mask::Mask;

const RECORD: &str = "record";
const BEGAN: &str = "began";

/// The state at the beginning of the session, and the repositories that were created by a decision.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Began {
    shapes: BTreeMap<Vec<u8>, Shape>,
    own: BTreeSet<Vec<u8>>,
    /// The time of the beginning, by the file system's clock: seconds and nanoseconds.
    at: (i64, i64),
}

/// The guard of one directory of a session.
#[derive(Debug)]
pub struct Guard {
    scope: Scope,
    store: GuardStore,
    names: Names,
    /// The state at the last comparison. `None` before the first command that could write.
    record: Option<Record>,
    began: Began,
    /// Whether an earlier process wrote the record, and no comparison followed.
    recovered: bool,
    writers: BTreeMap<u64, ActiveWriter>,
    /// Commands that ended without a successful comparison since.
    unjudged: Vec<ActiveWriter>,
    /// Active uploads of clients. Paths below a target are not compared. `None`: the upload targets a directory that
    /// this guard does not watch.
    uploads: BTreeMap<u64, Option<Vec<u8>>>,
    next: u64,
    /// Incremented by everything that can change the workspace.
    changes: u64,
    /// Whether a process may still run because no end was observed.
    unsure: bool,
    /// Changes found at a beginning, to be reported at the next end.
    pending: Vec<Found>,
}

/// The paths of a directory that a guard compares with its record.
#[derive(Debug, Clone)]
pub struct Watched {
    scope: Scope,
    names: Names,
}

impl Watched {
    /// Reports whether this path can be in the record.
    #[must_use]
    pub fn has(&self, path: &[u8]) -> bool {
        match self.scope {
            Scope::Home => is_of_home(path, &self.names),
            Scope::Workspace | Scope::Git => self.names.meets(path) || Shape::has(super::names::last(path)),
        }
    }
}

/// A command that may start.
#[derive(Debug)]
pub struct Begun {
    /// The ID for [`Guard::end`].
    pub id: u64,
    /// Its read-only masks.
    pub masks: Vec<Mask>,
    /// The value of [`Guard::still`] without this command.
    pub still: Option<u64>,
}

impl Guard {
    /// Opens the guard of a session's workspace. `directory` is the guard's directory next to the workspace, on the
    /// same file system.
    ///
    /// # Errors
    /// If the directory cannot be read.
    pub fn open(directory: OwnedFd) -> Result<Self, ProtectError> {
        Self::with_scope(directory, Scope::Workspace)
    }

    /// Opens the guard of a session's HOME. It creates no masks and does not search for bare repositories.
    ///
    /// # Errors
    /// If the directory cannot be read.
    pub fn open_for_home(directory: OwnedFd) -> Result<Self, ProtectError> {
        Self::with_scope(directory, Scope::Home)
    }

    fn with_scope(directory: OwnedFd, scope: Scope) -> Result<Self, ProtectError> {
        let store = GuardStore::open(directory)?;
        let record: Option<Record> = store.load(RECORD);
        Ok(Self {
            scope,
            began: store.load(BEGAN).unwrap_or_default(),
            recovered: record.is_some(),
            record,
            store,
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

    /// Begins a command before its start. Every begun command must be ended, even if it could not be started. The
    /// first call blocks while it scans the workspace.
    ///
    /// # Errors
    /// If the workspace cannot be scanned. The command then must not start, and is not begun.
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
            self.writers.insert(self.next, ActiveWriter::new(writer));
        }
        Ok(Begun { id: self.next, masks: given, still })
    }

    /// Returns a number for the current state of the workspace, or `None` if something in the session can change it
    /// now. Equal numbers mean that nothing has changed.
    #[must_use]
    pub fn still(&self) -> Option<u64> {
        (self.writers.is_empty() && self.uploads.is_empty() && !self.unsure).then_some(self.changes)
    }

    /// Creates the record, or adds the missing entries.
    fn watch(&mut self, workspace: BorrowedFd<'_>, writer: &Writer) -> Result<(), ProtectError> {
        let more = writer.rules.names.iter().any(|name| !self.names.contains(name));
        let names = self.names.with(&writer.rules.names);
        let Some(mut record) = self.record.clone() else {
            self.began.at = self.store.moment()?;
            let record = scan(workspace, self.scope, &names)?;
            self.names = names;
            self.began.shapes.clone_from(&record.shapes);
            self.save_began()?;
            return self.set(workspace, record);
        };
        if more {
            // Names that only the new rules protect were not recorded before.
            let now = scan(workspace, self.scope, &names)?;
            let old = &self.names;
            record.marks.extend(now.marks.into_iter().filter(|(path, _)| !old.meets(path)));
            self.names = names;
            self.set(workspace, record)?;
        }
        if std::mem::take(&mut self.recovered) {
            // Changes of commands that ended with the previous process.
            let found = self.compare(workspace, &writer.rules, "")?;
            self.pending.extend(found);
        }
        Ok(())
    }

    /// Ends a command that has ended or was not started. `directories` are the session's previous and current
    /// directory, relative to the workspace. Blocks while it scans the workspace.
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

    /// Drops a command without an observed end. The next comparison finds its changes.
    pub fn abandon(&mut self, id: u64) {
        self.changes += 1;
        let alive = self.writers.remove(&id);
        self.unsure |= alive.is_some();
        self.unjudged.extend(alive);
    }

    /// Moves names that make directories look like repositories into quarantine, unless a command can write.
    fn clean(&mut self, workspace: BorrowedFd<'_>, directories: &[&[u8]], execution: &str) -> Vec<Found> {
        if self.scope == Scope::Home {
            return Vec::new();
        }
        let known = KnownShapes { began: &self.began.shapes, own: &self.began.own };
        match self.writers.len() {
            0 => scrub(&mut self.store, workspace, &known, directories, execution),
            writers => defer(workspace, &known, directories, writers),
        }
    }

    /// Begins an upload of a client. Its files are not reported as changes of a command. Without a target the upload
    /// goes to another of the session's directories, and only invalidates [`Guard::still`]. Returns the ID for
    /// [`Guard::uploaded`].
    pub fn uploading(&mut self, target: Option<&[u8]>) -> u64 {
        self.next += 1;
        self.changes += 1;
        self.uploads.insert(self.next, target.map(<[u8]>::to_vec));
        self.next
    }

    /// Returns the paths that must be passed to [`Guard::uploaded`].
    #[must_use]
    pub fn watched(&self) -> Watched {
        Watched { scope: self.scope, names: self.names.clone() }
    }

    /// Ends an upload that created these paths. Blocks while it scans the workspace, if there are any watched names.
    ///
    /// # Errors
    /// If the workspace cannot be scanned. The files are then reported as changes of a command.
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

    /// Accepts the current files at these paths into the record.
    fn adopt(&mut self, workspace: BorrowedFd<'_>, paths: &[Vec<u8>]) -> Result<(), ProtectError> {
        let Some(mut record) = self.record.clone().filter(|_| !paths.is_empty()) else { return Ok(()) };
        let now = scan(workspace, self.scope, &self.names)?;
        let all: BTreeSet<&[u8]> = paths.iter().flat_map(|path| ancestors(path)).collect();
        for path in &all {
            if let Some(mark) = now.marks.get(*path) {
                record.marks.insert(path.to_vec(), mark.clone());
            }
            let directory = super::names::above(path);
            let shape = self.began.shapes.entry(directory.to_vec()).or_default();
            shape.add(super::names::last(path));
        }
        self.began.shapes.retain(|_, shape| *shape != Shape::default());
        record.shapes = now.shapes;
        self.save_began()?;
        self.set(workspace, record)
    }

    /// Returns the items in quarantine, the oldest first.
    ///
    /// # Errors
    /// If its directory cannot be read.
    pub fn list(&self) -> Result<Vec<Held>, ProtectError> {
        self.store.list()
    }

    fn set(&mut self, workspace: BorrowedFd<'_>, record: Record) -> Result<(), ProtectError> {
        if self.record.as_ref() != Some(&record) {
            let marks = record.marks.iter().map(|(path, mark)| (path.as_slice(), mark));
            self.store.keep_originals(workspace, marks)?;
            self.store.save(RECORD, &record)?;
            self.record = Some(record);
        }
        Ok(())
    }

    fn save_began(&self) -> Result<(), ProtectError> {
        self.store.save(BEGAN, &self.began)
    }
}
