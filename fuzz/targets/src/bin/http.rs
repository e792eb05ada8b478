//! Sends any bytes to the proxy as a client of HTTP: nothing but the allowed target is resolved or connected, the
//! connection ends, and no answer contains the credential.
#![no_main]

use std::sync::LazyLock;

use airlock_fuzz_targets::{bounds, front::Front};
use libfuzzer_sys::fuzz_target;

static FRONT: LazyLock<Front> = LazyLock::new(Front::start);

fuzz_target!(|bytes: &[u8]| {
    LazyLock::force(&FRONT);
    if bytes.first() != Some(&5) {
        bounds::bounded(|| FRONT.send(bytes));
    }
});
