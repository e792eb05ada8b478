//! Upload. Bytes are staged until they are complete and checked, and only then put into the session. This step
//! continues if the client disconnects, so an upload succeeds even over a connection that breaks often. It ends with
//! the session, with the runner, or `transfers.keep` after the client has disconnected.

use std::{sync::Arc, time::Duration};

use airlock_archive::Cancel;
use airlock_domain::{
    ExchangeFailed, ExchangeFailure, ExchangeFromRunner, ExchangeToRunner, UploadOrder, Uploaded,
    limits::TRANSFER_ID_BYTES,
};
use bytes::Bytes;
use futures::StreamExt;
use tokio::{sync::OwnedMutexGuard, task::spawn_blocking, time::timeout};

use super::{
    failure::{failed, internal, invalid, unavailable},
    put::{self, Target},
    transfers::{
        Attached, Outcome, Phase, Slot, StageFile, Transfer, TransferKey, UploadKey, append_bytes,
        store_answer,
    },
    work::{Registered, Shared},
};
use crate::{
    exchange::{Incoming, Outgoing},
    session::OpenSession,
};

/// The time for which a stream waits for an earlier one of the same transfer that has not ended yet.
const IN_USE_WAIT: Duration = Duration::from_secs(2);

/// The right to write a transfer's bytes. Dropping it closes the file.
struct Writing(OwnedMutexGuard<StageFile>);

impl Drop for Writing {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Receives an upload's bytes and puts them into the session. A disconnected server is not an error.
pub(super) async fn receive(
    shared: &Arc<Shared>,
    session: &Arc<OpenSession>,
    order: UploadOrder,
    mut incoming: Incoming,
    outgoing: &Outgoing,
) -> Result<(), ExchangeFailed> {
    let order = Arc::new(order);
    let attached = attach(shared, session, &order).await?;
    let transfer = &attached.transfer;
    let stage = timeout(IN_USE_WAIT, Arc::clone(&transfer.stage).lock_owned()).await;
    let mut writing = Writing(stage.map_err(|_| {
        unavailable("TRANSFER_IN_USE", "another stream uses this transfer; wait for it to end, then continue")
    })?);
    let staged = transfer.progress.borrow().staged;
    if staged == 0 && may_grow(shared, session, transfer, &order, 0).await.is_ok() {
        // Creates the file, even if no byte arrives.
        writing = append(shared, transfer, writing, Bytes::new(), shared.work.register(session)?).await?;
    }
    let ready = ExchangeFromRunner::Ready { offset: staged };
    if outgoing.send(ready).await.is_err() {
        return Ok(());
    }
    loop {
        match incoming.next().await {
            None => return Ok(()),
            Some(ExchangeToRunner::Chunk { offset, data }) => {
                let Some(new) = new_bytes(transfer, offset, &data)? else { continue };
                may_grow(shared, session, transfer, &order, new.len()).await?;
                let registered = shared.work.register(session)?;
                writing = append(shared, transfer, writing, new, registered).await?;
            }
            Some(ExchangeToRunner::End { .. }) => break,
            Some(ExchangeToRunner::Order(_)) => {
                return Err(invalid(
                    "SECOND_ORDER",
                    "an exchange accepts one order; open another exchange for the next order",
                ));
            }
        }
    }
    let staged = transfer.progress.borrow().staged;
    if let Some(size) = order.size.filter(|size| staged < *size) {
        let message = format!("the bytes ended at {staged} of {size}; continue at that offset");
        return Err(failed(ExchangeFailure::OutOfRange { end: staged }, "UPLOAD_INCOMPLETE", message));
    }
    let uploaded = finish(shared, session, &attached, &order).await?;
    let transfer = Arc::clone(transfer);
    // A client that has the answer may begin its next transfer.
    drop((writing, attached));
    if outgoing.send(ExchangeFromRunner::Uploaded(uploaded)).await.is_ok() {
        transfer.settle();
    }
    Ok(())
}

async fn attach(
    shared: &Arc<Shared>,
    session: &Arc<OpenSession>,
    order: &Arc<UploadOrder>,
) -> Result<Attached, ExchangeFailed> {
    if order.transfer_id.is_empty() || order.transfer_id.len() > TRANSFER_ID_BYTES {
        let message = format!("a transfer_id has 1 to {TRANSFER_ID_BYTES} bytes");
        return Err(invalid("TRANSFER_ID_INVALID", message));
    }
    let target = Target::of(order)?;
    let registered = shared.work.register(session)?;
    let (shared, session, order) = (Arc::clone(shared), Arc::clone(session), Arc::clone(order));
    let thread = spawn_blocking(move || {
        let _registered = registered;
        let what = TransferKey::Upload(UploadKey::of(&order));
        let (attached, new) = shared.transfers.attach(session.id, &order.transfer_id, what, true)?;
        if new && let Err(error) = target.look(&session) {
            shared.transfers.remove(session.id, &attached.transfer);
            return Err(error);
        }
        Ok(attached)
    });
    thread.await.unwrap_or_else(|error| Err(internal("begin an upload", &error)))
}

/// Returns the part of a chunk that was not received before.
fn new_bytes(transfer: &Transfer, offset: u64, data: &Bytes) -> Result<Option<Bytes>, ExchangeFailed> {
    let staged = transfer.progress.borrow().staged;
    let Some(known) = staged.checked_sub(offset) else {
        let message = format!(
            "the chunk begins at {offset}, but the runner has {staged} bytes; continue at that offset"
        );
        return Err(failed(ExchangeFailure::OutOfRange { end: staged }, "CHUNK_OUT_OF_RANGE", message));
    };
    let known = usize::try_from(known).unwrap_or(usize::MAX);
    Ok((known < data.len()).then(|| data.slice(known..)))
}

/// Checks whether more bytes may be received.
async fn may_grow(
    shared: &Arc<Shared>,
    session: &Arc<OpenSession>,
    transfer: &Arc<Transfer>,
    order: &UploadOrder,
    more: usize,
) -> Result<(), ExchangeFailed> {
    let (staged, complete) = {
        let progress = transfer.progress.borrow();
        (progress.staged, matches!(progress.phase, Phase::Working | Phase::Done(_)))
    };
    if complete {
        let message =
            format!("the upload is complete with {staged} bytes; use a new transfer_id for other bytes");
        return Err(invalid("UPLOAD_COMPLETE", message));
    }
    match order.size {
        Some(size) if staged.saturating_add(more as u64) > size => {
            remove(shared, session, transfer).await;
            Err(invalid(
                "SIZE_MISMATCH",
                format!("received more than the announced {size} bytes; start a new upload"),
            ))
        }
        _ => Ok(()),
    }
}

async fn remove(shared: &Arc<Shared>, session: &Arc<OpenSession>, transfer: &Arc<Transfer>) {
    let (shared, id, transfer) = (Arc::clone(shared), session.id, Arc::clone(transfer));
    if let Err(error) = spawn_blocking(move || shared.transfers.remove(id, &transfer)).await {
        tracing::error!(%error, "cannot remove a transfer");
    }
}

/// Appends bytes on a blocking thread. The lock is passed to the thread and returned, so that no other writer can
/// interleave.
async fn append(
    shared: &Arc<Shared>,
    transfer: &Arc<Transfer>,
    mut writing: Writing,
    data: Bytes,
    registered: Registered,
) -> Result<Writing, ExchangeFailed> {
    let (shared, transfer) = (Arc::clone(shared), Arc::clone(transfer));
    let thread = spawn_blocking(move || {
        let _registered = registered;
        append_bytes(&mut writing.0, &shared.transfers, &transfer, &data)?;
        Ok(writing)
    });
    thread.await.unwrap_or_else(|error| Err(internal("write an upload", &error)))
}

/// Puts the upload into the session, or waits for the stream that does, or repeats the answer.
async fn finish(
    shared: &Arc<Shared>,
    session: &Arc<OpenSession>,
    attached: &Attached,
    order: &Arc<UploadOrder>,
) -> Result<Uploaded, ExchangeFailed> {
    let transfer = &attached.transfer;
    let mut progress = transfer.progress.subscribe();
    let begins = transfer.progress.send_if_modified(|progress| {
        let begins = matches!(progress.phase, Phase::Open | Phase::Failed(_));
        if begins {
            progress.phase = Phase::Working;
        }
        begins
    });
    if begins {
        let cancel = transfer.begin_work();
        let (shared, session, order) = (Arc::clone(shared), Arc::clone(session), Arc::clone(order));
        let tasks = shared.work.tasks.clone();
        tasks.spawn(put_in(shared, session, Arc::clone(transfer), order, (cancel, attached.slot())));
    }
    let over =
        progress.wait_for(|progress| matches!(progress.phase, Phase::Done(_) | Phase::Failed(_))).await;
    match over.map(|progress| progress.phase.clone()) {
        Ok(Phase::Done(Outcome::Uploaded(uploaded))) => Ok(uploaded),
        Ok(Phase::Failed(error)) => Err(error),
        other => Err(internal("finish an upload", &format!("{:?}", other.is_ok()))),
    }
}

async fn put_in(
    shared: Arc<Shared>,
    session: Arc<OpenSession>,
    transfer: Arc<Transfer>,
    order: Arc<UploadOrder>,
    (cancel, slot): (Cancel, Slot),
) {
    let work = {
        let (shared, session, transfer) = (Arc::clone(&shared), Arc::clone(&session), Arc::clone(&transfer));
        let cancel = cancel.clone();
        move || {
            let done = put::put(&shared, &session, &transfer, &order, &cancel);
            drop(slot);
            let done = done.and_then(|uploaded| {
                store_answer(&shared.transfers, &transfer, uploaded)?;
                // Set here, so that a waiter for the end of the work sees it.
                let phase = Phase::Done(Outcome::Uploaded(uploaded));
                transfer.progress.send_modify(|progress| progress.phase = phase);
                Ok(())
            });
            if done.as_ref().is_err_and(|error| is_final(&error.failure)) {
                shared.transfers.remove(session.id, &transfer);
            }
            done
        }
    };
    if let Err(error) = shared.work.run(&session, &cancel, work).await {
        transfer.progress.send_modify(|progress| progress.phase = Phase::Failed(error));
    }
}

/// Reports whether the same bytes can never be accepted.
fn is_final(failure: &ExchangeFailure) -> bool {
    match failure {
        ExchangeFailure::Invalid => true,
        ExchangeFailure::Exhausted { limit, .. } => limit.starts_with("transfers."),
        _ => false,
    }
}
