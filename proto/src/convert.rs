//! Conversion between wire types and domain types.
//!
//! Conversion to the domain checks everything: an unknown enum value, a missing message or a malformed ID
//! returns a [`ConvertError`] that names the field. Conversion to the wire cannot fail.

mod bound;
mod cause;
mod enums;
mod error;
mod exchange;
mod file;
mod grant;
mod link;
mod output;
mod push;
mod stored;
mod terminal;
mod terms;

pub use error::ConvertError;
pub use stored::Stored;
pub use terms::approval_terms;

#[cfg(test)]
mod tests;
