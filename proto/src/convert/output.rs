//! Conversion of inline output, and of the messages of an output stream. Values from a hostile runner are cut to the
//! limits of the contract.

use super::error::{ConvertError, parsed, required};
use crate::{
    runner_v1 as wire,
    runner_v1::{push_output_request::Message as Up, push_output_response::Message as Down},
    v1,
};
use airlock_domain::{
    ImageKind, InlineOutput, InlineText, OutputImage, PushFromRunner, PushToRunner,
    limits::{CHUNK_BYTES, HINT_BYTES, HINTS, IMAGES, INLINE_MAX},
};

impl From<InlineOutput> for v1::InlineOutput {
    fn from(output: InlineOutput) -> Self {
        Self {
            stdout: Some(output.stdout.into()),
            stderr: output.stderr.map(Into::into),
            images: output.images.into_iter().map(Into::into).collect(),
            hints: output.hints,
        }
    }
}

impl TryFrom<v1::InlineOutput> for InlineOutput {
    type Error = ConvertError;

    fn try_from(wire: v1::InlineOutput) -> Result<Self, ConvertError> {
        Ok(Self {
            stdout: required("result.inline.stdout", wire.stdout)?.into(),
            stderr: wire.stderr.map(Into::into),
            // Kinds of a later version are unknown and are dropped.
            images: wire.images.iter().filter_map(image).take(IMAGES).collect(),
            hints: wire.hints.into_iter().filter(|hint| hint.len() <= HINT_BYTES).take(HINTS).collect(),
        })
    }
}

impl From<InlineText> for v1::InlineText {
    fn from(text: InlineText) -> Self {
        Self {
            text: text.text,
            whole: text.whole,
            total_bytes: text.total_bytes,
            total_lines: text.total_lines,
            truncated_bytes: text.truncated_bytes,
            invalid_utf8: text.invalid_utf8,
        }
    }
}

impl From<v1::InlineText> for InlineText {
    fn from(wire: v1::InlineText) -> Self {
        let mut text = wire.text;
        let whole = wire.whole && text.len() <= INLINE_MAX;
        text.truncate(text.floor_char_boundary(INLINE_MAX));
        Self {
            text,
            whole,
            total_bytes: wire.total_bytes,
            total_lines: wire.total_lines,
            truncated_bytes: wire.truncated_bytes,
            invalid_utf8: wire.invalid_utf8,
        }
    }
}

impl From<OutputImage> for v1::OutputImage {
    fn from(image: OutputImage) -> Self {
        let (width, height) = image.pixels.unwrap_or_default();
        Self {
            stream: v1::OutputStream::from(image.stream).into(),
            offset: image.offset,
            media_type: image.kind.media_type().to_owned(),
            bytes: image.bytes,
            width,
            height,
            data_uri: image.data_uri,
        }
    }
}

fn image(wire: &v1::OutputImage) -> Option<OutputImage> {
    Some(OutputImage {
        stream: wire.stream().try_into().ok()?,
        offset: wire.offset,
        kind: ImageKind::ALL.into_iter().find(|kind| kind.media_type() == wire.media_type)?,
        bytes: wire.bytes,
        pixels: Some((wire.width, wire.height)).filter(|pixels| *pixels != (0, 0)),
        data_uri: wire.data_uri,
    })
}

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
