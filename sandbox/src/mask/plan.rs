//! Converts masks to mounts, in the order in which they must be mounted.
//!
//! Pure. Must not show a hidden path or make a protected path writable, in any order of the masks.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use airlock_init::wire::{Cover, Overlay};

use super::{Mask, MaskKind, SessionDirectory};

/// The state of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct State {
    hidden: bool,
    read_only: bool,
    /// Whether another file replaces it, so that nothing below is visible.
    replaced: bool,
}

impl State {
    fn with(self, kind: &MaskKind) -> Self {
        match kind {
            MaskKind::Hidden => Self { hidden: true, ..self },
            MaskKind::Shown => Self { hidden: false, ..self },
            MaskKind::ReadOnly => Self { read_only: true, ..self },
            MaskKind::Writable => Self { read_only: false, ..self },
            MaskKind::Kept => self,
            MaskKind::Empty | MaskKind::Content(_) => Self { read_only: true, replaced: true, ..self },
        }
    }

    /// Reports whether its entries can be renamed and removed.
    fn lets_be_moved(self) -> bool {
        !self.hidden && !self.read_only
    }

    /// Reports whether the two states have the same effect.
    fn looks_like(self, other: Self) -> bool {
        self == other || self.hidden && other.hidden
    }
}

/// A masked path above the current one.
struct Above {
    path: PathBuf,
    state: State,
    /// The index of the overlay that covers it, if there is one.
    overlay: Option<usize>,
}

/// Returns the overlays of one directory. If the directory is mounted `read_only`, no mask can make a path writable.
pub(crate) fn plan(masks: &[Mask], directory: SessionDirectory, read_only: bool) -> Vec<Overlay> {
    // Ordered by components: a path directly precedes the paths below it.
    let mut kinds = BTreeMap::<&Path, Vec<&MaskKind>>::new();
    for mask in masks.iter().filter(|mask| mask.directory == directory) {
        kinds.entry(&mask.path).or_default().push(&mask.kind);
    }
    let mut overlays = Vec::new();
    let mut above = Vec::<Above>::new();
    for (path, kinds) in kinds {
        above.retain(|outer| path.starts_with(&outer.path));
        let start = State { hidden: false, read_only, replaced: false };
        let outer = above.last().map_or(start, |outer| outer.state);
        if outer.replaced {
            continue;
        }
        let kept = kinds.contains(&&MaskKind::Kept) && outer.lets_be_moved();
        let mut state = kinds.iter().copied().fold(outer, State::with);
        state.read_only |= read_only;
        let instead = kinds.iter().rev().copied().find(|kind| replaces(kind)).filter(|_| !state.hidden);
        let overlay = (kept || !state.looks_like(outer))
            .then(|| lay(&mut overlays, &above, path, cover(state, instead)));
        above.push(Above { path: path.to_owned(), state, overlay });
    }
    overlays
}

fn replaces(kind: &MaskKind) -> bool {
    matches!(kind, MaskKind::Empty | MaskKind::Content(_))
}

fn cover(state: State, instead: Option<&MaskKind>) -> Cover {
    match instead {
        Some(MaskKind::Content(content)) => Cover::Content(content.to_vec()),
        // A hidden directory that must be passable, because a path below it may be shown again.
        Some(_) => Cover::Hidden { around: true },
        None if state.hidden => Cover::Hidden { around: false },
        None => Cover::Visible { read_only: state.read_only },
    }
}

fn lay(overlays: &mut Vec<Overlay>, above: &[Above], path: &Path, cover: Cover) -> usize {
    let covered = || above.iter().filter_map(|outer| Some((outer.overlay?, &outer.path)));
    let innermost = covered().next_back();
    if let Some((index, _)) = innermost
        && let Some(Overlay { cover: Cover::Hidden { around }, .. }) = overlays.get_mut(index)
    {
        *around = true;
    }
    let below = innermost.and_then(|(_, outer)| path.strip_prefix(outer).ok()).unwrap_or(path);
    let names: Vec<_> = below.iter().map(|name| name.as_bytes()).collect();
    overlays.push(Overlay { depth: covered().count(), path: names.join(&b'/'), cover });
    overlays.len().saturating_sub(1)
}

#[cfg(test)]
mod tests;
