//! Exchange: the work on files and input, between the wire of a runner and the exchanges.

use airlock_proto::runner_v1::{ExchangeRequest, ExchangeResponse};
use tonic::{Status, Streaming};

use super::{Edge, view::Responses};
use crate::{authn::Caller, status};

/// Opens an exchange for the one who waits for its ticket.
pub(super) async fn open(
    _edge: &Edge,
    _caller: &Caller,
    _incoming: Streaming<ExchangeRequest>,
) -> Result<Responses<ExchangeResponse>, Status> {
    Err(status::adopt(tonic::Code::Unimplemented, ""))
}
