//! Tests the policy against real programs. `bash`: bash starts only programs that the policy predicted (property 1).
//! `canary`: a command that the policy calls read-only changes no file (property 2). Both run inside bubblewrap. No
//! generated command may run on the host.
#![forbid(unsafe_code)]

pub mod bash;
pub mod canary;
pub mod trace;
