//! What a command wrote, in short, as it is told with its result.

use super::OutputStream;

/// See the module. The whole is in the spool or the output storage, byte for byte.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct InlineOutput {
    /// Standard output.
    pub stdout: InlineText,
    /// Standard error, where it was asked for apart.
    pub stderr: Option<InlineText>,
    /// At most [`IMAGES`](crate::limits::IMAGES).
    pub images: Vec<OutputImage>,
    /// Whole lines that were taken out of the text; at most [`HINTS`](crate::limits::HINTS) of
    /// [`HINT_BYTES`](crate::limits::HINT_BYTES).
    pub hints: Vec<String>,
}

/// One stream as clean text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct InlineText {
    /// Without terminal escapes; at most [`INLINE_MAX`](crate::limits::INLINE_MAX) bytes.
    pub text: String,
    /// It is made of the whole stream.
    pub whole: bool,
    /// Length of the stream in bytes, whether kept or not.
    pub total_bytes: u64,
    /// None where what was cut was not counted.
    pub total_lines: Option<u64>,
    /// Bytes of the stream that the text leaves out.
    pub truncated_bytes: u64,
    /// What is kept of it is not UTF-8 throughout.
    pub invalid_utf8: bool,
}

/// An image that was found in the output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputImage {
    /// Where it is.
    pub stream: OutputStream,
    /// Of its first byte, or of the `data:` of its URI.
    pub offset: u64,
    /// Which kind.
    pub kind: ImageKind,
    /// Of the image, decoded.
    pub bytes: u64,
    /// Width and height in pixels, where its first bytes tell.
    pub pixels: Option<(u32, u32)>,
    /// It is a URI in the text; else the stream begins with it.
    pub data_uri: bool,
}

/// The kinds of images that are recognised.
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
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::Png, Self::Jpeg, Self::Gif, Self::Webp];

    /// Its media type.
    #[must_use]
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::Webp => "image/webp",
        }
    }

    /// What an image of a recognised kind begins with.
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
