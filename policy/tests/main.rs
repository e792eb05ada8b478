//! The tests of the policy, one module for each property.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test stops at the first unexpected result"
)]

mod agent;
mod bounds;
mod cases;
mod deny_holds;
mod edits;
mod environment;
mod hooks;
mod json;
mod monotone;
mod naive;
mod never_panics;
mod obeyed;
mod parser_cases;
mod pipeline;
mod powershell;
mod powershell_advice;
mod powershell_deny;
mod powershell_meaning;
mod read_only_cases;
mod rulings;
mod scripts;
mod shells;
mod snapshot;
mod spellings;
mod validators;
