//! Property 2: generated commands called read-only, run with real programs on a writable tree that must not change.
