//! The codec of the calls. It returns the bytes of a response, so that a malformed response is not mistaken for an error
//! of the connection.

use std::marker::PhantomData;

use bytes::{Buf as _, Bytes};
use prost::Message;
use tonic::{
    Status,
    codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder},
};

/// Encodes requests of this type, and returns responses as bytes.
pub(crate) struct RawResponse<Q>(PhantomData<Q>);

impl<Q> Default for RawResponse<Q> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<Q: Message + 'static> Codec for RawResponse<Q> {
    type Encode = Q;
    type Decode = Bytes;
    type Encoder = Self;
    type Decoder = RawDecoder;

    fn encoder(&mut self) -> Self {
        Self::default()
    }

    fn decoder(&mut self) -> RawDecoder {
        RawDecoder
    }
}

impl<Q: Message> Encoder for RawResponse<Q> {
    type Item = Q;
    type Error = Status;

    fn encode(&mut self, message: Q, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        // The buffer grows, so this cannot fail.
        let _ = message.encode(buffer);
        Ok(())
    }
}

/// Returns the bytes of a message. The transport has limited their number.
pub(crate) struct RawDecoder;

impl Decoder for RawDecoder {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        Ok(Some(buffer.copy_to_bytes(buffer.remaining())))
    }
}
