//! Tests of files, output, input and watches with connections that break at any byte, and with servers
//! that lie.

mod fake;
mod files;
mod hostile;
mod streams;
