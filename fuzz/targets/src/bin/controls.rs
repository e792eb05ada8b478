//! Errors that the fuzzer must detect. It runs before each campaign, so that a campaign without
//! findings is meaningful.
#![no_main]

use airlock_fuzz_targets::bounds;
use libfuzzer_sys::fuzz_target;

unsafe extern "C" {
    safe fn airlock_control_overflow(length: usize);
}

fuzz_target!(|text: &[u8]| match text {
    b"overflow" => airlock_control_overflow(text.len()),
    b"panic" => panic!("a control"),
    b"caught panic" => drop(std::panic::catch_unwind(|| panic!("a control"))),
    b"slow" => bounds::bounded(|| {
        let begun = bounds::thread_time();
        while bounds::thread_time().saturating_sub(begun) < 2 * bounds::MOST_TIME {}
    }),
    b"hang" => loop {
        std::hint::spin_loop();
    },
    b"memory" => bounds::bounded(|| drop(std::hint::black_box(vec![1_u8; 65 << 20]))),
    _ => {}
});
