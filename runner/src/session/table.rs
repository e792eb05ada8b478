//! The table of sessions: which there are, which are being made or closed, and whose uid is whose.

use std::{
    collections::{BTreeSet, HashMap},
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use airlock_proto::domain::SessionId;
use airlock_sandbox::{DiskBackend, DiskConfig, DiskError, Disks, HostIds, UidIsolation, UidRange};
use tokio_util::sync::CancellationToken;

use super::{CopyLimits, OpenSession, SessionError, make::Places, saved::Saved, strays::end_strays};

/// What a session is just now.
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

/// The answer to a wish to open a session.
#[derive(Debug)]
pub(crate) enum Opening {
    /// It is open already.
    Open(Arc<OpenSession>),
    /// It is being made or closed; its report comes.
    Underway,
    /// It cannot be made: a stable name, and words for people.
    Refused(&'static str, String),
    /// It has its place; [`Sessions::make`] makes it.
    Reserved(Reserved),
}

/// A place in the table for a session that is to be made.
#[derive(Debug)]
pub(crate) struct Reserved {
    pub(crate) id: SessionId,
    ids: Option<HostIds>,
    cancel: CancellationToken,
}

/// All sessions of the runner.
#[derive(Debug)]
pub(crate) struct Sessions {
    places: Places,
    uids: Option<UidRange>,
    limit: usize,
    copy: CopyLimits,
    lost: Vec<(SessionId, String)>,
    slots: Mutex<HashMap<SessionId, Slot>>,
}

impl Sessions {
    /// Opens the folder of sessions and finds those that earlier processes have left open; ends what
    /// still runs in them. Blocks.
    ///
    /// # Errors
    /// If the folders cannot be made or read, or sessions cannot be held to `disk` as it says.
    pub(crate) fn restore(
        state_dir: &Path,
        isolation: UidIsolation,
        range: Option<UidRange>,
        limit: usize,
        copy: CopyLimits,
        disk: DiskConfig,
    ) -> Result<Self, SessionError> {
        let uids = range.filter(|_| isolation == UidIsolation::PerSession);
        let places = Places::make(state_dir, disk, uids.map(UidRange::last))?;
        let failed = |source| SessionError::Io { action: "read the sessions' folder", source };
        let mut slots = HashMap::new();
        let mut stale = Vec::new();
        let mut used = BTreeSet::new();
        let mut lost = Vec::new();
        for entry in fs::read_dir(&places.sessions).map_err(failed)? {
            let root = entry.map_err(failed)?.path();
            match restored(&root, uids, &places.disks)? {
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
            tracing::error!(strays, "processes that an earlier process of this runner has left do not end");
        }
        for root in stale {
            places.remove_stale(&root)?;
        }
        places.empty_trash()?;
        Ok(Self { places, uids, limit, copy, lost, slots: Mutex::new(slots) })
    }

    /// How sessions are held to what they may take of the disk.
    pub(crate) fn disks(&self) -> &Disks {
        &self.places.disks
    }

    /// Sessions of earlier processes that could not be found again, and why.
    pub(crate) fn lost(&self) -> &[(SessionId, String)] {
        &self.lost
    }

    /// Where a folder can be made for a moment.
    pub(crate) fn scratch(&self) -> &Path {
        &self.places.sessions
    }

    /// A uid that no session has just now, where sessions have any.
    pub(crate) fn free_ids(&self) -> Option<HostIds> {
        let used = self.lock().values().filter_map(Slot::uid).collect();
        self.uids?.allocate(&used)
    }

    /// An open session.
    pub(crate) fn get(&self, id: &SessionId) -> Option<Arc<OpenSession>> {
        match self.lock().get(id) {
            Some(Slot::Open(session)) => Some(Arc::clone(session)),
            _ => None,
        }
    }

    /// All open sessions.
    pub(crate) fn all(&self) -> Vec<Arc<OpenSession>> {
        let open = |slot: &Slot| match slot {
            Slot::Open(session) => Some(Arc::clone(session)),
            _ => None,
        };
        self.lock().values().filter_map(open).collect()
    }

    /// Takes a place for a new session, unless it is there.
    pub(crate) fn reserve(&self, id: SessionId) -> Opening {
        let mut slots = self.lock();
        match slots.get(&id) {
            Some(Slot::Open(session)) => return Opening::Open(Arc::clone(session)),
            Some(Slot::Opening { .. } | Slot::Closing { .. }) => return Opening::Underway,
            None => {}
        }
        if slots.len() >= self.limit {
            let message = format!("this runner has its `limits.sessions` of {}", self.limit);
            return Opening::Refused("too_many_sessions", message);
        }
        let ids = match self.uids {
            None => None,
            Some(range) => {
                let used = slots.values().filter_map(Slot::uid).collect();
                let Some(ids) = range.allocate(&used) else {
                    return Opening::Refused("too_many_sessions", "every uid of `uids` is taken".to_owned());
                };
                Some(ids)
            }
        };
        let cancel = CancellationToken::new();
        slots.insert(id, Slot::Opening { cancel: cancel.clone(), ids });
        Opening::Reserved(Reserved { id, ids, cancel })
    }

    /// Makes a session that has its place, and has `prepare` do what is to be done before anybody can use it.
    /// Blocks for as long as that and the copy of its base take.
    ///
    /// # Errors
    /// [`SessionError::Cancelled`] if it was closed meanwhile; the place is free after any error.
    pub(crate) fn make(
        &self,
        reserved: &Reserved,
        base: Option<&PathBuf>,
        prepare: impl FnOnce(&OpenSession, &CancellationToken),
    ) -> Result<Arc<OpenSession>, SessionError> {
        let Reserved { id, ids, cancel } = reserved;
        let made = self.places.create(*id, *ids, base.map(PathBuf::as_path), self.copy, cancel);
        if let Ok(session) = &made {
            prepare(session, cancel);
        }
        let unwanted = {
            let mut slots = self.lock();
            match made {
                // Whoever closes it after this finds it open.
                Ok(session) if !cancel.is_cancelled() => {
                    let session = Arc::new(session);
                    slots.insert(*id, Slot::Open(Arc::clone(&session)));
                    return Ok(session);
                }
                other => other,
            }
        };
        let removed = unwanted.and_then(|session| self.take_away(&session));
        self.lock().remove(id);
        removed.and(Err(SessionError::Cancelled))
    }

    /// Gives up every session that is being made.
    pub(crate) fn cancel_openings(&self) {
        for slot in self.lock().values() {
            if let Slot::Opening { cancel, .. } = slot {
                cancel.cancel();
            }
        }
    }

    /// Takes an open session out of use, for [`Sessions::remove`]; cancels one that is being made. None
    /// if there is nothing to remove.
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

    /// Removes the folders of a session in which nothing runs any more, and frees its uid. Blocks.
    ///
    /// # Errors
    /// If the folders cannot be removed: then the uid stays taken until the next start.
    pub(crate) fn remove(&self, session: &OpenSession) -> Result<(), SessionError> {
        self.take_away(session)?;
        self.lock().remove(&session.id);
        Ok(())
    }

    fn take_away(&self, session: &OpenSession) -> Result<(), SessionError> {
        session.guard.close();
        self.places.remove(&session.place, session.ids.map(|ids| ids.uid))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, Slot>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Sessions {
    /// Sessions stay for the next process; what of them need not stay mounted does not.
    fn drop(&mut self) {
        let disks = &self.places.disks;
        for session in self.all() {
            session.guard.close();
            if let Err(error) = disks.put_down(&session.disk) {
                tracing::warn!(session = %session.id, %error, "a session's disk stays mounted");
            }
        }
        disks.leave();
    }
}

/// The answer to a wish to close a session.
#[derive(Debug)]
pub(crate) enum Closing {
    /// There is none.
    Gone,
    /// It is being closed, or its making was cancelled; the report comes.
    Underway,
    /// It is out of use.
    Begun(Arc<OpenSession>),
}

/// What a folder of an earlier process holds.
enum Found {
    Session(Arc<OpenSession>),
    /// What was in it is gone, and why.
    Lost(SessionId, String),
    /// Nobody was told of it.
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
            return Err(damaged(format!("has uid {}, which this runner cannot change to", ids.uid)));
        }
        (Some(_), None) => return Err(damaged("has no uid of its own".to_owned())),
    }
    let id = saved.id.parse().map_err(|_| damaged("has no session id".to_owned()))?;
    let directory = hex::decode(&saved.directory).map_err(|_| damaged("has no directory".to_owned()))?;
    let backend = DiskBackend::named(&saved.disk);
    let backend = backend.ok_or_else(|| damaged(format!("has a disk of the kind `{}`", saved.disk)))?;
    let disk = match disks.take_up(root, saved.uid, backend) {
        Ok(disk) => disk,
        Err(lost @ DiskError::Lost) => return Ok(Found::Lost(id, lost.to_string())),
        Err(error) => return Err(damaged(format!("has a disk that cannot be used again: {error}"))),
    };
    let session = OpenSession::new(id, root, disk, ids, directory);
    session.snapshot.restore(root, &saved.snapshot_digest, &saved.snapshot_problem);
    session.baseline().remove_unfinished().map_err(|error| damaged(format!("has a baseline: {error}")))?;
    Ok(Found::Session(Arc::new(session)))
}
