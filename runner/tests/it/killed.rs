//! Tests that kill the runner during an upload: the received part is resumed, and in the end the workspace contains
//! exactly the sent files.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use airlock_archive::{Cancel, Format, Limits, Pack, TEMPORARY_PREFIX, globs, pack};
use airlock_domain::{
    DiffOrder, ExchangeFromRunner, ExchangeOrder, ExchangeToRunner, FileFilter, FileFormat, SessionId,
    UploadOrder, Uploaded, limits::TRANSFER_CHUNK_BYTES,
};
use cap_std::{ambient_authority, fs::Dir};

use crate::{
    fake::{Exchange, FakeServer, Manners},
    fixture::{Fixture, grant, uids, until},
    process::{Process, fixture, write_config},
};

const FILES: usize = 3000;
const END: ExchangeToRunner = ExchangeToRunner::End { close: false };

/// Creates an archive of files in directories, each with different contents.
fn archive() -> Vec<u8> {
    let source = tempfile::tempdir().unwrap();
    for index in 0..FILES {
        let directory = source.path().join((index % 30).to_string());
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join(index.to_string()), content(index)).unwrap();
    }
    let source = Dir::open_ambient_dir(source.path(), ambient_authority()).unwrap();
    let options = Pack {
        exclude: &globs(&[]).unwrap(),
        left_out: &BTreeMap::new(),
        limits: &Limits::PATHS,
        cancel: &Cancel::new(),
    };
    let mut out = Vec::new();
    pack(&source, Format::Tar, &mut out, &options).unwrap();
    out
}

fn content(index: usize) -> String {
    format!("{index}\n").repeat(300)
}

/// Returns the files below a directory.
fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut directories = vec![directory.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
            (if is_directory { &mut directories } else { &mut found }).push(entry.path());
        }
    }
    found
}

/// One upload to a runner that is killed repeatedly.
struct Killed {
    it: Fixture,
    config: PathBuf,
    process: Process,
    session: SessionId,
    archive: Vec<u8>,
    /// The number of uploads that ended before their runner was killed.
    late: usize,
}

impl Killed {
    async fn new() -> Self {
        let dir = airlock_mounts::ScratchDir::new();
        let server = FakeServer::start(Manners::default()).await;
        let config = write_config(dir.path(), &server);
        let process = Process::start(&config);
        let mut it = fixture(server, dir).await;
        let session = it.open("").await;
        Self { it, config, process, session, archive: archive(), late: 0 }
    }

    async fn kill_and_restart(&mut self) {
        self.process.0.kill().unwrap();
        self.process.0.wait().unwrap();
        self.process = Process::start(&self.config);
        self.it.next_link().await;
        self.it.reconciled().await;
    }

    /// Opens the upload's stream. Returns it with the offset at which it continues.
    async fn begin(&mut self) -> (Exchange, usize) {
        let order = UploadOrder {
            session_id: self.session,
            transfer_id: format!("t{}", self.late),
            path: b"/workspace/project".to_vec(),
            format: FileFormat::Tar,
            size: Some(self.archive.len() as u64),
            sha256: None,
            mode: 0,
        };
        let mut exchange = self.it.order(ExchangeOrder::Upload(order)).await;
        match exchange.next().await {
            Some(ExchangeFromRunner::Ready { offset }) => (exchange, usize::try_from(offset).unwrap()),
            other => panic!("{other:?}"),
        }
    }

    async fn send(&self, exchange: &Exchange, from: usize, to: usize) {
        for (index, part) in self.archive.get(from..to).unwrap().chunks(TRANSFER_CHUNK_BYTES).enumerate() {
            exchange.write((from + index * TRANSFER_CHUNK_BYTES) as u64, part.to_vec()).await;
        }
    }

    fn staged(&self) -> usize {
        let bytes = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "bytes");
        let staged = files(&self.it.state("transfers")).into_iter().filter(bytes);
        staged
            .filter_map(|path| fs::metadata(path).ok())
            .map(|found| usize::try_from(found.len()).unwrap())
            .sum()
    }

    fn project(&self) -> PathBuf {
        let mut sessions = fs::read_dir(self.it.state("sessions")).unwrap();
        sessions.next().unwrap().unwrap().path().join("disk/workspace/project")
    }

    async fn finish(&mut self) -> Uploaded {
        let (mut exchange, staged) = self.begin().await;
        self.send(&exchange, staged, self.archive.len()).await;
        exchange.send(END).await;
        match exchange.next().await {
            Some(ExchangeFromRunner::Uploaded(uploaded)) => uploaded,
            other => panic!("{other:?}"),
        }
    }

    /// Checks that every file exists once, belongs to the session, and is recorded as uploaded.
    async fn assert_whole(&mut self, uploaded: Uploaded) {
        assert_eq!((uploaded.files, uploaded.received), (FILES as u64, self.archive.len() as u64));
        let found = files(&self.project());
        assert_eq!(found.len(), FILES);
        for path in found {
            let index = path.file_name().unwrap().to_str().unwrap().parse().unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), content(index), "{}", path.display());
            let owner = fs::metadata(&path).unwrap().uid();
            assert!((uids().first..uids().first + uids().count).contains(&owner), "{owner}");
        }
        let order = DiffOrder {
            session_id: self.session,
            path: Vec::new(),
            after: Vec::new(),
            page_size: 1000,
            filter: FileFilter::default(),
            patch: false,
        };
        let mut exchange = self.it.order(ExchangeOrder::Diff(order)).await;
        match exchange.next().await {
            Some(ExchangeFromRunner::Changes { changes, more: false }) => assert_eq!(changes, []),
            other => panic!("{other:?}"),
        }
        assert_eq!(self.it.said(grant(self.session, "find . -type f | wc -l")).await, format!("{FILES}\n"));
        assert_eq!(self.staged(), 0, "its bytes were removed");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_survives_the_runner_s_death_while_its_bytes_come() {
    let mut it = Killed::new().await;
    let part = it.archive.len() / 4;
    let mut before = 0;
    for round in 1..=3 {
        let (exchange, staged) = it.begin().await;
        assert!(staged >= before && staged < it.archive.len(), "{staged} after {before}");
        it.send(&exchange, staged, part * round).await;
        // Kill the runner while it receives the bytes of this round.
        until("bytes come", || it.staged() > part * (round - 1)).await;
        before = it.staged();
        it.kill_and_restart().await;
    }
    assert!(before > part, "{before} of {}", it.archive.len());
    let (exchange, staged) = it.begin().await;
    assert!(staged >= before, "{staged} after {before}");
    drop(exchange);
    assert!(!it.project().exists(), "no file is created before all data has arrived");
    let uploaded = it.finish().await;
    it.assert_whole(uploaded).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_survives_the_runner_s_death_while_it_is_put_into_the_workspace() {
    let mut it = Killed::new().await;
    for put in [1, FILES / 3, FILES / 2] {
        let found = loop {
            let (exchange, staged) = it.begin().await;
            it.send(&exchange, staged, it.archive.len()).await;
            exchange.send(END).await;
            until("files come", || files(&it.project()).len() >= put).await;
            it.kill_and_restart().await;
            let found = files(&it.project());
            if found.len() < FILES {
                break found;
            }
            // On a busy host the kill may be too late. Then repeat it with another upload.
            it.late += 1;
            assert!(it.late < 20, "the upload always ends before the process dies");
            airlock_mounts::remove_tree(it.project()).unwrap();
        };
        let temporary = |path: &&PathBuf| path.to_string_lossy().contains(TEMPORARY_PREFIX);
        assert_eq!(found.iter().find(temporary), None, "half a file remains");
        assert_eq!(it.staged(), it.archive.len(), "the bytes are kept");
        airlock_mounts::remove_tree(it.project()).unwrap();
    }
    let uploaded = it.finish().await;
    it.assert_whole(uploaded).await;
    // The answer is kept, too.
    it.kill_and_restart().await;
    let (mut exchange, staged) = it.begin().await;
    assert_eq!(staged, it.archive.len());
    exchange.send(END).await;
    assert_eq!(exchange.next().await, Some(ExchangeFromRunner::Uploaded(uploaded)));
}
