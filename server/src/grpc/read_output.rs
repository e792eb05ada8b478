//! ReadOutput: parts of an output on demand.

use airlock_proto::v1::{ExecutionServiceReadOutputRequest, ExecutionServiceReadOutputResponse};
use tonic::Status;

use super::{Edge, view::Responses};
use crate::{model::Principal, status};

/// Answers a read.
pub(super) async fn open(
    _edge: &Edge,
    _who: &Principal,
    _request: ExecutionServiceReadOutputRequest,
) -> Result<Responses<ExecutionServiceReadOutputResponse>, Status> {
    Err(status::adopt(tonic::Code::Unimplemented, ""))
}
