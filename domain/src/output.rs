//! The output streams of a command, its terminal, and the short form of its output that is part of its result.

use serde::{Deserialize, Serialize};

/// The short form of the output. The spool or the output storage holds the exact bytes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct InlineOutput {
    /// Standard output.
    pub stdout: InlineText,
    /// Standard error, if the request set `separate_stderr`.
    pub stderr: Option<InlineText>,
    /// Images in the output. At most [`IMAGES`](crate::limits::IMAGES).
    pub images: Vec<OutputImage>,
    /// Whole lines that were removed from the text. At most [`HINTS`](crate::limits::HINTS) of
    /// [`HINT_BYTES`](crate::limits::HINT_BYTES) each.
    pub hints: Vec<String>,
}

impl InlineOutput {
    /// Returns the total length of all texts in bytes.
    #[must_use]
    pub fn text_bytes(&self) -> usize {
        let hints: usize = self.hints.iter().map(String::len).sum();
        self.stdout.text.len() + self.stderr.as_ref().map_or(0, |stderr| stderr.text.len()) + hints
    }
}

/// One stream as clean text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct InlineText {
    /// The text without terminal escapes. At most [`INLINE_MAX`](crate::limits::INLINE_MAX) bytes.
    pub text: String,
    /// The text covers the whole stream.
    pub whole: bool,
    /// The length of the stream in bytes, including bytes that were not kept.
    pub total_bytes: u64,
    /// The number of lines. `None` if the lines of the cut part were not counted.
    pub total_lines: Option<u64>,
    /// The number of bytes of the stream that the text omits.
    pub truncated_bytes: u64,
    /// The kept part of the stream contains invalid UTF-8.
    pub invalid_utf8: bool,
}

/// An image in the output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputImage {
    /// The stream that contains it.
    pub stream: OutputStream,
    /// The offset of its first byte, or of the `data:` of its URI.
    pub offset: u64,
    /// Its kind.
    pub kind: ImageKind,
    /// The size of the decoded image in bytes.
    pub bytes: u64,
    /// Width and height in pixels, if the first bytes contain them.
    pub pixels: Option<(u32, u32)>,
    /// The image is a `data:` URI in the text. If false, the stream begins with the image.
    pub data_uri: bool,
}

/// The image formats that are recognized.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ImageKind {
    /// PNG.
    Png,
    /// JPEG.
    Jpeg,
    /// GIF.
    Gif,
    /// WebP.
    Webp,
}

impl ImageKind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Png, Self::Jpeg, Self::Gif, Self::Webp];

    /// Returns the media type.
    #[must_use]
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::Webp => "image/webp",
        }
    }

    /// Detects the kind of an image from its first bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some(Self::Png),
            [0xff, 0xd8, 0xff, ..] => Some(Self::Jpeg),
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(Self::Gif),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(Self::Webp),
            _ => None,
        }
    }
}

/// The size of a terminal in characters. Each side is 1 to [`TERMINAL_CELLS`](crate::limits::TERMINAL_CELLS).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TerminalSize {
    /// The number of lines.
    pub rows: u16,
    /// The number of characters in a line.
    pub cols: u16,
}

impl TerminalSize {
    /// The default size of a terminal.
    pub const DEFAULT: Self = Self { rows: 24, cols: 80 };
}

/// A terminal for a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pty {
    /// The initial size.
    pub size: TerminalSize,
    /// The value of TERM.
    pub term: String,
}

/// One of a command's output streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OutputStream {
    /// Standard output. Includes standard error unless the request set `separate_stderr`.
    Stdout,
    /// Standard error, if the request set `separate_stderr`.
    Stderr,
}
