//! Diff: compares the existing files with the baseline, as two sequences sorted by path. Only their current entries are
//! in memory. A file that changes during the comparison is reported as changed.

use std::{
    cmp::Ordering,
    io::{self, Read},
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

use airlock_archive::{Cancel, join};
use airlock_domain::{ChangeKind, DiffOrder, ExchangeFailed, FileChange, FileInfo, FileType};
use rustix::{
    fs::{AtFlags, Mode, OFlags, ResolveFlags, Stat, openat2, statat},
    io::Errno,
};
use sha2::{Digest, Sha256};

use super::{
    baseline::{Content, Merged, Record, RecordKind, Stamp},
    failure::{internal, not_found, of_path, unavailable},
    list::{Page, cost},
    patch::{Omitted, Side, patch},
    paths::{Inside, strip},
    root::{Root, file_type, info, link_target, open_regular},
    select::Selection,
    walk::{Route, Walk, WalkEntry},
};
use crate::session::OpenSession;

const BUFFER: usize = 64 << 10;

/// Returns a page of changes, and whether more follow. Contents of more than `file_bytes` are not shown. Blocks.
pub(super) fn diff(
    session: &OpenSession,
    order: &DiffOrder,
    file_bytes: u64,
    cancel: &Cancel,
) -> Result<(Vec<FileChange>, bool), ExchangeFailed> {
    let at = Inside::in_workspace(&order.path)?;
    let after = if order.after.is_empty() { None } else { Some(Inside::in_workspace(&order.after)?) };
    let selection = Selection::new(&order.filter)?;
    let request = DiffRequest {
        at: &at,
        after: after.as_ref(),
        selection: &selection,
        patch: order.patch,
        file_bytes,
        cancel,
    };
    let old = BaselineReader::open(session, &request)?;
    Root::enter(session, at.root(), |workspace| request.page(old, workspace, order.page_size))
}

fn change_cost(change: &FileChange) -> usize {
    let infos = match &change.kind {
        ChangeKind::Added { after: info } | ChangeKind::Deleted { before: info } => cost(info),
        ChangeKind::Modified { before, after } => cost(before) + cost(after),
    };
    infos + change.patch.len() + change.patch_omitted.len()
}

/// The parameters of a comparison.
struct DiffRequest<'a> {
    at: &'a Inside,
    after: Option<&'a Inside>,
    selection: &'a Selection,
    patch: bool,
    file_bytes: u64,
    cancel: &'a Cancel,
}

impl DiffRequest<'_> {
    fn page(
        &self,
        mut old: BaselineReader,
        workspace: &Root,
        size: u32,
    ) -> Result<(Vec<FileChange>, bool), ExchangeFailed> {
        let mut page = Page::new(size);
        let mut new = Now::open(workspace, self)?;
        if old.head.is_none()
            && new.head.is_none()
            && !self.at.is_root()
            && self.after.is_none()
            && !old.any
            && !new.any
        {
            return Err(not_found(&self.at.absolute()));
        }
        loop {
            let order = match (&old.head, &new.head) {
                (None, None) => break,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(old), Some(new)) => old.path.cmp(&new.path),
            };
            let change = match order {
                Ordering::Less => self.deleted(&mut old)?,
                Ordering::Greater => self.added(&new)?,
                Ordering::Equal => self.compared(&mut old, &new)?,
            };
            if let Some(change) = change {
                let cost = change_cost(&change);
                if !page.put(change, cost) {
                    break;
                }
            }
            if order.is_le() {
                old.advance(self)?;
            }
            if order.is_ge() {
                new.advance(self)?;
            }
        }
        Ok(page.done())
    }

    /// Reports whether a path below the root is selected and not excluded.
    fn is_about(&self, path: &[u8]) -> bool {
        let relative = strip(path, self.at.relative());
        let inside = path == self.at.relative() || relative.is_some();
        inside && !relative.is_some_and(|relative| self.selection.excludes_any_of(relative))
    }

    fn is_due(&self, path: &[u8]) -> bool {
        self.after.is_none_or(|after| path > after.relative())
    }

    fn wants(&self, path: &[u8], types: &[FileType]) -> bool {
        let relative = strip(path, self.at.relative()).unwrap_or_else(|| {
            let slash = path.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
            path.get(slash..).unwrap_or_default()
        });
        types.iter().any(|file_type| self.selection.wants(relative, *file_type))
    }

    fn deleted(&self, old: &mut BaselineReader) -> Result<Option<FileChange>, ExchangeFailed> {
        let Some(record) = &old.head else { return Ok(None) };
        let before = record.info();
        if !self.wants(&record.path, &[before.file_type]) {
            return Ok(None);
        }
        let record = record.clone();
        let side = if self.patch { old.side(&record)? } else { None };
        Ok(Some(self.change(&record.path, ChangeKind::Deleted { before }, side.as_ref(), None)))
    }

    fn added(&self, new: &Now<'_>) -> Result<Option<FileChange>, ExchangeFailed> {
        let Some(found) = &new.head else { return Ok(None) };
        let after = found.info();
        if !self.wants(&found.path, &[after.file_type]) {
            return Ok(None);
        }
        let side = if self.patch { self.side(found) } else { None };
        Ok(Some(self.change(&found.path, ChangeKind::Added { after }, None, side.as_ref())))
    }

    /// Returns the change of a file, or `None` if it is unchanged.
    fn compared(
        &self,
        old: &mut BaselineReader,
        new: &Now<'_>,
    ) -> Result<Option<FileChange>, ExchangeFailed> {
        let (Some(record), Some(found)) = (old.head.clone(), &new.head) else { return Ok(None) };
        let (before, after) = (record.info(), found.info());
        if !self.wants(&record.path, &[before.file_type, after.file_type]) || self.is_same(&record, found)? {
            return Ok(None);
        }
        let both_files = before.file_type == FileType::Regular && after.file_type == FileType::Regular;
        let (one, other) =
            if self.patch && both_files { (old.side(&record)?, self.side(found)) } else { (None, None) };
        Ok(Some(self.change(
            &record.path,
            ChangeKind::Modified { before, after },
            one.as_ref(),
            other.as_ref(),
        )))
    }

    fn is_same(&self, record: &Record, found: &CurrentFile) -> Result<bool, ExchangeFailed> {
        let same_mode = record.mode == found.stat.st_mode & 0o7777;
        Ok(match (&record.kind, file_type(&found.stat)) {
            (RecordKind::Directory, FileType::Directory) => same_mode,
            (RecordKind::Link(target), FileType::Symlink) => *target == found.target,
            (RecordKind::File { size, sha256, stamp, .. }, FileType::Regular) => {
                same_mode && self.has_content(found, *size, *sha256, *stamp)?
            }
            _ => false,
        })
    }

    fn has_content(
        &self,
        found: &CurrentFile,
        size: u64,
        sha256: Option<[u8; 32]>,
        stamp: Option<Stamp>,
    ) -> Result<bool, ExchangeFailed> {
        if stamp.is_some_and(|stamp| stamp == Stamp::of(&found.stat)) {
            return Ok(true);
        }
        let Some(sha256) = sha256.filter(|_| u64::try_from(found.stat.st_size) == Ok(size)) else {
            return Ok(false);
        };
        let Ok(Some((file, _))) = open_regular(found.directory.as_fd(), found.name()) else {
            return Ok(false);
        };
        let mut hash = Sha256::new();
        let mut buffer = vec![0; BUFFER];
        // One byte more than expected, because the file may grow.
        let mut file = file.take(size.saturating_add(1));
        loop {
            if self.cancel.is_cancelled() {
                return Err(unavailable("CANCELLED", "it was ended before it was complete; try again"));
            }
            match file.read(&mut buffer) {
                Ok(0) => break,
                Ok(got) => hash.update(buffer.get(..got).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Ok(false),
            }
        }
        Ok(<[u8; 32]>::from(hash.finalize()) == sha256)
    }

    /// Returns the current version of a file. `None` if it is no longer a regular file.
    fn side(&self, found: &CurrentFile) -> Option<Side> {
        let (file, stat) = open_regular(found.directory.as_fd(), found.name()).ok().flatten()?;
        let mode = stat.st_mode & 0o7777;
        let mut content = Vec::new();
        let read = file.take(self.file_bytes.saturating_add(1)).read_to_end(&mut content);
        let content = match read {
            Ok(_) if content.len() as u64 > self.file_bytes => Err(Omitted::TooLarge),
            Ok(_) => Ok(content),
            Err(_) => Err(Omitted::NotKept),
        };
        Some(Side { mode, content })
    }

    fn change(
        &self,
        path: &[u8],
        kind: ChangeKind,
        before: Option<&Side>,
        after: Option<&Side>,
    ) -> FileChange {
        let whole = match &kind {
            ChangeKind::Added { .. } => after.is_some(),
            ChangeKind::Deleted { .. } => before.is_some(),
            ChangeKind::Modified { .. } => before.is_some() && after.is_some(),
        };
        let made = match (self.patch, whole) {
            (false, _) => return FileChange { kind, patch: Vec::new(), patch_omitted: String::new() },
            (true, false) => Err(Omitted::NotAFile),
            (true, true) => patch(path, before, after),
        };
        let (patch, omitted) = match made {
            Ok(patch) => (patch, ""),
            Err(omitted) => (Vec::new(), omitted.name()),
        };
        FileChange { kind, patch, patch_omitted: omitted.to_owned() }
    }
}

/// The records of the baseline, from the first selected one.
struct BaselineReader {
    merged: Merged,
    head: Option<Record>,
    /// Whether any selected record exists, including records before the page.
    any: bool,
}

impl BaselineReader {
    fn open(session: &OpenSession, request: &DiffRequest<'_>) -> Result<Self, ExchangeFailed> {
        let merged = session.baseline().read().map_err(|error| internal("read a baseline", &error))?;
        let mut before = Self { merged, head: None, any: false };
        before.advance(request)?;
        Ok(before)
    }

    fn advance(&mut self, request: &DiffRequest<'_>) -> Result<(), ExchangeFailed> {
        loop {
            if request.cancel.is_cancelled() {
                return Err(unavailable("CANCELLED", "it was ended before it was complete; try again"));
            }
            self.head = self.merged.next().map_err(|error| internal("read a baseline", &error))?;
            let Some(record) = &self.head else { return Ok(()) };
            if request.is_about(&record.path) {
                self.any = true;
                if request.is_due(&record.path) {
                    return Ok(());
                }
            }
        }
    }

    /// Returns the old version of the current record, if it was a regular file.
    fn side(&mut self, record: &Record) -> Result<Option<Side>, ExchangeFailed> {
        let RecordKind::File { content, .. } = &record.kind else { return Ok(None) };
        let content = match content {
            Content::Kept => {
                let (kept, _) = self.merged.content().map_err(|error| internal("read a baseline", &error))?;
                Ok(kept)
            }
            Content::Binary => Err(Omitted::Binary),
            Content::TooLarge => Err(Omitted::TooLarge),
            Content::NotKept => Err(Omitted::NotKept),
        };
        Ok(Some(Side { mode: record.mode, content }))
    }
}

/// An existing file.
struct CurrentFile {
    /// The path relative to the workspace's root.
    path: Vec<u8>,
    stat: Stat,
    target: Vec<u8>,
    directory: OwnedFd,
}

impl CurrentFile {
    fn new(path: Vec<u8>, stat: Stat, directory: BorrowedFd<'_>) -> Result<Self, Errno> {
        let directory = directory.try_clone_to_owned().map_err(|_| Errno::MFILE)?;
        let mut found = Self { path, stat, target: Vec::new(), directory };
        found.target = link_target(found.directory.as_fd(), found.name(), &found.stat);
        Ok(found)
    }

    fn name(&self) -> &[u8] {
        let slash = self.path.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
        self.path.get(slash..).unwrap_or_default()
    }

    fn info(&self) -> FileInfo {
        info(super::paths::absolute(&self.path), &self.stat, self.target.clone())
    }
}

/// The existing files: the path itself, and then the files below it.
struct Now<'a> {
    walk: Option<Walk<'a>>,
    head: Option<CurrentFile>,
    any: bool,
}

impl<'a> Now<'a> {
    fn open(workspace: &Root, request: &'a DiffRequest<'_>) -> Result<Self, ExchangeFailed> {
        let failed = |errno| of_path(&request.at.absolute(), errno);
        let mut now = Self { walk: None, head: None, any: false };
        let Some((above, name)) = request.at.split() else {
            let root = workspace.directory(request.at).map_err(failed)?;
            return now.walk_in(root, request);
        };
        // Links are not followed: the order selects a path, not the target of a link.
        let Some(above) = straight(workspace.handle(), above.relative()).map_err(failed)? else {
            return Ok(now);
        };
        let Ok(stat) = statat(&above, name, AtFlags::SYMLINK_NOFOLLOW) else { return Ok(now) };
        now.any = true;
        let path = request.at.relative().to_vec();
        let itself = CurrentFile::new(path, stat, above.as_fd()).map_err(failed)?;
        let directory = super::root::open_directory(above.as_fd(), name).map_err(failed)?;
        if request.is_due(&itself.path) {
            now.head = Some(itself);
        }
        match directory {
            Some(directory) => now.walk_in(directory, request),
            None => Ok(now),
        }
    }

    fn walk_in(mut self, directory: OwnedFd, request: &'a DiffRequest<'_>) -> Result<Self, ExchangeFailed> {
        let after = request
            .after
            .and_then(|after| strip(after.relative(), request.at.relative()))
            .unwrap_or_default();
        let route = Route {
            at: request.at,
            recursive: true,
            after,
            selection: request.selection,
            skip_closed: false,
        };
        self.walk = Some(Walk::new(directory, route, request.cancel)?);
        if self.head.is_none() {
            self.advance(request)?;
        }
        Ok(self)
    }

    fn advance(&mut self, request: &DiffRequest<'_>) -> Result<(), ExchangeFailed> {
        self.head = None;
        let Some(walk) = &mut self.walk else { return Ok(()) };
        let Some(WalkEntry { path, stat, .. }) = walk.next()? else { return Ok(()) };
        self.any = true;
        let path = join(request.at.relative(), &path);
        if let Some(directory) = walk.directory() {
            let found = CurrentFile::new(path, stat, directory)
                .map_err(|errno| of_path(&request.at.absolute(), errno))?;
            self.head = Some(found);
        }
        Ok(())
    }
}

/// Opens a directory below the root. `None` if there is a link on the path.
fn straight(root: BorrowedFd<'_>, path: &[u8]) -> Result<Option<OwnedFd>, Errno> {
    let path = if path.is_empty() { b"." } else { path };
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let how = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
    match openat2(root, path, flags, Mode::empty(), how) {
        Ok(directory) => Ok(Some(directory)),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
        Err(errno) => Err(errno),
    }
}
