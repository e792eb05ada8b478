//! What this host can enforce, found by really starting a sandbox.
//!
//! Must not say that a layer is there because it ought to be.
