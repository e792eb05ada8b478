//! Files that would run on the host that receives a download: hooks and program-naming configurations of repositories
//! that commands created. A download leaves them out. A client that wants such a file requests it by its own path.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::PathBuf,
};

use airlock_domain::ExchangeFailed;
use airlock_sandbox::{
    Profile, Root, SessionDirectory,
    protect::{Grounds, Item, Plant, Use, planted},
};

use super::{
    failure::internal,
    fsuid::as_session,
    paths::{Inside, strip},
    quarantine::of_guard,
};
use crate::session::OpenSession;

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
