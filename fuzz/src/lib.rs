//! Tries the policy against the real thing. `bash`: what bash starts is among what was
//! predicted (property 1). `canary`: what is called read-only changes nothing
//! (property 2). Both run inside bubblewrap only; nothing here decides anything, and
//! no generated command may ever run on the host.
#![forbid(unsafe_code)]

pub mod bash;
pub mod canary;
pub mod trace;
