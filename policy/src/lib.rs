//! Airlock's policy: parse a command, find what it does, decide whether it may run.
//!
//! The crate is pure. It does no I/O, starts nothing, reads no clock and no
//! environment, and answers for any bytes whatever within a bound on time and
//! memory. What it does not fully understand it never allows by itself.
//!
//! The way of a request: [`decide()`] measures the text (see [`limits`]), parses it
//! into a closed tree (`parse`), lists every command found at any depth
//! (`analysis`, `launch`), proves what it can (`readonly`, by the data in `tables`),
//! locates paths (`paths`), and then asks the steps in `decide` one after the
//! other. Deny is always first.
#![forbid(unsafe_code)]

mod advice;
mod analysis;
pub mod check;
mod decide;
mod decision;
mod getopt;
pub mod import;
mod launch;
pub mod limits;
mod meaning;
mod parse;
mod paths;
mod permit;
mod profile;
mod readonly;
mod request;
mod rules;
mod snapshot;
mod tables;

pub use advice::{NotRemembered, memorable};
pub use decide::{
    Part,
    codes::{Effect, VALIDATORS, Validator},
    decide, parts,
};
pub use decision::{
    Access, Assignment, Category, Decision, Edit, FoundCommand, Nesting, Obeyed, ObeyedFormat, PathUse,
    PolicyVersion, Reason, Redirect, Requirement, Rewrite, ShadowHit, Span, Verdict, Warning, Word,
};
pub use meaning::{ExitMeaning, exit_meaning};
pub use permit::{Answer, Binding, Permit, PermitError};
pub use profile::{Case, Profile, ProfileError, ProfileProblem, ProfileText};
pub use request::{Mode, Request, Shell, Unsandboxed};
pub use rules::{Rule, RuleError, Rules, Tool};
pub use snapshot::Snapshot;
