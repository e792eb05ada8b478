//! Conversion of the messages of an output stream.

use super::error::{ConvertError, parsed, required};
use crate::{
    runner_v1 as wire,
    runner_v1::{push_output_request::Message as Up, push_output_response::Message as Down},
    v1,
};
use airlock_domain::{PushFromRunner, PushToRunner, limits::CHUNK_BYTES};

impl From<PushFromRunner> for wire::PushOutputRequest {
    fn from(message: PushFromRunner) -> Self {
        let message = match message {
            PushFromRunner::Hello { runner_id, execution_id, ticket, missing } => {
                Up::Hello(wire::OutputHello {
                    runner_id: runner_id.to_string(),
                    execution_id: execution_id.to_string(),
                    ticket,
                    missing,
                })
            }
            PushFromRunner::Chunk { read_id, offset, data } => {
                Up::Chunk(wire::OutputChunk { read_id, offset, data })
            }
            PushFromRunner::Gap { read_id, from, to } => Up::Gap(wire::OutputGap { read_id, from, to }),
            PushFromRunner::Done { read_id, offset, end, total } => {
                Up::Done(wire::ReadDone { read_id, offset, end, total })
            }
        };
        Self { message: Some(message) }
    }
}

impl TryFrom<wire::PushOutputRequest> for PushFromRunner {
    type Error = ConvertError;

    fn try_from(request: wire::PushOutputRequest) -> Result<Self, ConvertError> {
        Ok(match required("message", request.message)? {
            Up::Hello(hello) => Self::Hello {
                runner_id: parsed("hello.runner_id", &hello.runner_id)?,
                execution_id: parsed("hello.execution_id", &hello.execution_id)?,
                ticket: hello.ticket,
                missing: hello.missing,
            },
            Up::Chunk(chunk) if chunk.data.len() > CHUNK_BYTES => {
                let problem = format!("has {} bytes, at most {CHUNK_BYTES}", chunk.data.len());
                return Err(ConvertError::new("chunk.data", problem));
            }
            Up::Chunk(wire::OutputChunk { read_id, offset, data }) => Self::Chunk { read_id, offset, data },
            Up::Gap(wire::OutputGap { read_id, from, to }) if from < to => Self::Gap { read_id, from, to },
            Up::Gap(_) => return Err(ConvertError::new("gap.to", "is not after `from`")),
            Up::Done(wire::ReadDone { read_id, offset, end, total }) => {
                Self::Done { read_id, offset, end, total }
            }
        })
    }
}

impl From<PushToRunner> for wire::PushOutputResponse {
    fn from(message: PushToRunner) -> Self {
        let message = match message {
            PushToRunner::Read { read_id, stream, offset, max_bytes, follow } => Down::Read(wire::Read {
                read_id,
                stream: v1::OutputStream::from(stream).into(),
                offset,
                max_bytes,
                follow,
            }),
            PushToRunner::Cancel { read_id } => Down::Cancel(wire::CancelRead { read_id }),
        };
        Self { message: Some(message) }
    }
}

impl TryFrom<wire::PushOutputResponse> for PushToRunner {
    type Error = ConvertError;

    fn try_from(response: wire::PushOutputResponse) -> Result<Self, ConvertError> {
        Ok(match required("message", response.message)? {
            Down::Read(read) => Self::Read {
                read_id: read.read_id,
                stream: read.stream().try_into()?,
                offset: read.offset,
                max_bytes: read.max_bytes,
                follow: read.follow,
            },
            Down::Cancel(wire::CancelRead { read_id }) => Self::Cancel { read_id },
        })
    }
}
