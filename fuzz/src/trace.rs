//! Runs a program and records every program it and its children start. It judges nothing.
