//! What a decision took for granted of names, held against the files that are there: that programs are
//! found where no command can write, and that paths lead where they say.
//!
//! It makes the decision better. It is not the boundary, and must not be taken for it: the mounts are.

pub(crate) mod bound;
mod obeyed;
mod view;

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt,
};

use airlock_proto::domain::{DecidedPath, Grant, PathAccess, Requirement};
use airlock_sandbox::{Folders, Profile};

use crate::{
    files::{as_session, shown},
    floor::Refusal,
};
use view::{Ground, Led, View};

/// Below this, the kernel's own links lead out of every tree.
const DESCRIPTORS: &[u8] = b"/dev/fd";
const PROCESSES: &[u8] = b"/proc/";

/// Holds a grant that requires a trusted path against the sandbox that it would get. `env` is the
/// command's, `owner` whose the session's files are. Blocks for a moment.
pub(crate) fn check(
    grant: &Grant,
    profile: &Profile,
    env: &[(OsString, OsString)],
    folders: &Folders,
    owner: Option<(u32, u32)>,
) -> Result<(), Refusal> {
    if !grant.requires.contains(&Requirement::TrustedPath) {
        return Ok(());
    }
    let view = View::open(profile, folders, grant.read_only);
    let look = || {
        programs(grant, env, &view)?;
        // What is read-only may read through the session's links as it likes: it can change nothing.
        if grant.read_only {
            grant.decided.paths.iter().try_for_each(|path| reads_the_root(path, &view))?;
            obeyed::check(&grant.decided, &view)
        } else {
            grant.decided.paths.iter().try_for_each(|path| leads(path, &view))
        }
    };
    as_session(owner, look).unwrap_or_else(|error| {
        tracing::error!(%error, "the files of a decision cannot be looked at");
        Err(refuse("the session's files cannot be looked at".to_owned()))
    })
}

fn refuse(message: String) -> Refusal {
    Refusal::new("untrusted_path", message)
}

fn programs(grant: &Grant, env: &[(OsString, OsString)], view: &View) -> Result<(), Refusal> {
    let path = env.iter().find(|(name, _)| name == "PATH").map_or(OsStr::new(""), |(_, path)| path);
    let folders: Vec<Folder<'_>> =
        path.as_bytes().split(|byte| *byte == b':').map(|written| folder(written, view)).collect();
    grant.decided.programs.iter().try_for_each(|program| {
        if program.contains(&b'/') { by_path(program, view) } else { by_name(program, &folders, view) }
    })
}

/// A folder of the search path, as it is written, and where it is if no command can write there.
struct Folder<'a> {
    written: &'a [u8],
    trusted: Option<Vec<u8>>,
}

fn folder<'a>(written: &'a [u8], view: &View) -> Folder<'a> {
    let led = if written.first() == Some(&b'/') { view.follow(written, true).ok() } else { None };
    let trusted = led.filter(|led| led.ground == Ground::ReadOnly && !led.by_session).map(|led| led.path);
    Folder { written, trusted }
}

/// The first folder of the search path that has it must be a trusted one. One that a command can write to
/// and that comes before is as bad as one that has it: the command may put it there as it goes.
fn by_name(program: &[u8], folders: &[Folder<'_>], view: &View) -> Result<(), Refusal> {
    for Folder { written, trusted } in folders {
        let Some(folder) = trusted else {
            return Err(refuse(format!(
                "`{}` would be looked for in `{}`, where commands can write; have it approved, or put that \
                 folder last in the search path",
                shown(program),
                shown(written)
            )));
        };
        let led = view.follow(&[folder, b"/".as_slice(), program].concat(), true);
        match led {
            Ok(Led { ground: Ground::ReadOnly, is_program: true, by_session: false, .. }) => return Ok(()),
            Ok(Led { is_there: false, .. } | Led { ground: Ground::ReadOnly, by_session: false, .. }) => {}
            Ok(_) | Err(_) => return Err(leads_out(program)),
        }
    }
    // A function of the command's own, or nothing that the shell will find.
    Ok(())
}

fn by_path(program: &[u8], view: &View) -> Result<(), Refusal> {
    let led = if program.first() == Some(&b'/') { view.follow(program, true).ok() } else { None };
    match led {
        // Not through a link that could lead elsewhere when the program is started.
        Some(led) if led.ground == Ground::ReadOnly && !led.by_session => Ok(()),
        _ => Err(leads_out(program)),
    }
}

fn leads_out(program: &[u8]) -> Refusal {
    let program = shown(program);
    refuse(format!("the program `{program}` is not of the read-only root; have it approved"))
}

fn leads(decided: &DecidedPath, view: &View) -> Result<(), Refusal> {
    let DecidedPath { path, access } = decided;
    // Removing a link removes the link.
    let Ok(led) = view.follow(path, *access != PathAccess::Delete) else {
        let path = shown(path);
        return Err(refuse(format!(
            "the path `{path}` cannot be followed to its end; name another, or have it approved"
        )));
    };
    let stays = match led.ground {
        Ground::Kernel => !is_magic(&led.path),
        _ if led.path == *path => true,
        _ => *access == PathAccess::Read && is_readable_anyway(path, &led, view),
    };
    if stays {
        return Ok(());
    }
    let (path, real) = (shown(path), shown(&led.path));
    Err(refuse(format!("the path `{path}` leads to `{real}`; name that one, or have it approved")))
}

/// The root may be read without a question, because it is the same for everyone: so its links must not lead to what a
/// process has.
fn reads_the_root(decided: &DecidedPath, view: &View) -> Result<(), Refusal> {
    let DecidedPath { path, access } = decided;
    if *access != PathAccess::Read || view.ground_of(path) != Ground::ReadOnly {
        return Ok(());
    }
    match view.follow(path, true) {
        Ok(led) if led.ground == Ground::Kernel && is_magic(&led.path) => {
            let (path, real) = (shown(path), shown(&led.path));
            Err(refuse(format!("the path `{path}` leads to `{real}`; name that one, or have it approved")))
        }
        _ => Ok(()),
    }
}

/// Whether a link only leads to what a command that just reads may read as well, without a question: through the
/// root's own links, and from a folder of the session to the root or within that folder. What must not be read is
/// masked wherever a link leads from, so that nothing rests on the link staying as it is.
fn is_readable_anyway(path: &[u8], led: &Led, view: &View) -> bool {
    match (view.ground_of(path), led.ground) {
        (Ground::ReadOnly, Ground::ReadOnly) => !led.by_session,
        (Ground::Session, Ground::ReadOnly) => true,
        (Ground::Session, Ground::Session) => view.is_one_folder(path, &led.path),
        _ => false,
    }
}

/// Whether the kernel itself makes links there, to whatever a process has.
fn is_magic(path: &[u8]) -> bool {
    let process = path.strip_prefix(PROCESSES).and_then(|rest| rest.split(|byte| *byte == b'/').next());
    let of_process = process
        .is_some_and(|name| name == b"self" || name == b"thread-self" || name.iter().all(u8::is_ascii_digit));
    of_process || path.starts_with(DESCRIPTORS)
}

#[cfg(test)]
mod tests;
