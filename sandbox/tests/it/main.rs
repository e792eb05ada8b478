//! Integration tests of the sandbox: each test starts real sandboxes with bubblewrap. A test that cannot run fails.
//! No test is skipped.
#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod binds;
mod building;
mod cgroup;
mod connect;
mod end;
mod failures;
mod input;
mod killed;
mod landlock;
mod listener;
mod live_pwsh;
mod masks;
mod outside;
mod paths;
mod planted;
mod powershell;
mod reach;
mod report;
mod repositories;
mod root_folder;
#[cfg(target_arch = "x86_64")]
mod seccomp;
mod session;
mod session_sockets;
mod shell;
mod signals;
mod sockets;
mod support;
mod terminal;
mod writes;
