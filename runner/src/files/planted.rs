//! What of a download would run on the host that it comes to: hooks and configurations of repositories that commands
//! have made, and that name programs. Who wants one of them asks for it by its own path.

use std::{collections::BTreeMap, os::unix::ffi::OsStrExt};

use airlock_proto::domain::ExchangeFailed;
use airlock_sandbox::{
    Profile, Root, SessionFolder,
    protect::{Grounds, Plant, Use, planted},
};

use super::{failure::internal, paths::strip, quarantine::of_guard, wall::as_session};
use crate::session::OpenSession;

const HOOKS: &str = "a command made these hooks, and git would run them; ask for them by their own path";
const CONFIG: &str =
    "a command made this configuration of git, and it names programs; ask for it by its own path";

/// Paths relative to the folder of a download, and why they are left out.
pub(super) type LeftOut = BTreeMap<Vec<u8>, &'static str>;

/// What is left out of a download of this folder of the workspace. Blocks for as long as it takes to look through the
/// workspace.
///
/// # Errors
/// If nobody can say what is planted.
pub(super) fn below(session: &OpenSession, folder: &[u8]) -> Result<LeftOut, ExchangeFailed> {
    let suspects = session.guard().workspace.with(|guard, workspace| {
        let is_still = guard.still().is_some();
        guard.suspects(workspace, is_still)
    });
    let Some(suspects) = suspects.map_err(of_guard)? else { return Ok(LeftOut::new()) };
    // Links that lead to the root lead to nothing that a command made.
    let bare =
        Profile { binds: Vec::new(), symlinks: Vec::new(), root: Root::default(), ..Profile::default() };
    let command = Use { paths: &[], rebases: false, outside: false };
    let grounds = Grounds::open(session.folders(), &bare).map_err(|error| of_guard(error.into()))?;
    let found = as_session(session.owner(), || planted(&grounds, &suspects, command))
        .map_err(|error| internal("look for planted programs", &error))?
        .map_err(|error| of_guard(error.into()))?;
    let in_workspace = found.items.iter().filter(|item| item.folder == SessionFolder::Workspace);
    let why = |what: &Plant| match what {
        Plant::Hooks => HOOKS,
        Plant::Config(_) => CONFIG,
    };
    let left_out = in_workspace.filter_map(|item| {
        let below = strip(item.path.as_os_str().as_bytes(), folder)?;
        Some((below.to_vec(), why(&item.what)))
    });
    Ok(left_out.collect())
}
