//! Files, output, input and watches through connections that break at any byte, and from servers that lie.

mod fake;
mod files;
mod hostile;
mod streams;
