//! The stored form of results, in a runner's journal and in a server's store.

use prost::Message;

use super::ConvertError;
use crate::v1;
use airlock_domain::ExecutionResult;

impl ExecutionResult {
    /// Encodes the result in the format of the contract, which later versions can read.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        v1::Result::from(self.clone()).encode_to_vec()
    }

    /// Decodes the format that [`ExecutionResult::encode`] writes.
    ///
    /// # Errors
    /// Returns an error if the bytes are not a valid result.
    pub fn decode(bytes: &[u8]) -> Result<Self, ConvertError> {
        v1::Result::decode(bytes).map_err(|error| ConvertError::new("result", error.to_string()))?.try_into()
    }
}
