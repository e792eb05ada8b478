//! WriteStdin: the input of a running command.

use airlock_proto::v1::{ExecutionServiceWriteStdinRequest, ExecutionServiceWriteStdinResponse};
use tonic::{Status, Streaming};

use super::Edge;
use crate::{model::Principal, status};

/// Passes on what a client writes, until it ends its stream.
pub(super) async fn write(
    _edge: &Edge,
    _who: &Principal,
    _incoming: Streaming<ExecutionServiceWriteStdinRequest>,
) -> Result<ExecutionServiceWriteStdinResponse, Status> {
    Err(status::adopt(tonic::Code::Unimplemented, ""))
}
