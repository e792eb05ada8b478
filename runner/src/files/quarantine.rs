//! Protected names in work on files: quarantined files, uploads, and files that would run on the host that receives a
//! download.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use airlock_domain::{
    ExchangeFailed, ExchangeFailure, FileInfo, FileType, QuarantineOrder, QuarantinedFile, limits::PATH_BYTES,
};
use airlock_sandbox::protect::{Grounds, Held, Item, Kind, Plant, ProtectError, Use, Watched, planted};
use airlock_sandbox::{Profile, Root, SessionDirectory};

use super::{
    failure::{failed, internal, of_path, precondition},
    fsuid::as_session,
    list::{Page, cost},
    paths::{Inside, strip},
};
use crate::{
    guard::{GuardError, Guarded, SessionGuard},
    session::OpenSession,
};

/// The encoded size of an item's fields, except those of its file.
const ITEM_COST: usize = 128;

/// Returns a page, and whether more follow. Blocks.
pub(super) fn list(
    session: &OpenSession,
    order: &QuarantineOrder,
) -> Result<(Vec<QuarantinedFile>, bool), ExchangeFailed> {
    let mut all = Vec::new();
    for guarded in session.guard().both() {
        let list = guarded.with(|guard, _| guard.list()).map_err(of_guard)?;
        all.extend(list.into_iter().map(|held| (guarded, held)));
    }
    all.sort_by(|(_, one), (_, two)| (one.at_micros, &one.id).cmp(&(two.at_micros, &two.id)));
    // If the last item of the previous page was restored meanwhile, the position is unknown, which is an error.
    let begin = match order.after.as_str() {
        "" => Some(0),
        after => all.iter().position(|(_, held)| held.id == after).map(|at| at + 1),
    };
    let gone = || precondition("PAGE_GONE", "the quarantine has changed; list it from the beginning");
    let mut page = Page::new(order.page_size);
    for (guarded, held) in all.into_iter().skip(begin.ok_or_else(gone)?) {
        let file = item(guarded, held);
        let cost = cost(&file.info) + ITEM_COST;
        if !page.put(file, cost) {
            break;
        }
    }
    Ok(page.done())
}

/// Restores an item. Returns its path and the ID of the item that it replaced, or an empty ID. Blocks.
pub(super) fn restore(session: &OpenSession, id: &str) -> Result<(Vec<u8>, String), ExchangeFailed> {
    let restore = |guarded: &Guarded| {
        let (path, replaced) = guarded.with(|guard, directory| guard.restore(directory, id))?;
        Ok((shortened(guarded.inside(&path)), replaced.unwrap_or_default()))
    };
    let [workspace, home] = session.guard().both();
    let restored = match restore(workspace) {
        Err(GuardError::Protect(ProtectError::NoSuchItem { .. })) => restore(home),
        other => other,
    };
    restored.map_err(of_guard)
}

fn item(guarded: &Guarded, held: Held) -> QuarantinedFile {
    let file_type = match held.kind {
        Kind::File => FileType::Regular,
        Kind::Directory => FileType::Directory,
        Kind::Link => FileType::Symlink,
        Kind::Other => FileType::Other,
    };
    QuarantinedFile {
        id: held.id,
        info: FileInfo {
            path: shortened(guarded.inside(&held.path)),
            file_type,
            size: if file_type == FileType::Regular { held.size } else { 0 },
            mode: held.mode,
            modified_micros: held.modified_micros,
            link_target: Vec::new(),
        },
        reason: held.reason.name().to_owned(),
        moved_micros: held.at_micros,
        execution_id: held.execution,
    }
}

/// Shortens a path of a deeply nested file to the limit of a message.
fn shortened(mut path: Vec<u8>) -> Vec<u8> {
    path.truncate(PATH_BYTES);
    path
}

pub(super) fn of_guard(error: GuardError) -> ExchangeFailed {
    let said = error.to_string();
    match error {
        GuardError::Protect(ProtectError::NoSuchItem { .. }) => {
            failed(ExchangeFailure::NotFound, "NOT_IN_QUARANTINE", said)
        }
        GuardError::Protect(ProtectError::ChangedMeanwhile { .. }) => precondition("CHANGED_MEANWHILE", said),
        GuardError::Protect(ProtectError::TooDeep { .. }) => precondition("TOO_DEEP", said),
        GuardError::Protect(ProtectError::TooMany { .. }) => precondition("TOO_MANY", said),
        GuardError::Protect(ProtectError::Path { path, source, .. }) => of_path(path.as_bytes(), source),
        other => internal("a quarantine", &other),
    }
}

/// An upload that is being put into a session. Its files are not changes of a command.
///
/// Informs the guards of protected names about an upload, from before its first file to after its last. Must not be
/// held while waiting for a client.
#[derive(Debug)]
pub(super) struct GuardedUpload<'a> {
    session: &'a OpenSession,
    /// The informed guards. The workspace's guard is always included: its number also covers HOME and `/tmp`.
    notified: Vec<Notified<'a>>,
    /// The protected names of the target directory. `None` for `/tmp`, which is not watched.
    pub(super) watches: Option<Watched>,
}

/// A guard that was informed of an upload.
#[derive(Debug)]
struct Notified<'a> {
    guarded: &'a Guarded,
    id: u64,
    /// Whether the upload writes to the directory of this guard.
    is_target: bool,
}

impl<'a> GuardedUpload<'a> {
    /// Begins an upload at or below this path.
    pub(super) fn begin(session: &'a OpenSession, target: &Inside) -> Result<Self, ExchangeFailed> {
        let mut upload = Self { session, notified: Vec::new(), watches: None };
        let SessionGuard { workspace, home } = session.guard();
        upload
            .notify(workspace, (target.root() == SessionDirectory::Workspace).then(|| target.relative()))?;
        if target.root() == SessionDirectory::Home {
            upload.notify(home, Some(target.relative()))?;
        }
        Ok(upload)
    }

    fn notify(&mut self, guarded: &'a Guarded, target: Option<&[u8]>) -> Result<(), ExchangeFailed> {
        let notified = guarded.with(|guard, _| Ok((guard.uploading(target), guard.watched())));
        let (id, watches) = notified.map_err(of_guard)?;
        let is_target = target.is_some();
        self.notified.push(Notified { guarded, id, is_target });
        if is_target {
            self.watches = Some(watches);
        }
        Ok(())
    }

    /// Ends the upload, with the protected names that it created. Blocks while it scans the directory, if there are
    /// any.
    pub(super) fn end(mut self, watched: &[Vec<u8>]) -> Result<(), ExchangeFailed> {
        let mut done = Ok(());
        for Notified { guarded, id, is_target } in std::mem::take(&mut self.notified) {
            let paths = if is_target { watched } else { &[] };
            done = done.and(guarded.with(|guard, directory| guard.uploaded(directory, id, paths)));
        }
        done.map_err(of_guard)
    }
}

impl Drop for GuardedUpload<'_> {
    fn drop(&mut self) {
        for Notified { guarded, id, .. } in &self.notified {
            let ended = guarded.with(|guard, directory| guard.uploaded(directory, *id, &[]));
            if let Err(error) = ended {
                tracing::error!(session = %self.session.id, %error, "cannot unregister an upload");
            }
        }
    }
}

const HOOKS: &str = "a command created these hooks, and git would run them; request them by their own path";
const CONFIG: &str =
    "a command created this git configuration, and it names programs; request it by its own path";
const MAYBE_HOOKS: &str =
    "a command may have created these hooks, and git would run them; request them by their own path";
const MAYBE_CONFIG: &str =
    "a command may have created this git configuration, and it names programs; request it by its own path";

/// Paths relative to the directory of a download, with the reason why each is left out.
pub(super) type LeftOut = BTreeMap<Vec<u8>, &'static str>;

/// The planted files in one of the session's directories.
///
/// Files that would run on the host that receives a download: hooks and program-naming configurations of repositories
/// that commands created. A download leaves them out. A client that wants such a file requests it by its own path.
#[derive(Debug, Default)]
pub(super) struct PlantedIn {
    items: Vec<Item>,
}

impl PlantedIn {
    /// Searches for files that a download of this path must leave out. Blocks while it scans the workspace and, in
    /// HOME or `/tmp`, the tree below the first component of the path.
    ///
    /// # Errors
    /// If the planted files cannot be determined.
    pub(super) fn look(session: &OpenSession, at: &Inside) -> Result<Self, ExchangeFailed> {
        let suspects = session.guard().workspace.with(|guard, workspace| {
            let is_still = guard.still().is_some();
            guard.suspects(workspace, is_still)
        });
        let Some(suspects) = suspects.map_err(of_guard)? else { return Ok(Self::default()) };
        // An empty root: a link into the root does not lead to a file that a command created.
        let bare =
            Profile { binds: Vec::new(), symlinks: Vec::new(), root: Root::default(), ..Profile::default() };
        // The workspace is scanned as a whole.
        let is_elsewhere = at.root() != SessionDirectory::Workspace;
        let paths: Vec<_> =
            is_elsewhere.then(|| PathBuf::from(OsString::from_vec(at.absolute()))).into_iter().collect();
        let command = Use { paths: &paths, rebases: false, outside: false };
        let grounds = Grounds::open(session.directories(), &bare).map_err(|error| of_guard(error.into()))?;
        let found = as_session(session.owner(), || planted(&grounds, &suspects, command))
            .map_err(|error| internal("look for planted programs", &error))?
            .map_err(|error| of_guard(error.into()))?;
        Ok(Self { items: found.items.into_iter().filter(|item| item.directory == at.root()).collect() })
    }

    /// Returns the planted files below a directory. `directory` is its real path below the root: a link to it has
    /// another path.
    pub(super) fn below(&self, directory: &[u8]) -> LeftOut {
        let left_out = self.items.iter().filter_map(|item| {
            let below = strip(item.path.as_os_str().as_bytes(), directory)?;
            Some((below.to_vec(), why(item)))
        });
        left_out.collect()
    }
}

/// Returns the reason for an item. Only the workspace has a record of the creator of each file.
fn why(item: &Item) -> &'static str {
    match (&item.what, item.directory == SessionDirectory::Workspace) {
        (Plant::Hooks, true) => HOOKS,
        (Plant::Hooks, false) => MAYBE_HOOKS,
        (Plant::Config(_), true) => CONFIG,
        (Plant::Config(_), false) => MAYBE_CONFIG,
    }
}
