//! Finds images in the output: a stream that is one image, and images in `data:` URIs.
//!
//! Reads only their first bytes. The output may be crafted. If the size in pixels cannot be read, only the size is left
//! out.

use airlock_domain::{ImageKind, OutputImage, OutputStream, limits::IMAGES};
use base64::{
    Engine as _, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use memchr::memmem;

const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);
const URI: &[u8] = b"data:image/";
const BASE64_MARK: &[u8] = b";base64,";
/// The maximum number of bytes from `data:` to the first byte of base64.
const HEAD: usize = 128;
/// The number of first bytes kept of an image, to find its kind and its size in pixels.
const FIRST: usize = 24 << 10;
/// The minimum size of an image.
const LEAST: u64 = 16;

/// A URI with base64 that has not ended yet.
struct Open {
    offset: u64,
    /// The length of the base64 so far. The field below holds its first characters.
    length: u64,
    first: Vec<u8>,
}

/// Collects images from a stream that arrives in pieces.
pub(super) struct Images<'a> {
    stream: OutputStream,
    total: u64,
    found: &'a mut Vec<OutputImage>,
    open: Option<Open>,
    /// Bytes that may be the beginning of a URI.
    tail: Vec<u8>,
    is_image: bool,
}

impl<'a> Images<'a> {
    pub(super) fn new(stream: OutputStream, total: u64, found: &'a mut Vec<OutputImage>) -> Self {
        Self { stream, total, found, open: None, tail: Vec::new(), is_image: false }
    }

    /// Reports whether the whole stream is an image.
    pub(super) fn is_image(&self) -> bool {
        self.is_image
    }

    pub(super) fn take(&mut self, offset: u64, data: &[u8]) {
        if offset == 0 && self.total >= LEAST {
            let first = data.get(..FIRST).unwrap_or(data);
            if let Some(kind) = ImageKind::of(first) {
                self.is_image = true;
                self.note(0, kind, self.total, first, false);
            }
        }
        if self.is_image || self.found.len() >= IMAGES {
            return;
        }
        let mut data = data;
        let mut at = offset;
        if self.open.is_some() {
            let used = self.go_on(data);
            data = data.get(used..).unwrap_or_default();
            at += used as u64;
        }
        let mut text = std::mem::take(&mut self.tail);
        at = at.saturating_sub(text.len() as u64);
        text.extend_from_slice(data);
        self.look(at, &text);
    }

    /// Handles a gap: the next bytes do not follow the previous ones.
    pub(super) fn gap(&mut self) {
        self.end();
        self.tail.clear();
    }

    /// Ends an open URI.
    pub(super) fn end(&mut self) {
        let Some(open) = self.open.take() else { return };
        let whole = open.first.len() / 4 * 4;
        let all = open.length == open.first.len() as u64;
        let first = open.first.get(..if all { open.first.len() } else { whole }).unwrap_or_default();
        let first = BASE64.decode(first).unwrap_or_default();
        let bytes = open.length / 4 * 3 + (open.length % 4).saturating_sub(1);
        if let Some(kind) = ImageKind::of(&first).filter(|_| bytes >= LEAST) {
            self.note(open.offset, kind, bytes, &first, true);
        }
    }

    /// Finds URIs in `text`, which begins at offset `at`.
    fn look(&mut self, at: u64, text: &[u8]) {
        let mut from = 0;
        while let Some(found) = memmem::find(text.get(from..).unwrap_or_default(), URI) {
            let start = from + found;
            let head = text.get(start..).unwrap_or_default();
            let bounded = head.get(..HEAD).unwrap_or(head);
            let Some(mark) = memmem::find(bounded, BASE64_MARK) else {
                if head.len() < HEAD {
                    self.tail = head.to_vec();
                    return;
                }
                from = start + URI.len();
                continue;
            };
            let body = start + mark + BASE64_MARK.len();
            self.open = Some(Open { offset: at + start as u64, length: 0, first: Vec::new() });
            let used = self.go_on(text.get(body..).unwrap_or_default());
            if self.open.is_some() || self.found.len() >= IMAGES {
                return;
            }
            from = body + used;
        }
        let keep = text.len().saturating_sub(URI.len() - 1).max(from);
        self.tail = text.get(keep..).unwrap_or_default().to_vec();
    }

    /// Reads base64 from the beginning of `data`. Returns the number of bytes read.
    fn go_on(&mut self, data: &[u8]) -> usize {
        let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
        let used = data.iter().position(|byte| !is_base64(byte));
        let body = data.get(..used.unwrap_or(data.len())).unwrap_or_default();
        if let Some(open) = &mut self.open {
            open.length += body.len() as u64;
            let room = FIRST.saturating_sub(open.first.len());
            open.first.extend_from_slice(body.get(..room).unwrap_or(body));
        }
        if used.is_some() {
            self.end();
        }
        body.len()
    }

    fn note(&mut self, offset: u64, kind: ImageKind, bytes: u64, first: &[u8], data_uri: bool) {
        let image = OutputImage { stream: self.stream, offset, kind, bytes, pixels: pixels(first), data_uri };
        if self.found.len() < IMAGES {
            self.found.push(image);
        }
    }
}

/// Returns width and height if the first bytes contain them.
fn pixels(first: &[u8]) -> Option<(u32, u32)> {
    let size = std::panic::catch_unwind(|| imagesize::blob_size(first)).ok()?.ok()?;
    Some((size.width.try_into().ok()?, size.height.try_into().ok()?))
}
