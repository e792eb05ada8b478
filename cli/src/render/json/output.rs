//! The inline output and the state of the output streams of a result, as JSON.

use serde_json::{Value, json};

use super::{names, time};
use airlock_client::v1::{InlineOutput, InlineText, OutputImage, OutputStream, Progress};

pub(super) fn inline(one: &InlineOutput) -> Value {
    json!({
        "stdout": one.stdout.as_ref().map(text),
        "stderr": one.stderr.as_ref().map(text),
        "images": one.images.iter().map(image).collect::<Vec<_>>(),
        "hints": one.hints,
    })
}

fn text(one: &InlineText) -> Value {
    json!({
        "text": one.text,
        "whole": one.whole,
        "total_bytes": one.total_bytes,
        "total_lines": one.total_lines,
        "truncated_bytes": one.truncated_bytes,
        "invalid_utf8": one.invalid_utf8,
    })
}

fn image(one: &OutputImage) -> Value {
    json!({
        "stream": names::lower::<OutputStream>(one.stream),
        "offset": one.offset,
        "media_type": one.media_type,
        "bytes": one.bytes,
        "width": one.width,
        "height": one.height,
        "data_uri": one.data_uri,
    })
}

pub(super) fn progress(one: &Progress) -> Value {
    json!({
        "elapsed": time::duration(one.elapsed.as_ref()).map(|span| span.as_secs_f64()),
        "total_bytes": one.total_bytes,
        "total_lines": one.total_lines,
        "last_lines": one.last_lines,
        "complete": one.complete,
    })
}
