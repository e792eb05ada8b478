//! Records the files that an upload created: for the workspace the baseline of `diff`, and for each directory the
//! protected names. Commands may run meanwhile. The recorded content is that of the upload, not that of the existing
//! file.

use std::{
    io::{self, Read},
    os::fd::{AsFd, BorrowedFd},
};

use airlock_archive::{Entry, Kind, join};
use airlock_sandbox::protect::Watched;
use rustix::fs::{AtFlags, Mode, OFlags, ResolveFlags, Stat, fstat, openat2, statat};
use sha2::{Digest, Sha256};

use super::{
    baseline::{Content, Record, RecordKind, Recorder, modified_micros},
    root::open_regular,
};

/// Collects the records of one upload. The first error is kept until the end.
#[derive(Debug)]
pub(super) struct UploadRecorder {
    /// For the workspace only.
    recorder: Option<Recorder>,
    /// The protected names of the directory, if it is watched.
    watches: Option<Watched>,
    /// The protected names that were created.
    watched: Vec<Vec<u8>>,
    failed: Option<io::Error>,
}

impl UploadRecorder {
    pub(super) fn new(recorder: Option<Recorder>, watches: Option<Watched>) -> Self {
        Self { recorder, watches, watched: Vec::new(), failed: None }
    }

    /// Takes the protected names that were created.
    pub(super) fn watched(&mut self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.watched)
    }

    /// Returns the recorder.
    ///
    /// # Errors
    /// If a file could not be recorded.
    pub(super) fn finish(self) -> io::Result<Option<Recorder>> {
        match self.failed {
            Some(error) => Err(error),
            None => Ok(self.recorder),
        }
    }

    /// Records a created directory, which is open.
    pub(super) fn directory(&mut self, directory: BorrowedFd<'_>, path: Vec<u8>) {
        if let Ok(stat) = fstat(directory) {
            self.put(Record::new(path, RecordKind::Directory, &stat), None);
        }
    }

    /// Records a file that was created in `directory`, which is at `below`. Without the SHA-256 of the sent content,
    /// that of the existing file is used.
    pub(super) fn file(
        &mut self,
        directory: BorrowedFd<'_>,
        below: &[u8],
        name: &[u8],
        size: u64,
        mode: u32,
        sha256: Option<[u8; 32]>,
    ) {
        let found = self.recorder.as_ref().and_then(|recorder| read(recorder, directory, name, size, sha256));
        let (sha256, content) = match found {
            Some((found, content)) if sha256.is_none_or(|sha256| sha256 == found) => (Some(found), content),
            _ => (sha256, None),
        };
        let modified_micros =
            statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).map_or(0, |stat| modified_micros(&stat));
        let kind = RecordKind::File { size, sha256, stamp: None, content: Content::NotKept };
        self.put(Record { path: join(below, name), kind, mode: mode & 0o777, modified_micros }, content);
    }

    /// Records an entry that an archive created in `root`, which is at `below`.
    pub(super) fn entry(&mut self, root: BorrowedFd<'_>, below: &[u8], entry: &Entry<'_>) {
        let slash = entry.path.iter().rposition(|byte| *byte == b'/');
        let (above, name) = match slash {
            Some(slash) => (entry.path.get(..slash), entry.path.get(slash + 1..)),
            None => (None, Some(entry.path)),
        };
        let Some(name) = name.filter(|name| !name.is_empty()) else { return };
        let opened = above.map(|above| beneath(root, above));
        let directory = match &opened {
            // The directory was moved away meanwhile.
            Some(None) => return,
            Some(Some(directory)) => directory.as_fd(),
            None => root,
        };
        let below = join(below, above.unwrap_or_default());
        let Ok(stat) = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) else { return };
        let target = entry.link_target.unwrap_or_default();
        let kind = match entry.kind {
            Kind::File => return self.file(directory, &below, name, entry.size, entry.mode, entry.sha256),
            Kind::HardLink => return self.hard_link(directory, &below, name, &stat),
            Kind::Directory => RecordKind::Directory,
            Kind::Symlink => RecordKind::Link(target.to_vec()),
        };
        let (path, mode) = (join(&below, name), entry.mode & 0o777);
        self.put(Record { path, kind, mode, modified_micros: modified_micros(&stat) }, None);
    }

    fn hard_link(&mut self, directory: BorrowedFd<'_>, below: &[u8], name: &[u8], stat: &Stat) {
        self.file(directory, below, name, u64::try_from(stat.st_size).unwrap_or(0), stat.st_mode, None);
    }

    fn put(&mut self, record: Record, content: Option<Vec<u8>>) {
        if self.watches.as_ref().is_some_and(|watches| watches.has(&record.path)) {
            self.watched.push(record.path.clone());
        }
        if self.failed.is_none()
            && let Some(recorder) = &mut self.recorder
            && let Err(error) = recorder.put(record, content)
        {
            self.failed = Some(error);
        }
    }
}

/// Reads a file that still exists, if that is useful. Returns its SHA-256 and, if it may be stored, its content.
fn read(
    recorder: &Recorder,
    directory: BorrowedFd<'_>,
    name: &[u8],
    sent: u64,
    expected: Option<[u8; 32]>,
) -> Option<([u8; 32], Option<Vec<u8>>)> {
    if expected.is_some() && !recorder.may_keep(sent) {
        return None;
    }
    let (file, stat) = open_regular(directory, name).ok()??;
    let size = u64::try_from(stat.st_size).ok()?;
    let keeps = recorder.may_keep(size);
    if !keeps && expected.is_some() {
        return None;
    }
    let (mut hash, mut content) = (Sha256::new(), keeps.then(Vec::new));
    let mut buffer = vec![0; 64 << 10];
    let mut file = file.take(size);
    loop {
        let got = file.read(&mut buffer).ok()?;
        if got == 0 {
            break;
        }
        let bytes = buffer.get(..got).unwrap_or_default();
        hash.update(bytes);
        if let Some(content) = &mut content {
            content.extend_from_slice(bytes);
        }
    }
    Some((hash.finalize().into(), content))
}

/// Opens a directory below another one. `None` if there is a link on the path.
fn beneath(root: BorrowedFd<'_>, path: &[u8]) -> Option<std::os::fd::OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    openat2(root, path, flags, Mode::empty(), ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS).ok()
}
