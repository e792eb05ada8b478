//! The result of a search: the planted files, and the masks that cover them.

use std::path::PathBuf;
use std::sync::Arc;

use crate::mask::{Mask, MaskKind, SessionDirectory};

/// A planted file, by its real place and not by a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// The session's directory that contains it.
    pub directory: SessionDirectory,
    /// The path relative to that.
    pub path: PathBuf,
    /// Its kind.
    pub what: Plant,
}

/// The kind of a planted file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Plant {
    /// A directory of hooks.
    Hooks,
    /// A configuration, with its contents without programs.
    Config(Arc<[u8]>),
}

/// The result of a search.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Planted {
    /// The items, sorted by directory and path.
    pub items: Vec<Item>,
    /// A file that git would use and that no mask can cover, with the reason, in one line.
    pub open: Option<String>,
}

impl Planted {
    /// Returns the masks that cover the items for a command.
    #[must_use]
    pub fn masks(&self) -> Vec<Mask> {
        let mask = |item: &Item| Mask {
            directory: item.directory,
            path: item.path.clone(),
            kind: match &item.what {
                Plant::Hooks => MaskKind::Empty,
                Plant::Config(rest) => MaskKind::Content(Arc::clone(rest)),
            },
        };
        self.items.iter().map(mask).collect()
    }
}
