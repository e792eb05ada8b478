//! Hides programs that commands have planted in repositories from certain launches. These are read-only commands that
//! use git, commands outside the sandbox, and commands with a grant that requires a trusted path.
//!
//! A command that a person or the profile allowed to run unrestricted in the sandbox sees all files. These include
//! hooks that the agent installed.

use std::{ffi::OsString, os::unix::ffi::OsStringExt, path::PathBuf};

use airlock_domain::{Grant, Requirement};
use airlock_sandbox::{
    HOME, Mask, Profile,
    protect::{Grounds, Use, planted},
};

use super::{accepted::Job, result::Failure};
use crate::files;

/// Programs other than git that only read and run git.
const GIT_USERS: [&[u8]; 1] = [b"gh"];

/// Returns masks for the planted programs. `still` numbers the state of the session's directories, if no other process
/// can change them. For a command outside the sandbox, planted programs are moved into quarantine instead. Blocks while
/// it reads the session's repositories.
///
/// # Errors
/// If the planted programs cannot be determined, covered or moved.
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
    let suspects = workspace.with(|guard, directory| guard.suspects(directory, still.is_some()))?;
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
    let grounds = Grounds::open(session.directories(), profile).map_err(Failure::Planted)?;
    let found = files::as_session(session.owner(), || planted(&grounds, &suspects, command));
    let found = found.map_err(|_| Failure::Rights)?.map_err(Failure::Planted)?;
    if grant.unsandboxed {
        let id = job.id.to_string();
        workspace.with(|guard, directory| guard.take_away(directory, &found, &id))?;
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

/// Returns the command's directory and the paths that it names.
fn named(grant: &Grant) -> Vec<PathBuf> {
    let paths = grant.decided.paths.iter().map(|used| &used.path);
    let all = std::iter::once(&grant.command.directory).chain(paths);
    all.map(|path| PathBuf::from(OsString::from_vec(path.clone()))).collect()
}
