//! Sends any bytes to the proxy as a client of SOCKS5, with the same checks as the target `http`. The greeting and the
//! password are valid, unless the input begins with 0.
#![no_main]

use std::sync::LazyLock;

use airlock_fuzz_targets::{bounds, front::Front};
use libfuzzer_sys::fuzz_target;

static FRONT: LazyLock<Front> = LazyLock::new(Front::start);
/// The greeting, and the password, which [`Front::send`] inserts.
const BEGIN: &[u8] = b"\x05\x01\x02\x01\x07airlock\x05TOKEN";

fuzz_target!(|bytes: &[u8]| {
    LazyLock::force(&FRONT);
    let message = match bytes.split_first() {
        Some((0, rest)) => [&[5], rest].concat(),
        _ => [BEGIN, bytes].concat(),
    };
    bounds::bounded(|| FRONT.send(&message));
});
