//! What every program of Airlock does to be watched: traces, metrics and logs go to a collector, logs to standard
//! error, and a trace passes from process to process.
//!
//! It knows no event of its own: what is measured and traced is in the crate that does it. It must not see a command,
//! an argument, a path of a workspace or the value of a variable, and adds nothing to what it is given but the place in
//! a trace.
#![forbid(unsafe_code)]

mod collector;
mod context;
mod export;
mod level;
mod lines;
mod series;
mod table;

pub use collector::{CollectorError, CollectorTls, is_tls};
pub use context::{adopt, adopt_headers, current_traceparent, fail, traceparent_of, traceparent_of_span};
pub use export::{Settings, Telemetry, TelemetryError};
pub use level::{Level, LevelError, follow};
pub use series::{Series, series_of};
pub use table::{Description, Kind};
