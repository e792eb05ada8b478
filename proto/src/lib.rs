//! The contract: the generated code of `airlock.v1`, `airlock.hooks.v1`, `airlock.runner.v1` and `airlock.server.v1`,
//! and its conversion to and from the types of `airlock-domain`.
//!
//! Generated types are used only at the gRPC edge; all other code uses [`airlock_domain`]. This crate does no I/O.

#![forbid(unsafe_code)]

pub mod convert;
pub mod twin;

pub use generated::{hooks::v1 as hooks_v1, runner::v1 as runner_v1, server::v1 as server_v1, v1};

/// The generated code, in modules nested like the packages.
#[expect(
    missing_docs,
    clippy::all,
    clippy::pedantic,
    unreachable_pub,
    unused_qualifications,
    clippy::allow_attributes,
    clippy::allow_attributes_without_reason,
    reason = "generated code"
)]
mod generated {
    pub mod v1 {
        tonic::include_proto!("airlock.v1");
    }
    pub mod hooks {
        pub mod v1 {
            tonic::include_proto!("airlock.hooks.v1");
        }
    }
    pub mod runner {
        pub mod v1 {
            tonic::include_proto!("airlock.runner.v1");
        }
    }
    pub mod server {
        pub mod v1 {
            tonic::include_proto!("airlock.server.v1");
        }
    }
}

/// The serialized `FileDescriptorSet` of the whole contract, for reflection.
pub const FILE_DESCRIPTOR_SET: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/airlock.bin"));

/// The version of the link protocol. Since version 2, a grant travels in its canonical encoding.
pub const LINK_PROTOCOL_VERSION: u32 = 2;

/// The oldest version of the link protocol that a server accepts from a runner.
pub const LINK_PROTOCOL_OLDEST: u32 = 2;
