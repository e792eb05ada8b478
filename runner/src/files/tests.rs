//! Tests of file work as a server orders it, on workspaces of real sessions.

mod diffs;
mod downloads;
mod hostile;
mod kept;
mod limits;
mod lists;
mod roots;
mod uploads;
mod walled;

use std::{collections::BTreeMap, fs, os::unix::fs::PermissionsExt, path::PathBuf};

use airlock_archive::{Cancel, Format, Limits, Pack, globs, pack};
use airlock_domain::{
    ChangeKind, DiffOrder, DownloadOrder, DownloadStarted, Downloaded, ExchangeFailure, ExchangeToRunner,
    FileChange, FileFilter, FileFormat, FileInfo, FileType, ListOrder, UploadOrder, Uploaded,
};
use airlock_sandbox::{DiskConfig, UidIsolation, UidRange};
use bytes::Bytes;
use cap_std::{ambient_authority, fs::Dir};
use futures::StreamExt;
use sha2::{Digest, Sha256};
use tokio::sync::mpsc;

use super::*;
use crate::session::{Closing, CopyLimits, Opening, SessionTable};

const PIECE: usize = 1000;

/// A runner's file work, and one session.
struct Fixture {
    sessions: Arc<SessionTable>,
    files: Arc<Files>,
    session: Arc<OpenSession>,
    config: TransfersConfig,
    limits: LimitsConfig,
    /// Dropped last, because sessions may be mounted in it.
    dir: airlock_mounts::ScratchDir,
}

fn restore(
    dir: &airlock_mounts::ScratchDir,
    baseline: BaselineLimits,
    disk: DiskConfig,
) -> Arc<SessionTable> {
    let copy = CopyLimits { bytes: 1 << 30, entries: 200_000, baseline };
    let range = UidRange::new(42_000_000, 64);
    Arc::new(SessionTable::restore(dir.path(), UidIsolation::detect(), range, 8, copy, disk).unwrap())
}

fn open_session(sessions: &SessionTable, base: Option<&Path>) -> Arc<OpenSession> {
    let Opening::Reserved(reserved) = sessions.reserve(SessionId::new()) else {
        panic!("the session is new")
    };
    sessions.make(&reserved, base.map(Path::to_owned).as_ref(), |_, _| {}).unwrap()
}

impl Fixture {
    fn new() -> Self {
        Self::with(|_| {}, None)
    }

    fn with(change: impl FnOnce(&mut TransfersConfig), base: Option<&Path>) -> Self {
        let mut config = TransfersConfig::default();
        change(&mut config);
        Self::made(config, base, DiskConfig::default())
    }

    fn made(config: TransfersConfig, base: Option<&Path>, disk: DiskConfig) -> Self {
        let dir = airlock_mounts::ScratchDir::new();
        let limits = LimitsConfig::default();
        let sessions = restore(&dir, BaselineLimits::of(&config), disk);
        let session = open_session(&sessions, base);
        let open = Arc::clone(&sessions);
        let files = Files::open(dir.path(), config, &limits, |id| open.get(id)).unwrap();
        Self { dir, sessions, files: Arc::new(files), session, config, limits }
    }

    /// Simulates the death of the process and a restart.
    fn reopen(self) -> Self {
        let Self { dir, sessions, files, session, config, limits } = self;
        let id = session.id;
        drop((sessions, files, session));
        let sessions = restore(&dir, BaselineLimits::of(&config), DiskConfig::default());
        let session = sessions.get(&id).unwrap();
        let open = Arc::clone(&sessions);
        let files = Files::open(dir.path(), config, &limits, |id| open.get(id)).unwrap();
        Self { dir, sessions, files: Arc::new(files), session, config, limits }
    }

    fn path(&self, below: &str) -> PathBuf {
        self.session.workspace().join(below)
    }

    fn write(&self, below: &str, content: impl AsRef<[u8]>) {
        self.write_in(self.session.workspace(), below, content);
    }

    /// Writes a file in one of the session's directories.
    fn write_in(&self, root: &Path, below: &str, content: impl AsRef<[u8]>) {
        let path = root.join(below);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self.give_in(root, below);
    }

    /// Gives the file and its parent directories to the session's user.
    fn give_in(&self, root: &Path, below: &str) {
        let Some((uid, gid)) = self.session.owner() else { return };
        for below in Path::new(below).ancestors().filter(|below| *below != Path::new("")) {
            std::os::unix::fs::lchown(root.join(below), Some(uid), Some(gid)).unwrap();
        }
    }

    /// Returns the paths of all stored files of transfers.
    fn kept_files(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut directories = vec![self.dir.path().join("transfers")];
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(directory).unwrap() {
                let entry = entry.unwrap();
                if entry.file_type().unwrap().is_dir() {
                    directories.push(entry.path());
                } else {
                    found.push(entry.path().to_string_lossy().into_owned());
                }
            }
        }
        found
    }

    /// Sends an order and returns the answers. The messages in `sent` arrive at once, and then the server disconnects.
    async fn order(&self, order: ExchangeOrder, sent: Vec<ExchangeToRunner>) -> Answered {
        let incoming = futures::stream::iter(sent).boxed();
        let (outgoing, mut answers) = mpsc::channel(4);
        let collect = async {
            let mut all = Vec::new();
            while let Some(answer) = answers.recv().await {
                all.push(answer);
            }
            all
        };
        let work =
            async move { self.files.carry_out(Arc::clone(&self.session), order, incoming, &outgoing).await };
        let (failed, all) = tokio::join!(work, collect);
        Answered { all, failed: failed.err() }
    }

    async fn upload(&self, order: UploadOrder, bytes: &[u8]) -> Result<Uploaded, ExchangeFailed> {
        let mut sent = chunks(0, bytes);
        sent.push(END);
        self.order(ExchangeOrder::Upload(order), sent).await.uploaded()
    }

    async fn download(&self, order: DownloadOrder) -> Result<Got, ExchangeFailed> {
        self.order(ExchangeOrder::Download(order), Vec::new()).await.downloaded()
    }

    async fn stat(&self, path: &str) -> Result<FileInfo, ExchangeFailed> {
        let (session_id, path) = (self.session.id, path.as_bytes().to_vec());
        let answered = self.order(ExchangeOrder::Stat { session_id, path }, Vec::new()).await;
        match answered.only()? {
            ExchangeFromRunner::File(info) => Ok(info),
            other => panic!("{other:?}"),
        }
    }

    async fn list(&self, order: ListOrder) -> Result<(Vec<FileInfo>, bool), ExchangeFailed> {
        match self.order(ExchangeOrder::List(order), Vec::new()).await.only()? {
            ExchangeFromRunner::Files { files, more } => Ok((files, more)),
            other => panic!("{other:?}"),
        }
    }

    async fn diff(&self, order: DiffOrder) -> Result<(Vec<FileChange>, bool), ExchangeFailed> {
        match self.order(ExchangeOrder::Diff(order), Vec::new()).await.only()? {
            ExchangeFromRunner::Changes { changes, more } => Ok((changes, more)),
            other => panic!("{other:?}"),
        }
    }

    /// Returns one line per change: its kind, and its path below the workspace.
    async fn changes(&self) -> Vec<String> {
        let (changes, more) = self.diff(self.diff_order("")).await.unwrap();
        assert!(!more);
        changes.iter().map(|change| told(&change.kind)).collect()
    }

    fn upload_order(&self, id: &str, path: &str, format: FileFormat) -> UploadOrder {
        UploadOrder {
            session_id: self.session.id,
            transfer_id: id.to_owned(),
            path: path.as_bytes().to_vec(),
            format,
            size: None,
            sha256: None,
            mode: 0,
        }
    }

    fn download_order(&self, id: &str, path: &str) -> DownloadOrder {
        DownloadOrder {
            session_id: self.session.id,
            transfer_id: id.to_owned(),
            resume: false,
            path: path.as_bytes().to_vec(),
            format: None,
            offset: 0,
            exclude: Vec::new(),
        }
    }

    fn list_order(&self, path: &str) -> ListOrder {
        ListOrder {
            session_id: self.session.id,
            path: path.as_bytes().to_vec(),
            recursive: false,
            after: Vec::new(),
            page_size: 1000,
            filter: FileFilter::default(),
        }
    }

    fn diff_order(&self, path: &str) -> DiffOrder {
        DiffOrder {
            session_id: self.session.id,
            path: path.as_bytes().to_vec(),
            after: Vec::new(),
            page_size: 1000,
            filter: FileFilter::default(),
            patch: false,
        }
    }

    async fn close_session(&self) {
        assert!(matches!(self.sessions.begin_close(&self.session.id), Closing::Begun(_)));
        self.files.end_session(&self.session).await;
        self.sessions.remove(&self.session).unwrap();
    }
}

const END: ExchangeToRunner = ExchangeToRunner::End { close: false };

fn chunk(offset: u64, data: &[u8]) -> ExchangeToRunner {
    ExchangeToRunner::Chunk { offset, data: Bytes::copy_from_slice(data) }
}

fn chunks(from: u64, bytes: &[u8]) -> Vec<ExchangeToRunner> {
    let offsets = (from..).step_by(PIECE);
    offsets.zip(bytes.chunks(PIECE)).map(|(offset, data)| chunk(offset, data)).collect()
}

/// Splits into chunks of the maximum size.
fn large_chunks(bytes: &[u8]) -> Vec<ExchangeToRunner> {
    let size = airlock_domain::limits::TRANSFER_CHUNK_BYTES;
    (0..).step_by(size).zip(bytes.chunks(size)).map(|(offset, data)| chunk(offset, data)).collect()
}

fn told(kind: &ChangeKind) -> String {
    let name = match kind {
        ChangeKind::Added { .. } => "A",
        ChangeKind::Modified { .. } => "M",
        ChangeKind::Deleted { .. } => "D",
    };
    let path = String::from_utf8_lossy(kind.path()).into_owned();
    format!("{name} {}", path.strip_prefix("/workspace/").unwrap())
}

#[derive(Debug)]
struct Answered {
    all: Vec<ExchangeFromRunner>,
    failed: Option<ExchangeFailed>,
}

/// The result of a download.
#[derive(Debug)]
struct Got {
    started: DownloadStarted,
    bytes: Vec<u8>,
    done: Downloaded,
}

impl Answered {
    fn only(mut self) -> Result<ExchangeFromRunner, ExchangeFailed> {
        if let Some(failed) = self.failed {
            assert!(self.all.is_empty());
            return Err(failed);
        }
        assert_eq!(self.all.len(), 1);
        Ok(self.all.remove(0))
    }

    fn ready(&self) -> Option<u64> {
        match self.all.first() {
            Some(ExchangeFromRunner::Ready { offset }) => Some(*offset),
            _ => None,
        }
    }

    fn uploaded(self) -> Result<Uploaded, ExchangeFailed> {
        match (self.failed, self.all.last()) {
            (Some(failed), _) => Err(failed),
            (None, Some(ExchangeFromRunner::Uploaded(uploaded))) => Ok(*uploaded),
            (None, other) => panic!("{other:?}"),
        }
    }

    /// Joins the chunks, and checks that they are contiguous.
    fn downloaded(self) -> Result<Got, ExchangeFailed> {
        if let Some(failed) = self.failed {
            return Err(failed);
        }
        let mut all = self.all.into_iter();
        let Some(ExchangeFromRunner::DownloadStarted(started)) = all.next() else { panic!("no start") };
        let (mut bytes, mut next) = (Vec::new(), None);
        for answer in all {
            match answer {
                ExchangeFromRunner::Chunk { offset, data } => {
                    assert_eq!(*next.get_or_insert(offset), offset);
                    next = Some(offset + data.len() as u64);
                    bytes.extend_from_slice(&data);
                }
                ExchangeFromRunner::Downloaded(done) => return Ok(Got { started, bytes, done }),
                other => panic!("{other:?}"),
            }
        }
        panic!("a download without an end")
    }
}

fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

fn reason(result: Result<impl std::fmt::Debug, ExchangeFailed>) -> String {
    result.unwrap_err().reason
}

/// Returns the limit that a failure names.
fn limit(result: Result<impl std::fmt::Debug, ExchangeFailed>) -> String {
    let failed = result.unwrap_err();
    assert!(!failed.message.contains('\n'), "{}", failed.message);
    match failed.failure {
        ExchangeFailure::Exhausted { limit, .. } => limit,
        other => panic!("{other:?}: {}", failed.message),
    }
}

/// Packs a directory into an archive.
fn tar(directory: &Path) -> Vec<u8> {
    let directory = Dir::open_ambient_dir(directory, ambient_authority()).unwrap();
    let options = Pack {
        exclude: &globs(&[]).unwrap(),
        left_out: &BTreeMap::new(),
        limits: &Limits::PATHS,
        cancel: &Cancel::new(),
    };
    let mut out = Vec::new();
    pack(&directory, Format::Tar, &mut out, &options).unwrap();
    out
}

/// Creates some directories, files and links.
fn project(root: &Path) {
    fs::create_dir_all(root.join("src/deep")).unwrap();
    fs::create_dir_all(root.join("empty")).unwrap();
    fs::write(root.join("README"), "one\ntwo\nthree\n").unwrap();
    fs::write(root.join("src/main.rs"), "fn main() {}\n").unwrap();
    fs::write(root.join("src/deep/data"), vec![0; 5000]).unwrap();
    fs::write(root.join("run"), "#!/bin/sh\n").unwrap();
    fs::set_permissions(root.join("run"), fs::Permissions::from_mode(0o755)).unwrap();
    std::os::unix::fs::symlink("src/main.rs", root.join("link")).unwrap();
}

/// Returns the files of a directory: mode, and content or target, by path.
fn tree(root: &Path) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    let mut found = BTreeMap::new();
    let mut directories = vec![root.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let stat = fs::symlink_metadata(&path).unwrap();
            let content = if stat.is_dir() {
                directories.push(path.clone());
                Vec::new()
            } else if stat.is_symlink() {
                std::os::unix::ffi::OsStringExt::into_vec(fs::read_link(&path).unwrap().into_os_string())
            } else {
                fs::read(&path).unwrap()
            };
            found.insert(path.strip_prefix(root).unwrap().to_owned(), (stat.permissions().mode(), content));
        }
    }
    found
}

/// Returns the paths of a listing, relative to the workspace.
fn names(files: &[FileInfo]) -> Vec<String> {
    let name = |info: &FileInfo| String::from_utf8_lossy(&info.path["/workspace/".len()..]).into_owned();
    files.iter().map(name).collect()
}

fn of_type(file_type: FileType) -> FileFilter {
    FileFilter { types: vec![file_type], ..FileFilter::default() }
}
