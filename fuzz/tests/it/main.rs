//! The fuzzers' own tests: short runs with controls. `make fuzz-bash` and `make fuzz-read-only` are the long ones.

mod bash;
mod canary;
mod deny_ways;
mod forced;
mod monotone;
mod trace;
