//! Programs that commands have planted in repositories, kept out of one launch: of a command that only reads, that
//! was allowed without a person or a sandbox's profile standing behind it, or that runs outside the sandbox.
//!
//! A command that a person or the profile lets run in the sandbox as it is gets everything: there an agent's own
//! hooks are its own.

use std::{ffi::OsString, os::unix::ffi::OsStringExt, path::PathBuf};

use airlock_proto::domain::{Grant, Requirement};
use airlock_sandbox::{
    HOME, Mask, Profile,
    protect::{Grounds, Use, planted},
};

use super::{Job, result::Failure};
use crate::files;

/// Programs besides git itself that only read and run git.
const GIT_USERS: [&[u8]; 1] = [b"gh"];

/// What the command gets in place of what is planted. `still` is what the session's folders are, if nothing else can
/// change them. Outside the sandbox, what is planted is moved into quarantine instead. Blocks for as long as it takes
/// to look at the session's repositories.
///
/// # Errors
/// Nobody could say what is planted, or it can be neither covered nor moved.
pub(super) fn masks(job: &Job, profile: &Profile, still: Option<u64>) -> Result<Vec<Mask>, Failure> {
    let grant = &job.grant;
    let uses_git = uses_git(grant);
    let is_held = if grant.read_only {
        uses_git
    } else {
        grant.unsandboxed || grant.requires.contains(&Requirement::TrustedPath)
    };
    if !is_held {
        return Ok(Vec::new());
    }
    let session = &job.session;
    let workspace = &session.guard().workspace;
    let suspects = workspace.with(|guard, folder| guard.suspects(folder, still.is_some()))?;
    let Some(suspects) = suspects else { return Ok(Vec::new()) };
    let paths = if grant.unsandboxed {
        vec![PathBuf::from(HOME), PathBuf::from("/tmp")]
    } else if uses_git {
        named(grant)
    } else {
        Vec::new()
    };
    let rebases = grant.decided.git.iter().any(|used| used.starts_with("rebase"));
    let command = Use { paths: &paths, rebases: rebases && !grant.read_only, outside: grant.unsandboxed };
    let grounds = Grounds::open(session.folders(), profile).map_err(Failure::Planted)?;
    let found = files::as_session(session.owner(), || planted(&grounds, &suspects, command));
    let found = found.map_err(|_| Failure::Rights)?.map_err(Failure::Planted)?;
    if grant.unsandboxed {
        let id = job.id.to_string();
        workspace.with(|guard, folder| guard.take_away(folder, &found, &id))?;
        return Ok(Vec::new());
    }
    match &found.open {
        Some(cause) if uses_git => Err(Failure::Open(cause.clone())),
        _ => Ok(found.masks()),
    }
}

fn uses_git(grant: &Grant) -> bool {
    let name = |program: &'_ Vec<u8>| {
        program.rsplit(|byte| *byte == b'/').next().is_some_and(|name| GIT_USERS.contains(&name))
    };
    !grant.decided.git.is_empty() || grant.decided.programs.iter().any(name)
}

/// Where it starts, and what it names.
fn named(grant: &Grant) -> Vec<PathBuf> {
    let paths = grant.decided.paths.iter().map(|used| &used.path);
    let all = std::iter::once(&grant.directory).chain(paths);
    all.map(|path| PathBuf::from(OsString::from_vec(path.clone()))).collect()
}
