//! Watch: the starts and ends of executions, as they happen.

use airlock_proto::v1::{ExecutionServiceWatchRequest, ExecutionServiceWatchResponse};
use tonic::Status;

use super::{Edge, view::Responses};
use crate::{model::Principal, status};

/// Opens a watch.
pub(super) async fn open(
    _edge: &Edge,
    _who: &Principal,
    _request: ExecutionServiceWatchRequest,
) -> Result<Responses<ExecutionServiceWatchResponse>, Status> {
    Err(status::adopt(tonic::Code::Unimplemented, ""))
}
