//! Results as they are kept: in a runner's journal, in a server's store.

use prost::Message;

use super::ConvertError;
use crate::{domain::ExecutionResult, v1};

impl ExecutionResult {
    /// The result in the contract's encoding, which later versions can read.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        v1::Result::from(self.clone()).encode_to_vec()
    }

    /// Reads what [`ExecutionResult::encode`] gave.
    ///
    /// # Errors
    /// If the bytes are not a result of the contract.
    pub fn decode(bytes: &[u8]) -> Result<Self, ConvertError> {
        v1::Result::decode(bytes).map_err(|error| ConvertError::new("result", error.to_string()))?.try_into()
    }
}
