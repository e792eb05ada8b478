//! A parser of PowerShell 7. It finds the commands of a text as PowerShell finds them, with their elements. It also finds
//! the assignments, member accesses, types and definitions.
//!
//! Total: every text has a result, after an amount of work that its length bounds. Closed: a part that is not
//! understood makes the result incomplete, and never changes the meaning of the rest. A text that PowerShell refuses
//! to run is incomplete, too.
//!
//! Pure. The crate does not judge commands, and it does not resolve names.

#![forbid(unsafe_code)]

mod chars;
mod lexer;
mod parser;
mod source;
mod token;
mod tree;

pub use parser::parse;
pub use source::Span;
pub use token::Stream;
pub use tree::{
    Argument, Assignment, Call, Command, Construct, ConstructKind, Element, Entries, Fault, Member, Quote,
    Redirection, RedirectionTarget, Script, Target, TypeName, TypeUse, Value,
};

#[cfg(test)]
mod tests;
