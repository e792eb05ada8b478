//! The ReadOutput call: returns parts of an output.

use airlock_control::{execution::Executions, model::Principal};
use airlock_output::stream::{OutputLine, ReadDone, ReadPart, Streams};
use airlock_proto::v1::{
    self, ExecutionServiceReadOutputRequest, ExecutionServiceReadOutputResponse,
    execution_service_read_output_response::Part,
};
use futures::StreamExt as _;
use tonic::Status;

use super::{call::refused, view::Responses};
use crate::validate;

/// Opens the stream of a read.
pub(super) async fn open(
    executions: &Executions,
    streams: &Streams,
    who: &Principal,
    request: ExecutionServiceReadOutputRequest,
) -> Result<Responses<ExecutionServiceReadOutputResponse>, Status> {
    let (id, request) = validate::read_output(request).map_err(refused)?;
    let record = executions.get(who, id).await.map_err(refused)?;
    let parts = streams.read_output(record, request).await.map_err(refused)?;
    Ok(Box::pin(parts.map(|part| part.map(to_wire).map_err(refused))))
}

fn to_wire(part: ReadPart) -> ExecutionServiceReadOutputResponse {
    let part = match part {
        ReadPart::Output { stream, offset, data } => {
            Part::Output(v1::Output { stream: v1::OutputStream::from(stream).into(), offset, data })
        }
        ReadPart::Gap { stream, from, to } => {
            Part::Gap(v1::Gap { stream: v1::OutputStream::from(stream).into(), from, to })
        }
        ReadPart::Line(line) => Part::Line(line_to_wire(line)),
        ReadPart::Done(ReadDone { next_offset, total, complete, matches, more }) => {
            Part::Done(v1::OutputDone { next_offset, total, complete, matches, more })
        }
    };
    ExecutionServiceReadOutputResponse { part: Some(part) }
}

fn line_to_wire(line: OutputLine) -> v1::OutputLine {
    let OutputLine { stream, offset, data, truncated, number, context, matches } = line;
    let matches = matches.into_iter().map(|(start, end)| v1::Span { start, end }).collect();
    let stream = v1::OutputStream::from(stream).into();
    v1::OutputLine { stream, offset, data, truncated, number, context, matches }
}
