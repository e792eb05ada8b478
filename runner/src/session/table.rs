//! The table of sessions, open or being created or closed, and of their uids.

use std::{
    collections::{BTreeSet, HashMap},
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use airlock_domain::SessionId;
use airlock_sandbox::{DiskBackend, DiskConfig, DiskError, Disks, HostIds, UidIsolation, UidRange};
use tokio_util::sync::CancellationToken;

use super::{
    copy::CopyLimits,
    make::{SessionError, StateDirectories},
    open::OpenSession,
    saved::Saved,
    strays::end_strays,
};

/// The state of a session.
#[derive(Debug)]
enum Slot {
    Opening { cancel: CancellationToken, ids: Option<HostIds> },
    Open(Arc<OpenSession>),
    Closing { ids: Option<HostIds> },
}

impl Slot {
    fn uid(&self) -> Option<u32> {
        let ids = match self {
            Self::Opening { ids, .. } | Self::Closing { ids } => *ids,
            Self::Open(session) => session.ids,
        };
        ids.map(|ids| ids.uid)
    }
}

/// The answer to a request to open a session.
#[derive(Debug)]
pub(crate) enum Opening {
    /// The session is open already.
    Open(Arc<OpenSession>),
    /// The session is being created or closed. Its report follows.
    Underway,
    /// The session cannot be created: a stable reason and a message for people.
    Refused(&'static str, String),
    /// The session is reserved. [`SessionTable::make`] creates it.
    Reserved(Reserved),
}

/// The reservation for a session that is to be created.
#[derive(Debug)]
pub(crate) struct Reserved {
    pub(crate) id: SessionId,
    ids: Option<HostIds>,
    cancel: CancellationToken,
}

/// All sessions of the runner.
#[derive(Debug)]
pub(crate) struct SessionTable {
    directories: StateDirectories,
    uids: Option<UidRange>,
    limit: usize,
    copy: CopyLimits,
    lost: Vec<(SessionId, String)>,
    slots: Mutex<HashMap<SessionId, Slot>>,
}

impl SessionTable {
    /// Opens the directory of sessions, restores those that earlier processes left open, and ends the processes that
    /// still run in them. Blocks.
    ///
    /// # Errors
    /// If the directories cannot be created or read, or if the limits of `disk` cannot be enforced as configured.
    pub(crate) fn restore(
        state_dir: &Path,
        isolation: UidIsolation,
        range: Option<UidRange>,
        limit: usize,
        copy: CopyLimits,
        disk: DiskConfig,
    ) -> Result<Self, SessionError> {
        let uids = range.filter(|_| isolation == UidIsolation::PerSession);
        let directories = StateDirectories::make(state_dir, disk, uids.map(UidRange::last))?;
        let failed = |source| SessionError::Io { action: "read the sessions' directory", source };
        let mut slots = HashMap::new();
        let mut stale = Vec::new();
        let mut used = BTreeSet::new();
        let mut lost = Vec::new();
        for entry in fs::read_dir(&directories.sessions).map_err(failed)? {
            let root = entry.map_err(failed)?.path();
            match restored(&root, uids, &directories.disks)? {
                Found::Session(session) => {
                    used.extend(session.ids.map(|ids| ids.uid));
                    slots.insert(session.id, Slot::Open(session));
                }
                Found::Lost(id, why) => {
                    tracing::warn!(session = %id, why, "a session is lost");
                    lost.push((id, why));
                    stale.push(root);
                }
                Found::HalfMade => stale.push(root),
            }
        }
        let strays = end_strays(&used);
        if strays > 0 {
            tracing::error!(strays, "cannot end processes that an earlier run of this runner left");
        }
        for root in stale {
            directories.remove_stale(&root)?;
        }
        directories.empty_trash()?;
        Ok(Self { directories, uids, limit, copy, lost, slots: Mutex::new(slots) })
    }

    /// Returns the mechanism that limits the disk usage of sessions.
    pub(crate) fn disks(&self) -> &Disks {
        &self.directories.disks
    }

    /// Returns the sessions of earlier processes that could not be restored, with the reasons.
    pub(crate) fn lost(&self) -> &[(SessionId, String)] {
        &self.lost
    }

    /// Returns a directory for temporary directories.
    pub(crate) fn scratch(&self) -> &Path {
        &self.directories.sessions
    }

    /// Returns a uid that no session uses, if sessions have uids.
    pub(crate) fn free_ids(&self) -> Option<HostIds> {
        let used = self.lock().values().filter_map(Slot::uid).collect();
        self.uids?.allocate(&used)
    }

    /// Returns an open session.
    pub(crate) fn get(&self, id: &SessionId) -> Option<Arc<OpenSession>> {
        match self.lock().get(id) {
            Some(Slot::Open(session)) => Some(Arc::clone(session)),
            _ => None,
        }
    }

    /// Returns all open sessions.
    pub(crate) fn all(&self) -> Vec<Arc<OpenSession>> {
        let open = |slot: &Slot| match slot {
            Slot::Open(session) => Some(Arc::clone(session)),
            _ => None,
        };
        self.lock().values().filter_map(open).collect()
    }

    /// Reserves a slot for a new session, unless the session exists.
    pub(crate) fn reserve(&self, id: SessionId) -> Opening {
        let mut slots = self.lock();
        match slots.get(&id) {
            Some(Slot::Open(session)) => return Opening::Open(Arc::clone(session)),
            Some(Slot::Opening { .. } | Slot::Closing { .. }) => return Opening::Underway,
            None => {}
        }
        if slots.len() >= self.limit {
            let message = format!("this runner has reached `limits.sessions` of {}", self.limit);
            return Opening::Refused("too_many_sessions", message);
        }
        let ids = match self.uids {
            None => None,
            Some(range) => {
                let used = slots.values().filter_map(Slot::uid).collect();
                let Some(ids) = range.allocate(&used) else {
                    return Opening::Refused("too_many_sessions", "every uid of `uids` is in use".to_owned());
                };
                Some(ids)
            }
        };
        let cancel = CancellationToken::new();
        slots.insert(id, Slot::Opening { cancel: cancel.clone(), ids });
        Opening::Reserved(Reserved { id, ids, cancel })
    }

    /// Creates a reserved session, and calls `prepare` before the session can be used. Blocks for the duration of
    /// both and of the copy of its base.
    ///
    /// # Errors
    /// [`SessionError::Cancelled`] if the session was closed meanwhile. After any error the slot is free.
    pub(crate) fn make(
        &self,
        reserved: &Reserved,
        base: Option<&PathBuf>,
        prepare: impl FnOnce(&OpenSession, &CancellationToken),
    ) -> Result<Arc<OpenSession>, SessionError> {
        let Reserved { id, ids, cancel } = reserved;
        let made = self.directories.create(*id, *ids, base.map(PathBuf::as_path), self.copy, cancel);
        if let Ok(session) = &made {
            prepare(session, cancel);
        }
        let unwanted = {
            let mut slots = self.lock();
            match made {
                // A later close finds the session open.
                Ok(session) if !cancel.is_cancelled() => {
                    let session = Arc::new(session);
                    slots.insert(*id, Slot::Open(Arc::clone(&session)));
                    return Ok(session);
                }
                other => other,
            }
        };
        let removed = unwanted.and_then(|session| self.remove_directories(&session));
        self.lock().remove(id);
        removed.and(Err(SessionError::Cancelled))
    }

    /// Cancels the creation of all sessions.
    pub(crate) fn cancel_openings(&self) {
        for slot in self.lock().values() {
            if let Slot::Opening { cancel, .. } = slot {
                cancel.cancel();
            }
        }
    }

    /// Takes an open session out of use, for [`SessionTable::remove`]. Cancels the creation of a session.
    pub(crate) fn begin_close(&self, id: &SessionId) -> Closing {
        let mut slots = self.lock();
        match slots.get_mut(id) {
            None => Closing::Gone,
            Some(Slot::Closing { .. }) => Closing::Underway,
            Some(Slot::Opening { cancel, .. }) => {
                cancel.cancel();
                Closing::Underway
            }
            Some(slot @ Slot::Open(_)) => {
                let ids = slot.uid().map(|uid| HostIds { uid, gid: uid });
                match std::mem::replace(slot, Slot::Closing { ids }) {
                    Slot::Open(session) => {
                        session.closing().cancel();
                        Closing::Begun(session)
                    }
                    Slot::Opening { .. } | Slot::Closing { .. } => Closing::Underway,
                }
            }
        }
    }

    /// Removes the directories of a session without running commands, and frees its uid. Blocks.
    ///
    /// # Errors
    /// If the directories cannot be removed. The uid then stays in use until the next start.
    pub(crate) fn remove(&self, session: &OpenSession) -> Result<(), SessionError> {
        self.remove_directories(session)?;
        self.lock().remove(&session.id);
        Ok(())
    }

    fn remove_directories(&self, session: &OpenSession) -> Result<(), SessionError> {
        session.guard.close();
        self.directories.remove(&session.place, session.ids.map(|ids| ids.uid))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, Slot>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for SessionTable {
    /// Keeps the sessions for the next process, but unmounts the disks that need not stay mounted.
    fn drop(&mut self) {
        let disks = &self.directories.disks;
        for session in self.all() {
            session.guard.close();
            if let Err(error) = disks.unmount(&session.disk) {
                tracing::warn!(session = %session.id, %error, "cannot unmount a session's disk");
            }
        }
        disks.leave();
    }
}

/// The answer to a request to close a session.
#[derive(Debug)]
pub(crate) enum Closing {
    /// There is no such session.
    Gone,
    /// The session is being closed, or its creation was cancelled. The report follows.
    Underway,
    /// The session is out of use.
    Begun(Arc<OpenSession>),
}

/// The contents of a session directory of an earlier process.
enum Found {
    Session(Arc<OpenSession>),
    /// The session's data is lost, with the reason.
    Lost(SessionId, String),
    /// The session was never reported to a server.
    HalfMade,
}

fn restored(root: &Path, uids: Option<UidRange>, disks: &Disks) -> Result<Found, SessionError> {
    let damaged = |problem: String| SessionError::Saved { root: root.to_owned(), problem };
    let saved = Saved::read(root).map_err(|error| damaged(format!("has a file `session.json`: {error}")))?;
    let Some(saved) = saved else { return Ok(Found::HalfMade) };
    let ids = saved.uid.map(|uid| HostIds { uid, gid: uid });
    match (uids, ids) {
        (Some(range), Some(ids)) if range.contains(ids) => {}
        (None, None) => {}
        (Some(_), Some(ids)) => return Err(damaged(format!("has uid {}, which is not in `uids`", ids.uid))),
        (None, Some(ids)) => {
            return Err(damaged(format!("has uid {}, which this runner cannot switch to", ids.uid)));
        }
        (Some(_), None) => return Err(damaged("has no uid of its own".to_owned())),
    }
    let id = saved.id.parse().map_err(|_| damaged("has no session id".to_owned()))?;
    let directory = hex::decode(&saved.directory).map_err(|_| damaged("has no directory".to_owned()))?;
    let backend = DiskBackend::named(&saved.disk);
    let backend =
        backend.ok_or_else(|| damaged(format!("has a disk of the unknown type `{}`", saved.disk)))?;
    let disk = match disks.reopen(root, saved.uid, backend) {
        Ok(disk) => disk,
        Err(lost @ DiskError::Lost) => return Ok(Found::Lost(id, lost.to_string())),
        Err(error) => return Err(damaged(format!("has a disk that cannot be used again: {error}"))),
    };
    let session = OpenSession::new(id, root, disk, ids, directory);
    session.snapshot.restore(root, &saved.snapshot_digest, &saved.snapshot_problem);
    session.baseline().remove_unfinished().map_err(|error| damaged(format!("has a baseline: {error}")))?;
    Ok(Found::Session(Arc::new(session)))
}
