//! Airlock's policy: parses a command, determines its effects, and decides whether it may run.
//!
//! The crate is pure. It does no I/O, starts no process, and reads neither a clock nor the environment. It returns a
//! decision for every input, within a bound on time and memory. Without a rule it never allows a command that it does
//! not fully understand.
//!
//! The stages of a request: [`decide()`] measures the text (see [`limits`]), parses it into a
//! closed tree (`parse`), and lists every command at any depth (`analysis`, `launch`). It proves
//! commands read-only (`readonly`, with the data in `tables`) and locates paths (`paths`). `facts`
//! holds these results. Then the steps in `decide` answer in order; deny is always first. `advice`
//! adds the parts that do not affect the verdict.
#![forbid(unsafe_code)]

mod advice;
mod analysis;
pub mod check;
mod connections;
mod decide;
mod decision;
mod facts;
mod getopt;
pub mod import;
mod last_step;
mod launch;
pub mod limits;
mod meaning;
mod parse;
mod paths;
mod permit;
mod powershell;
mod profile;
mod readonly;
mod request;
mod rules;
mod snapshot;
mod tables;

pub use airlock_network::Layers;

pub use advice::{NotRemembered, memorable};
pub use decide::{Part, decide, parts};
pub use decision::{
    Access, Assignment, BoundParameter, Category, Decision, Edit, EditedFile, FoundCommand, Nesting,
    NetworkUse, Obeyed, ObeyedFormat, PathUse, PolicyVersion, PowerShellCommand, Reason, Redirect,
    Requirement, Rewrite, ShadowHit, Span, Verdict, Warning, Word,
};
pub use facts::codes::{Effect, VALIDATORS, Validator};
pub use last_step::LastStep;
pub use meaning::{ExitMeaning, exit_meaning};
pub use permit::{Answer, Binding, Permit, PermitError};
pub use profile::{Case, Profile, ProfileError, ProfileProblem, ProfileText};
pub use request::{Mode, Request, Shell, Unsandboxed};
pub use rules::{Rule, RuleError, Rules, Tool};
pub use snapshot::Snapshot;
