//! Tests of reading secrets from Vault: with a server of the tests that checks each request, and in `make test-long`
//! with OpenBao, which has the same API.

#![expect(clippy::unwrap_used, reason = "a test")]

mod fixture;
mod keeping;
mod logins;
mod openbao;
mod reading;
mod refusals;
