//! Profiles: the part for the policy, which `airlock_policy` reads, and the part for sandboxes, limits and
//! approvals. There are built-in profiles and those in the operator's directory.
//!
//! [`Profiles::load`] reads the files at start, and [`Reload`] reads them again when they change.

mod chain;
mod folder;
mod network;
mod parse;
mod reload;
mod resolve;
mod set;
mod single;
mod visible;

pub use folder::ProfilesError;
pub use network::ProfileNetwork;
pub(crate) use network::parsed as parsed_network;
pub use reload::Reload;
pub(crate) use resolve::policy_mode;
pub use resolve::{ProfileHook, ResolvedProfile};
pub use set::{BuiltInSettings, LiveProfiles, Needed, Profiles};
pub use single::read_one;
pub use visible::default_of;

#[cfg(test)]
mod tests;
