//! The edge of a real server, over TLS on loopback: who gets in, what is refused and how, and that the
//! service runs on.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "edge/auth.rs"]
mod auth;
#[path = "edge/background.rs"]
mod background;
#[path = "edge/collector.rs"]
mod collector;
#[path = "edge/control.rs"]
mod control;
#[path = "edge/exchange.rs"]
mod exchange;
#[path = "edge/files.rs"]
mod files;
#[path = "edge/link.rs"]
mod link;
#[path = "edge/malformed.rs"]
mod malformed;
#[path = "edge/open.rs"]
mod open;
#[path = "edge/outputs.rs"]
mod outputs;
#[path = "edge/raw.rs"]
mod raw;
#[path = "edge/reload.rs"]
mod reload;
#[path = "edge/runner.rs"]
mod runner;
#[path = "edge/runs.rs"]
mod runs;
#[path = "edge/stdin.rs"]
mod stdin;
#[path = "edge/stop.rs"]
mod stop;
#[path = "edge/stop_order.rs"]
mod stop_order;
#[path = "edge/told.rs"]
mod told;
#[path = "edge/trace.rs"]
mod trace;
#[path = "edge/world.rs"]
mod world;
