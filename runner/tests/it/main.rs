//! Tests of the whole runner with a server that the test implements: real links over the loopback, real sandboxes.

mod bound;
mod commands;
mod confined;
mod controls;
mod disks;
mod egress;
mod exchanges;
mod fake;
mod faults;
mod fixture;
mod floor;
mod hostile;
mod identity;
mod input;
mod jobs;
mod killed;
mod leaks;
mod process;
mod protected;
mod sessions;
mod shown;
mod silence;
mod snapshots;
mod terminal;
