//! Conversion of inline output. Values from a hostile runner are cut to the limits of the contract.

use super::error::{ConvertError, required};
use crate::v1;
use airlock_domain::{
    ImageKind, InlineOutput, InlineText, OutputImage,
    limits::{HINT_BYTES, HINTS, IMAGES, INLINE_MAX},
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
