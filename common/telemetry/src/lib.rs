//! Telemetry for all programs of Airlock. It exports traces, metrics and logs to a collector, writes logs to standard
//! error, and propagates trace context between processes.
//!
//! The crate defines no events; each crate defines its own metrics and spans. Telemetry must not contain a command, an
//! argument, a workspace path or the value of a variable. The crate adds only trace context to the data that it
//! exports.
#![forbid(unsafe_code)]

mod collector;
mod context;
mod export;
mod level;
mod lines;
mod series;

pub use collector::{CollectorError, CollectorTls, is_tls};
pub use context::{adopt, adopt_headers, current_traceparent, fail, traceparent_of, traceparent_of_span};
pub use export::{Settings, Telemetry, TelemetryError};
pub use level::{Level, LevelError, follow};
pub use series::{Description, Kind, Series, series_of};
