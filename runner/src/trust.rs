//! Checks the assumptions of a decision against the files: programs are in directories where no command can write, and
//! paths do not lead elsewhere through links.
//!
//! This check improves the decision. It is not the security boundary; the mounts are.

pub(crate) mod bound;
#[cfg(test)]
mod fixture;
mod obeyed;
mod view;

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt,
};

use airlock_domain::{DecidedPath, Grant, PathAccess, Requirement};
use airlock_sandbox::{Profile, SessionDirectories};

use crate::{
    files::{as_session, shown},
    floor::Refusal,
};
use view::{Owner, Resolved, View};

/// Below these paths, links of the kernel lead out of every tree.
const DESCRIPTORS: &[u8] = b"/dev/fd";
const PROCESSES: &[u8] = b"/proc/";

/// Checks a grant that requires a trusted path against the sandbox that it would get. `env` is the command's
/// environment, and `owner` owns the session's files. Blocks briefly.
pub(crate) fn check(
    grant: &Grant,
    profile: &Profile,
    env: &[(OsString, OsString)],
    directories: &SessionDirectories,
    owner: Option<(u32, u32)>,
) -> Result<(), Refusal> {
    if !grant.requires.contains(&Requirement::TrustedPath) {
        return Ok(());
    }
    let view = View::open(profile, directories, grant.read_only);
    let look = || {
        programs(grant, env, &view)?;
        // A read-only command may read through the session's links: it cannot change anything.
        if grant.read_only {
            grant.decided.paths.iter().try_for_each(|path| reads_the_root(path, &view))?;
            obeyed::check(&grant.decided, &view)
        } else {
            grant.decided.paths.iter().try_for_each(|path| check_path(path, &view))
        }
    };
    as_session(owner, look).unwrap_or_else(|error| {
        tracing::error!(%error, "the files of a decision cannot be checked");
        Err(refuse("the session's files cannot be checked".to_owned()))
    })
}

fn refuse(message: String) -> Refusal {
    Refusal::new("untrusted_path", message)
}

fn programs(grant: &Grant, env: &[(OsString, OsString)], view: &View) -> Result<(), Refusal> {
    let path = env.iter().find(|(name, _)| name == "PATH").map_or(OsStr::new(""), |(_, path)| path);
    let directories: Vec<SearchDirectory<'_>> =
        path.as_bytes().split(|byte| *byte == b':').map(|written| search_directory(written, view)).collect();
    grant.decided.programs.iter().try_for_each(|program| {
        if program.contains(&b'/') { by_path(program, view) } else { by_name(program, &directories, view) }
    })
}

/// A directory of the search path as written, and its real path if no command can write there.
struct SearchDirectory<'a> {
    written: &'a [u8],
    trusted: Option<Vec<u8>>,
}

fn search_directory<'a>(written: &'a [u8], view: &View) -> SearchDirectory<'a> {
    let resolved = if written.first() == Some(&b'/') { view.follow(written, true).ok() } else { None };
    let trusted = resolved
        .filter(|resolved| resolved.owner == Owner::ReadOnly && !resolved.by_session)
        .map(|resolved| resolved.path);
    SearchDirectory { written, trusted }
}

/// Checks that the first directory of the search path that contains the program is trusted. A writable directory before
/// it also fails the check, because the command could create the program there.
fn by_name(program: &[u8], directories: &[SearchDirectory<'_>], view: &View) -> Result<(), Refusal> {
    for SearchDirectory { written, trusted } in directories {
        let Some(directory) = trusted else {
            return Err(refuse(format!(
                "`{}` would be searched for in `{}`, where commands can write; have the command approved, or \
                 put that directory last in PATH",
                shown(program),
                shown(written)
            )));
        };
        let resolved = view.follow(&[directory, b"/".as_slice(), program].concat(), true);
        match resolved {
            Ok(Resolved { owner: Owner::ReadOnly, is_program: true, by_session: false, .. }) => return Ok(()),
            Ok(
                Resolved { is_there: false, .. } | Resolved { owner: Owner::ReadOnly, by_session: false, .. },
            ) => {}
            Ok(_) | Err(_) => return Err(leads_out(program)),
        }
    }
    // A shell function of the command, or a name that the shell will not find.
    Ok(())
}

fn by_path(program: &[u8], view: &View) -> Result<(), Refusal> {
    let resolved = if program.first() == Some(&b'/') { view.follow(program, true).ok() } else { None };
    match resolved {
        // A link of the session is not followed, because it could lead elsewhere when the program starts.
        Some(resolved) if resolved.owner == Owner::ReadOnly && !resolved.by_session => Ok(()),
        _ => Err(leads_out(program)),
    }
}

fn leads_out(program: &[u8]) -> Refusal {
    let program = shown(program);
    refuse(format!("the program `{program}` is not in the read-only root; request an approval"))
}

fn check_path(decided: &DecidedPath, view: &View) -> Result<(), Refusal> {
    let DecidedPath { path, access } = decided;
    // Deleting a link deletes the link itself.
    let Ok(resolved) = view.follow(path, *access != PathAccess::Delete) else {
        let path = shown(path);
        return Err(refuse(format!(
            "the path `{path}` cannot be resolved; name another path, or request an approval"
        )));
    };
    let stays = match resolved.owner {
        Owner::Kernel => !is_magic(&resolved.path),
        _ if resolved.path == *path => true,
        _ => *access == PathAccess::Read && is_readable_anyway(path, &resolved, view),
    };
    if stays {
        return Ok(());
    }
    let (path, real) = (shown(path), shown(&resolved.path));
    Err(refuse(format!("the path `{path}` resolves to `{real}`; name that path, or request an approval")))
}

/// Checks a read of the root file system. The root may be read without a question because it is the same for everyone.
/// Its links therefore must not lead to data of a process.
fn reads_the_root(decided: &DecidedPath, view: &View) -> Result<(), Refusal> {
    let DecidedPath { path, access } = decided;
    if *access != PathAccess::Read || view.owner_of(path) != Owner::ReadOnly {
        return Ok(());
    }
    match view.follow(path, true) {
        Ok(resolved) if resolved.owner == Owner::Kernel && is_magic(&resolved.path) => {
            let (path, real) = (shown(path), shown(&resolved.path));
            Err(refuse(format!(
                "the path `{path}` resolves to `{real}`; name that path, or request an approval"
            )))
        }
        _ => Ok(()),
    }
}

/// Reports whether a link leads only to files that a read-only command may read without a question. These are files
/// reached through the root's own links, and files that a session directory links to in the root or in itself. Masks
/// hide forbidden files from every link, so the result does not depend on the link staying unchanged.
fn is_readable_anyway(path: &[u8], resolved: &Resolved, view: &View) -> bool {
    match (view.owner_of(path), resolved.owner) {
        (Owner::ReadOnly, Owner::ReadOnly) => !resolved.by_session,
        (Owner::Session, Owner::ReadOnly) => true,
        (Owner::Session, Owner::Session) => view.is_one_directory(path, &resolved.path),
        _ => false,
    }
}

/// Reports whether the kernel itself creates links below this path, to the resources of a process.
fn is_magic(path: &[u8]) -> bool {
    let process = path.strip_prefix(PROCESSES).and_then(|rest| rest.split(|byte| *byte == b'/').next());
    let of_process = process
        .is_some_and(|name| name == b"self" || name == b"thread-self" || name.iter().all(u8::is_ascii_digit));
    of_process || path.starts_with(DESCRIPTORS)
}

#[cfg(test)]
mod tests;
