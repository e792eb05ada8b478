//! Imports any text as settings: the result is a profile that loads, and nothing panics.
#![no_main]

use airlock_fuzz_targets::bounds;
use airlock_policy::{Profile, import};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &[u8]| {
    let text = String::from_utf8_lossy(text);
    if let Ok(imported) = bounds::bounded(|| import::import(&text, "settings.json", "fuzzed")) {
        let loaded = Profile::from_toml(&imported.toml, "imported.toml", &|_| None);
        assert!(loaded.is_ok(), "what was imported does not load: {loaded:?}\n{}", imported.toml);
    }
});
