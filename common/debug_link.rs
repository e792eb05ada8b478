//! The build script of the packages with large programs. It makes debug builds start in half the time.
//!
//! A position-independent program writes hundreds of thousands of addresses into its memory at each start, and the tests
//! start thousands of large programs. Release builds stay position-independent, so that their addresses are random.

use std::env;

fn main() {
    println!("cargo::rerun-if-env-changed=PROFILE");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    if is("PROFILE", "debug") && is("CARGO_CFG_TARGET_OS", "linux") {
        println!("cargo::rustc-link-arg=-no-pie");
    }
}
