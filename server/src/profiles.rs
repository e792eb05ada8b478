//! Profiles: the part for the policy, which `airlock_policy` reads, and the part for sandboxes, limits and
//! approvals. There are built-in profiles and those in the operator's directory.
//!
//! [`Profiles::load`] reads the files at start, and [`Reload`] reads them again when they change.

mod chain;
mod error;
mod folder;
mod live;
mod mode;
mod parse;
mod reload;
mod resolve;
mod schema;
mod set;
mod single;
mod visible;

pub use error::ProfilesError;
pub use live::LiveProfiles;
pub(crate) use live::Needed;
pub(crate) use mode::policy_mode;
pub(crate) use reload::Reload;
pub use resolve::ResolvedProfile;
pub use set::Profiles;
pub use single::read_one;
pub(crate) use visible::default_of;

#[cfg(test)]
mod tests;
