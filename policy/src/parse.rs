//! From bytes to a closed tree of commands. The grammar's tree is a hint; what this
//! module cannot account for byte by byte makes the parse incomplete.

mod quoting;

pub(crate) use quoting::ansi_c;
