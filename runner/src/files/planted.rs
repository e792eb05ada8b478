//! What of a download would run on the host that it comes to: hooks and configurations of repositories that commands
//! have made, and that name programs. Who wants one of them asks for it by its own path.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::PathBuf,
};

use airlock_proto::domain::ExchangeFailed;
use airlock_sandbox::{
    Profile, Root, SessionFolder,
    protect::{Grounds, Item, Plant, Use, planted},
};

use super::{
    failure::internal,
    paths::{Inside, strip},
    quarantine::of_guard,
    wall::as_session,
};
use crate::session::OpenSession;

const HOOKS: &str = "a command made these hooks, and git would run them; ask for them by their own path";
const CONFIG: &str =
    "a command made this configuration of git, and it names programs; ask for it by its own path";
const MAYBE_HOOKS: &str =
    "a command may have made these hooks, and git would run them; ask for them by their own path";
const MAYBE_CONFIG: &str =
    "a command may have made this configuration of git, and it names programs; ask for it by its own path";

/// Paths relative to the folder of a download, and why they are left out.
pub(super) type LeftOut = BTreeMap<Vec<u8>, &'static str>;

/// What is planted in one of the session's folders, as far as a download has to know.
#[derive(Debug, Default)]
pub(super) struct PlantedIn {
    items: Vec<Item>,
}

impl PlantedIn {
    /// Looks for what a download of this path must leave out. Blocks for as long as it takes to look through the
    /// workspace and, in HOME or /tmp, through what is there by the first name of the path.
    ///
    /// # Errors
    /// If nobody can say what is planted.
    pub(super) fn look(session: &OpenSession, at: &Inside) -> Result<Self, ExchangeFailed> {
        let suspects = session.guard().workspace.with(|guard, workspace| {
            let is_still = guard.still().is_some();
            guard.suspects(workspace, is_still)
        });
        let Some(suspects) = suspects.map_err(of_guard)? else { return Ok(Self::default()) };
        // Links that lead to the root lead to nothing that a command made.
        let bare =
            Profile { binds: Vec::new(), symlinks: Vec::new(), root: Root::default(), ..Profile::default() };
        // The workspace is gone through as a whole.
        let is_elsewhere = at.root() != SessionFolder::Workspace;
        let paths: Vec<_> =
            is_elsewhere.then(|| PathBuf::from(OsString::from_vec(at.absolute()))).into_iter().collect();
        let command = Use { paths: &paths, rebases: false, outside: false };
        let grounds = Grounds::open(session.folders(), &bare).map_err(|error| of_guard(error.into()))?;
        let found = as_session(session.owner(), || planted(&grounds, &suspects, command))
            .map_err(|error| internal("look for planted programs", &error))?
            .map_err(|error| of_guard(error.into()))?;
        Ok(Self { items: found.items.into_iter().filter(|item| item.folder == at.root()).collect() })
    }

    /// Of a folder, by where it really is below its root: a link to it has another path.
    pub(super) fn below(&self, folder: &[u8]) -> LeftOut {
        let left_out = self.items.iter().filter_map(|item| {
            let below = strip(item.path.as_os_str().as_bytes(), folder)?;
            Some((below.to_vec(), why(item)))
        });
        left_out.collect()
    }
}

/// Who made what is recorded of the workspace alone.
fn why(item: &Item) -> &'static str {
    match (&item.what, item.folder == SessionFolder::Workspace) {
        (Plant::Hooks, true) => HOOKS,
        (Plant::Hooks, false) => MAYBE_HOOKS,
        (Plant::Config(_), true) => CONFIG,
        (Plant::Config(_), false) => MAYBE_CONFIG,
    }
}
