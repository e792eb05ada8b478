//! The meaning of PowerShell's commands: what a name stands for, to which parameter each argument is bound, what a
//! cmdlet reads and changes, and the words that a native program receives. The parser is a crate of its own; the walk
//! over its result is in `analysis`.

mod assigned;
mod bind;
mod call;
mod constants;
mod expression;
mod native;
mod position;
mod proof;
mod resolve;

pub(crate) use assigned::possible_values;
pub(crate) use call::{Call, changes_directory};
pub(crate) use constants::Constants;
pub(crate) use expression::{effects, files_read, folded};
pub(crate) use native::{target, words};
pub(crate) use resolve::{Resolved, on_windows, readings, resolve};
