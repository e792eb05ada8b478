//! Tests of the fuzzers: short runs with controls. `make fuzz-bash` and `make fuzz-read-only` are the long runs.

mod bash;
mod canary;
mod forced;
mod monotone;
mod trace;
