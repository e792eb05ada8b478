//! Conversion between wire types and domain types.
//!
//! Conversion to the domain checks everything: an unknown enum value, a missing message or a malformed ID
//! returns a [`ConvertError`] that names the field. Conversion to the wire cannot fail.

mod cause;
mod connection;
mod edit;
mod enums;
mod error;
mod exchange;
mod file;
mod grant;
mod hook;
mod link;
mod network;
mod output;
mod question;
mod terms;

pub use edit::approved_results;
pub use error::ConvertError;
pub use terms::approval_terms;

use airlock_domain::{ExecutionResult, InlineOutput};
use prost::Message as _;

use crate::v1;

/// A type that is stored in the format of the contract, which later versions can read.
pub trait Stored: Sized {
    /// Encodes the value.
    #[must_use]
    fn encode(&self) -> Vec<u8>;

    /// Decodes the output of [`Stored::encode`].
    ///
    /// # Errors
    /// Returns an error if the bytes are not a valid value.
    fn decode(bytes: &[u8]) -> Result<Self, ConvertError>;
}

impl Stored for ExecutionResult {
    fn encode(&self) -> Vec<u8> {
        v1::Result::from(self.clone()).encode_to_vec()
    }

    fn decode(bytes: &[u8]) -> Result<Self, ConvertError> {
        v1::Result::decode(bytes).map_err(|error| ConvertError::new("result", error.to_string()))?.try_into()
    }
}

impl Stored for InlineOutput {
    fn encode(&self) -> Vec<u8> {
        v1::InlineOutput::from(self.clone()).encode_to_vec()
    }

    fn decode(bytes: &[u8]) -> Result<Self, ConvertError> {
        v1::InlineOutput::decode(bytes)
            .map_err(|error| ConvertError::new("result.inline", error.to_string()))?
            .try_into()
    }
}

#[cfg(test)]
mod tests;
