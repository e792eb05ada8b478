//! The transfers in progress or kept: their sessions, progress and expiry. Their bytes are in files of the runner,
//! outside every workspace. The bytes of an upload survive the process.

mod saved;
mod stage;
mod table;
mod transfer;

pub(super) use stage::{StageWriter, append_bytes, open_reader, store_answer};
pub(super) use table::Transfers;
pub(super) use transfer::{
    Attached, DownloadKey, Outcome, Phase, Progress, Slot, StageFile, Transfer, TransferKey, UploadKey,
};
