//! The whole-system tests. They are one program, because linking dominates their build time.
//!
//! Each module covers one subject. nextest runs every test in a separate process, so modules share nothing at run time.

mod approvals;
mod approver;
mod archives;
mod background;
mod background_death;
mod base;
mod canary;
mod chaos;
mod clocks;
mod contract_files;
mod day;
mod demo;
mod documentation;
mod endings;
mod engines;
mod exit_codes;
mod fleet;
mod helm;
mod host_safety;
mod host_state;
mod hostile;
mod inside;
mod kube;
mod links;
mod load;
mod on_demand;
mod output;
mod output_files;
mod outside;
mod pods;
mod reflection;
mod renewal;
mod restore;
mod results;
mod shells;
mod slow_readers;
mod structure;
mod systemd;
mod tasks;
mod telemetry;
mod terminal;
mod transcript;
mod watching;
mod work;
