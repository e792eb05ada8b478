//! Selects the files of an order.

use airlock_archive::globs;
use airlock_domain::{ExchangeFailed, FileFilter, FileType};
use globset::GlobSet;

use super::failure::invalid;

/// A compiled filter. Paths are relative to the path of the order.
#[derive(Debug)]
pub(super) struct Selection {
    types: Vec<FileType>,
    include: Option<GlobSet>,
    exclude: GlobSet,
}

impl Selection {
    /// Compiles a filter.
    ///
    /// # Errors
    /// If a pattern is invalid.
    pub(super) fn new(filter: &FileFilter) -> Result<Self, ExchangeFailed> {
        let include =
            if filter.include.is_empty() { None } else { Some(patterns("include", &filter.include)?) };
        let exclude = patterns("exclude", &filter.exclude)?;
        Ok(Self { types: filter.types.clone(), include, exclude })
    }

    /// Reports whether this file, and everything below it, is excluded.
    pub(super) fn excludes(&self, relative: &[u8]) -> bool {
        !self.exclude.is_empty() && self.exclude.is_match(path(relative))
    }

    /// Reports whether this file or one of its parent directories is excluded.
    pub(super) fn excludes_any_of(&self, relative: &[u8]) -> bool {
        let slashes = relative.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
        !self.exclude.is_empty()
            && slashes
                .chain([relative.len()])
                .any(|to| relative.get(..to).is_some_and(|part| self.excludes(part)))
    }

    /// Reports whether a file that is not excluded is selected.
    pub(super) fn wants(&self, relative: &[u8], file_type: FileType) -> bool {
        (self.types.is_empty() || self.types.contains(&file_type))
            && self.include.as_ref().is_none_or(|globs| globs.is_match(path(relative)))
    }
}

/// Compiles patterns.
///
/// # Errors
/// If a pattern is invalid.
pub(super) fn patterns(field: &str, written: &[String]) -> Result<GlobSet, ExchangeFailed> {
    globs(written).map_err(|error| invalid("PATTERN_INVALID", format!("`{field}`: {error}")))
}

fn path(relative: &[u8]) -> &std::path::Path {
    use std::os::unix::ffi::OsStrExt;
    std::path::Path::new(std::ffi::OsStr::from_bytes(relative))
}
