//! From masks to the mounts that make them, in the order in which they are made.
//!
//! Pure. Must not show what a mask hides, nor let be written what a mask or the
//! command's shape protects, whatever the order of the masks.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use airlock_init::wire::{Cover, Overlay};

use super::{Mask, MaskKind, SessionFolder};

/// How something in a folder is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct State {
    hidden: bool,
    read_only: bool,
    /// Something else is there instead, and nothing of it is seen below.
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

    /// Whether what lies in it can be renamed and removed.
    fn lets_be_moved(self) -> bool {
        !self.hidden && !self.read_only
    }

    /// Whether one cannot be told from the other.
    fn looks_like(self, other: Self) -> bool {
        self == other || self.hidden && other.hidden
    }
}

/// A masked path on the way down.
struct Above {
    path: PathBuf,
    state: State,
    /// Which overlay covers it, if one does.
    overlay: Option<usize>,
}

/// The overlays of one folder. In a folder that is mounted `read_only` nothing
/// can be written whatever the masks say.
pub(crate) fn plan(masks: &[Mask], folder: SessionFolder, read_only: bool) -> Vec<Overlay> {
    // Ordered by components: a path comes directly before those below it.
    let mut kinds = BTreeMap::<&Path, Vec<&MaskKind>>::new();
    for mask in masks.iter().filter(|mask| mask.folder == folder) {
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
        // One that could be passed through to something shown again, and nothing is.
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
