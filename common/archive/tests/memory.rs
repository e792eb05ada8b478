//! A test of the memory that bombs use, as the kernel measures it. It is a separate program, because
//! the peak is per process.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::fs;

use airlock_archive::{Cancel, Limits, check, hostile::cases};

/// Returns the process's resident memory in KiB: its peak or its current value.
fn resident(field: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(field)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn no_archive_takes_more_memory_than_the_names_of_its_entries() {
    let limits = Limits { entries: 100_000, bytes: 256 << 20, path_bytes: 4096, depth: 255 };
    for case in cases() {
        let archive = (case.bytes)();
        // This resets the peak to the current value.
        fs::write("/proc/self/clear_refs", "5").unwrap();
        let before = resident("VmRSS:");
        let result = check(archive, case.format, &limits, &Cancel::new());
        assert_eq!(result.is_err(), case.refusal.is_some(), "{}", case.name);
        let more = resident("VmHWM:").saturating_sub(before);
        assert!(more < 32 * 1024, "`{}` took {more} KiB more", case.name);
    }
}
