//! The Watch call: returns the milestones of many executions.

use airlock_proto::v1::{ExecutionServiceWatchRequest, ExecutionServiceWatchResponse, WatchKind};
use futures::StreamExt as _;
use tonic::Status;

use super::{Edge, records, refused, view::Responses};
use crate::{
    api::WatchEvent,
    model::{Milestone, Principal},
    validate,
};

/// Opens a watch.
pub(super) async fn open(
    edge: &Edge,
    who: &Principal,
    request: &ExecutionServiceWatchRequest,
) -> Result<Responses<ExecutionServiceWatchResponse>, Status> {
    let request = validate::watch(request).map_err(refused)?;
    let events = edge.engine.watch(who, request).await.map_err(refused)?;
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
