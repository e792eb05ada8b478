//! Lists and restores quarantined files: protected names that commands created or changed.

use airlock_domain::{
    ExchangeFailed, ExchangeFailure, FileInfo, FileType, QuarantineOrder, QuarantinedFile, limits::PATH_BYTES,
};
use airlock_sandbox::protect::{Held, Kind, ProtectError};

use super::{
    failure::{failed, internal, of_path, precondition},
    list::{Page, cost},
};
use crate::{
    guard::{GuardError, Guarded},
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
