//! Which files an order is about.

use airlock_archive::globs;
use airlock_proto::domain::{ExchangeFailed, FileFilter, FileType};
use globset::GlobSet;

use super::failure::invalid;

/// A filter, ready for use. Paths are relative to the one that was asked for.
#[derive(Debug)]
pub(super) struct Selection {
    types: Vec<FileType>,
    include: Option<GlobSet>,
    exclude: GlobSet,
}

impl Selection {
    /// # Errors
    /// If a pattern cannot be read.
    pub(super) fn new(filter: &FileFilter) -> Result<Self, ExchangeFailed> {
        let include =
            if filter.include.is_empty() { None } else { Some(patterns("include", &filter.include)?) };
        let exclude = patterns("exclude", &filter.exclude)?;
        Ok(Self { types: filter.types.clone(), include, exclude })
    }

    /// Neither this nor what is below it.
    pub(super) fn excludes(&self, relative: &[u8]) -> bool {
        !self.exclude.is_empty() && self.exclude.is_match(path(relative))
    }

    /// This, or a folder that it is in, is left out.
    pub(super) fn excludes_any_of(&self, relative: &[u8]) -> bool {
        let slashes = relative.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
        !self.exclude.is_empty()
            && slashes
                .chain([relative.len()])
                .any(|to| relative.get(..to).is_some_and(|part| self.excludes(part)))
    }

    /// What is not excluded is wanted.
    pub(super) fn wants(&self, relative: &[u8], file_type: FileType) -> bool {
        (self.types.is_empty() || self.types.contains(&file_type))
            && self.include.as_ref().is_none_or(|globs| globs.is_match(path(relative)))
    }
}

/// # Errors
/// If a pattern cannot be read.
pub(super) fn patterns(field: &str, written: &[String]) -> Result<GlobSet, ExchangeFailed> {
    globs(written).map_err(|error| invalid("PATTERN_INVALID", format!("`{field}`: {error}")))
}

fn path(relative: &[u8]) -> &std::path::Path {
    use std::os::unix::ffi::OsStrExt;
    std::path::Path::new(std::ffi::OsStr::from_bytes(relative))
}
