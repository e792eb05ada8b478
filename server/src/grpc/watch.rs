//! The Watch call: returns the milestones of many executions.

use airlock_proto::v1::{ExecutionServiceWatchRequest, ExecutionServiceWatchResponse, WatchKind};
use airlock_store::record::Milestone;
use futures::StreamExt as _;
use tonic::Status;

use super::{call::refused, records, view::Responses};
use crate::{api::WatchEvent, model::Principal, validate, watch::Watches};

/// Opens a watch.
pub(super) async fn open(
    watches: &Watches,
    who: &Principal,
    request: &ExecutionServiceWatchRequest,
) -> Result<Responses<ExecutionServiceWatchResponse>, Status> {
    let request = validate::watch(request).map_err(refused)?;
    let events = watches.open(who, request).await.map_err(refused)?;
    Ok(Box::pin(events.map(|event| event.map(to_wire).map_err(refused))))
}

fn to_wire(event: WatchEvent) -> ExecutionServiceWatchResponse {
    let kind = match event.what {
        None => WatchKind::Unspecified,
        Some((Milestone::Started, _)) => WatchKind::Started,
        Some((Milestone::Backgrounded, _)) => WatchKind::Backgrounded,
        Some((Milestone::Finished, _)) => WatchKind::Finished,
    };
    ExecutionServiceWatchResponse {
        cursor: event.cursor.into(),
        kind: kind.into(),
        execution: event.what.map(|(_, record)| records::execution(*record)),
    }
}
