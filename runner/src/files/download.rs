//! Download. The selected files are packed into a staged file of the runner, which is sent while it grows. A client
//! that resumes therefore gets the bytes of the first packing. Packing continues if the client disconnects. It ends
//! with the session, with the runner, or `transfers.keep` after the client has disconnected.

use std::{
    fs::File,
    io::{BufWriter, Read, Write},
    os::{
        fd::{AsFd, OwnedFd},
        unix::fs::FileExt,
    },
    sync::Arc,
};

use airlock_archive::{Cancel, Format, Limits, Pack, pack};
use airlock_domain::{
    DownloadOrder, DownloadStarted, Downloaded, ExchangeFailed, ExchangeFailure, ExchangeFromRunner,
    FileFormat, FileType, SkippedFile,
    limits::{SKIPPED_FILES, TRANSFER_ID_BYTES},
};
use bytes::Bytes;
use cap_std::fs::Dir;
use rustix::fs::Stat;
use tokio::task::spawn_blocking;

use super::{
    failure::{
        changed_meanwhile, failed, internal, invalid, is_a_directory, not_a_directory, of_archive, of_own_io,
        of_path, precondition, shown, unavailable,
    },
    paths::Inside,
    quarantine::{LeftOut, PlantedIn},
    root::{Root, info},
    select::patterns,
    transfers::{
        Attached, DownloadKey, Outcome, Phase, Progress, StageWriter, Transfer, TransferKey, open_reader,
    },
    work::Shared,
};
use crate::{exchange::Outgoing, session::OpenSession};

/// The number of bytes read and sent at once.
const CHUNK: usize = 128 << 10;
/// The buffer size for reading a file.
const BUFFER: usize = 128 << 10;

/// Sends a download from `order.offset` on. A disconnected server is not an error.
pub(super) async fn send(
    shared: &Arc<Shared>,
    session: &Arc<OpenSession>,
    order: DownloadOrder,
    outgoing: &Outgoing,
) -> Result<(), ExchangeFailed> {
    let order = Arc::new(order);
    let attached = attach(shared, session, &order).await?;
    let transfer = &attached.transfer;
    let mut progress = transfer.progress.subscribe();
    let started =
        |progress: &Progress| progress.started.is_some() || matches!(progress.phase, Phase::Failed(_));
    let first = until(&mut progress, outgoing, started).await?;
    let Some(first) = first else { return Ok(()) };
    if let (Phase::Failed(error), None) = (&first.phase, &first.started) {
        return Err(error.clone());
    }
    if let Some(started) = first.started
        && outgoing.send(ExchangeFromRunner::DownloadStarted(started)).await.is_err()
    {
        return Ok(());
    }
    let mut bytes: Option<Arc<File>> = None;
    let mut offset = order.offset;
    loop {
        let due = |progress: &Progress| {
            progress.staged > offset || matches!(progress.phase, Phase::Done(_) | Phase::Failed(_))
        };
        let Some(now) = until(&mut progress, outgoing, due).await? else { return Ok(()) };
        if now.staged > offset {
            let (file, data) = read(transfer, bytes.take(), offset, now.staged).await?;
            bytes = Some(file);
            let next = offset.saturating_add(data.len() as u64);
            if outgoing.send(ExchangeFromRunner::Chunk { offset, data }).await.is_err() {
                return Ok(());
            }
            offset = next;
            continue;
        }
        return match now.phase {
            Phase::Done(Outcome::Downloaded(done)) if offset == done.size => {
                let transfer = Arc::clone(transfer);
                // A client that has the answer may begin its next transfer.
                drop(attached);
                if outgoing.send(ExchangeFromRunner::Downloaded(done)).await.is_ok() {
                    transfer.settle();
                }
                Ok(())
            }
            Phase::Done(Outcome::Downloaded(done)) => {
                let message = format!("the offset {offset} is past the end at {}", done.size);
                Err(failed(ExchangeFailure::OutOfRange { end: done.size }, "OFFSET_OUT_OF_RANGE", message))
            }
            Phase::Failed(error) => Err(error),
            other => Err(internal("end a download", &format!("{other:?}").len())),
        };
    }
}

/// Waits until the transfer has progressed far enough. `None` if the server disconnects before.
async fn until(
    progress: &mut tokio::sync::watch::Receiver<Progress>,
    outgoing: &Outgoing,
    far_enough: impl FnMut(&Progress) -> bool,
) -> Result<Option<Progress>, ExchangeFailed> {
    tokio::select! {
        found = progress.wait_for(far_enough) => match found {
            Ok(found) => Ok(Some(found.clone())),
            Err(error) => Err(internal("follow a download", &error)),
        },
        () = outgoing.closed() => Ok(None),
    }
}

async fn read(
    transfer: &Arc<Transfer>,
    bytes: Option<Arc<File>>,
    offset: u64,
    staged: u64,
) -> Result<(Arc<File>, Bytes), ExchangeFailed> {
    let transfer = Arc::clone(transfer);
    let thread = spawn_blocking(move || {
        let file = match bytes {
            Some(file) => file,
            None => Arc::new(open_reader(&transfer)?),
        };
        let most = usize::try_from(staged.saturating_sub(offset)).unwrap_or(CHUNK).min(CHUNK);
        let mut data = vec![0; most];
        file.read_exact_at(&mut data, offset).map_err(|error| of_own_io("read a transfer", &error))?;
        Ok((file, Bytes::from(data)))
    });
    thread.await.unwrap_or_else(|error| Err(internal("read a transfer", &error)))
}

/// Finds the download, or starts to pack it.
async fn attach(
    shared: &Arc<Shared>,
    session: &Arc<OpenSession>,
    order: &Arc<DownloadOrder>,
) -> Result<Attached, ExchangeFailed> {
    if order.transfer_id.is_empty() || order.transfer_id.len() > TRANSFER_ID_BYTES {
        let message = format!("a transfer_id has 1 to {TRANSFER_ID_BYTES} bytes");
        return Err(invalid("TRANSFER_ID_INVALID", message));
    }
    Inside::parse(&order.path)?;
    patterns("exclude", &order.exclude)?;
    if order.offset > 0 && !order.resume {
        return Err(invalid(
            "OFFSET_WITHOUT_TRANSFER",
            "an offset requires the transfer_id of an existing download",
        ));
    }
    let registered = shared.work.register(session)?;
    let (table, id, wanted) = (Arc::clone(shared), session.id, Arc::clone(order));
    let thread = spawn_blocking(move || {
        let _registered = registered;
        let what = TransferKey::Download(DownloadKey::of(&wanted));
        table.transfers.attach(id, &wanted.transfer_id, what, !wanted.resume)
    });
    let (attached, new) = thread.await.unwrap_or_else(|error| Err(internal("begin a download", &error)))?;
    if new {
        begin(shared, session, &attached, order);
    }
    Ok(attached)
}

fn begin(shared: &Arc<Shared>, session: &Arc<OpenSession>, attached: &Attached, order: &Arc<DownloadOrder>) {
    let transfer = Arc::clone(&attached.transfer);
    transfer.progress.send_modify(|progress| progress.phase = Phase::Working);
    let (cancel, slot) = (transfer.begin_work(), attached.slot());
    let (shared, session, order) = (Arc::clone(shared), Arc::clone(session), Arc::clone(order));
    let work = {
        let (shared, session, transfer) = (Arc::clone(&shared), Arc::clone(&session), Arc::clone(&transfer));
        let cancel = cancel.clone();
        move || {
            let done = stage(&shared, &session, &transfer, &order, &cancel);
            drop(slot);
            match done {
                // Set here, so that a waiter for the end of the work sees it.
                Ok(done) => {
                    let phase = Phase::Done(Outcome::Downloaded(done));
                    transfer.progress.send_modify(|progress| progress.phase = phase);
                    Ok(())
                }
                Err(error) => {
                    shared.transfers.remove(session.id, &transfer);
                    Err(error)
                }
            }
        }
    };
    let tasks = shared.work.tasks.clone();
    tasks.spawn(async move {
        if let Err(error) = shared.work.run(&session, &cancel, work).await {
            transfer.progress.send_modify(|progress| progress.phase = Phase::Failed(error));
        }
    });
}

/// Packs the files. Blocks until done.
fn stage(
    shared: &Shared,
    session: &OpenSession,
    transfer: &Arc<Transfer>,
    order: &DownloadOrder,
    cancel: &Cancel,
) -> Result<Downloaded, ExchangeFailed> {
    let at = Inside::parse(&order.path)?;
    let mut writer = StageWriter::new(&shared.transfers, Arc::clone(transfer));
    // An empty download needs a file too.
    writer.open()?;
    let planted = PlantedIn::look(session, &at)?;
    Root::enter(session, at.root(), |root| pack_into(shared, root, writer, &at, order, (cancel, &planted)))
}

fn pack_into(
    shared: &Shared,
    root: &Root,
    writer: StageWriter<'_>,
    at: &Inside,
    order: &DownloadOrder,
    (cancel, planted): (&Cancel, &PlantedIn),
) -> Result<Downloaded, ExchangeFailed> {
    let (source, stat) = root.content(at).map_err(|errno| of_path(&at.absolute(), errno))?;
    let info = info(at.absolute(), &stat, Vec::new());
    let format = match (info.file_type, order.format) {
        (FileType::Regular, None | Some(FileFormat::File)) => FileFormat::File,
        (FileType::Regular, Some(_)) => {
            return Err(not_a_directory(
                &info.path,
                "download it as a file, or download its parent directory",
            ));
        }
        (FileType::Directory, Some(FileFormat::File)) => {
            return Err(is_a_directory(&info.path, "download it as a tar archive"));
        }
        (FileType::Directory, format) => format.unwrap_or(FileFormat::Tar),
        (FileType::Symlink | FileType::Other, _) => {
            let said =
                format!("`{}` is a socket or a named pipe, which has no content to send", shown(&info.path));
            return Err(precondition("NOT_A_FILE", said));
        }
    };
    let left_out = match format {
        FileFormat::File => LeftOut::new(),
        FileFormat::Tar | FileFormat::TarGzip => {
            let is_at = root.current_path(source.as_fd()).ok_or_else(|| changed_meanwhile(&info.path))?;
            planted.below(&is_at)
        }
    };
    writer.started(DownloadStarted { format, info });
    let archive = match format {
        FileFormat::File => return file(source, &stat, writer, at, cancel),
        FileFormat::Tar => Format::Tar,
        FileFormat::TarGzip => Format::TarGzip,
    };
    directory(shared, source, archive, writer, at, order, (cancel, &left_out))
}

/// Copies at most the initial size of the file, even if it grows meanwhile.
fn file(
    source: OwnedFd,
    stat: &Stat,
    mut writer: StageWriter<'_>,
    at: &Inside,
    cancel: &Cancel,
) -> Result<Downloaded, ExchangeFailed> {
    let mut source = File::from(source).take(u64::try_from(stat.st_size).unwrap_or(0));
    let mut buffer = vec![0; BUFFER];
    let mut size = 0;
    loop {
        if cancel.is_cancelled() {
            return Err(unavailable("CANCELLED", "the download was ended; start a new one"));
        }
        let got = source.read(&mut buffer).map_err(|error| {
            let errno = rustix::io::Errno::from_io_error(&error).unwrap_or(rustix::io::Errno::IO);
            of_path(&at.absolute(), errno)
        })?;
        if got == 0 {
            break;
        }
        let written = writer.write_all(buffer.get(..got).unwrap_or_default());
        written
            .map_err(|error| writer.take_stopped().unwrap_or_else(|| of_own_io("keep a download", &error)))?;
        size += got as u64;
    }
    Ok(Downloaded {
        size,
        sha256: writer.finish(),
        files: 1,
        directories: 0,
        links: 0,
        skipped: Vec::new(),
        skipped_total: 0,
    })
}

fn directory(
    shared: &Shared,
    source: OwnedFd,
    format: Format,
    mut writer: StageWriter<'_>,
    at: &Inside,
    order: &DownloadOrder,
    (cancel, left_out): (&Cancel, &LeftOut),
) -> Result<Downloaded, ExchangeFailed> {
    let config = &shared.transfers.config;
    let limits = Limits { entries: config.entries, bytes: config.unpacked_bytes, ..Limits::PATHS };
    let exclude = patterns("exclude", &order.exclude)?;
    let source = Dir::from_std_file(File::from(source));
    let options = Pack { exclude: &exclude, left_out, limits: &limits, cancel };
    let mut out = BufWriter::with_capacity(CHUNK, &mut writer);
    let packed = pack(&source, format, &mut out, &options);
    let flushed = out.flush();
    drop(out);
    let packed = packed.map_err(|error| of_archive(&error, writer.take_stopped()))?;
    flushed.map_err(|error| writer.take_stopped().unwrap_or_else(|| of_own_io("keep a download", &error)))?;
    let skipped = packed
        .skipped
        .iter()
        .take(SKIPPED_FILES)
        .map(|skipped| SkippedFile { path: at.below(&skipped.path), reason: skipped.reason.to_owned() });
    Ok(Downloaded {
        size: writer.written(),
        skipped: skipped.collect(),
        skipped_total: packed.skipped_total,
        files: packed.counts.files,
        directories: packed.counts.directories,
        links: packed.counts.links,
        sha256: writer.finish(),
    })
}
