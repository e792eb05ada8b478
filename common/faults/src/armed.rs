//! Fault points that a test arms through the environment.

use std::{
    fmt::Debug,
    fs::{File, OpenOptions},
    io::Write as _,
    path::PathBuf,
    sync::{
        OnceLock,
        atomic::{AtomicU32, Ordering},
    },
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use crate::point::Point;

const ARMED: &str = "AIRLOCK_FAULT";
const AWAY: &str = "AIRLOCK_FAULT_STORE";
const TRACE: &str = "AIRLOCK_FAULT_TRACE";

/// The settings from the environment.
struct Asked {
    armed: Option<Armed>,
    trace: Option<File>,
    away: Option<PathBuf>,
}

/// The arrival at which the process is killed.
struct Armed {
    point: String,
    /// The name of the arrival; empty for any name.
    name: String,
    left: AtomicU32,
}

impl Armed {
    /// Parses `POINT`, `POINT:N`, `POINT/NAME` or `POINT/NAME:N`.
    fn parse(text: &str) -> Self {
        let (place, count) = text.split_once(':').unwrap_or((text, "1"));
        let (point, name) = place.split_once('/').unwrap_or((place, ""));
        let left = AtomicU32::new(count.parse().unwrap_or(1));
        Self { point: point.to_owned(), name: name.to_owned(), left }
    }

    fn is_meant(&self, point: Point, what: &dyn Debug) -> bool {
        self.point == point.as_str() && (self.name.is_empty() || self.name == name_of(what))
    }
}

fn asked() -> &'static Asked {
    static ASKED: OnceLock<Asked> = OnceLock::new();
    ASKED.get_or_init(|| Asked {
        armed: std::env::var(ARMED).ok().map(|text| Armed::parse(&text)),
        trace: std::env::var_os(TRACE)
            .and_then(|file| OpenOptions::new().create(true).append(true).open(file).ok()),
        away: std::env::var_os(AWAY).map(PathBuf::from),
    })
}

/// Kills the process if a test has armed this arrival. The arrival's name is the first word of `what`: an
/// enum's variant.
pub fn hit(point: Point, what: &dyn Debug) {
    let asked = asked();
    if let Some(mut trace) = asked.trace.as_ref() {
        // Without the line the test misses a point and reports that.
        let _ = trace.write_all(format!("{}/{}\n", point.as_str(), name_of(what)).as_bytes());
    }
    if let Some(armed) = &asked.armed
        && armed.is_meant(point, what)
        && armed.left.fetch_sub(1, Ordering::SeqCst) == 1
    {
        // Without the signal there is no fault, and the test fails.
        let _ = kill(Pid::this(), Signal::SIGKILL);
    }
}

/// Reports whether a test has made the store unavailable.
#[must_use]
pub fn is_away() -> bool {
    asked().away.as_ref().is_some_and(|file| file.exists())
}

/// Reports whether the next [`hit`] here kills the process, so that pending data can be sent before.
#[must_use]
pub fn is_next(point: Point, what: &dyn Debug) -> bool {
    let armed = asked().armed.as_ref();
    armed.is_some_and(|armed| armed.is_meant(point, what) && armed.left.load(Ordering::SeqCst) == 1)
}

/// Returns the name of an arrival, for use after `what` was moved.
#[must_use]
pub fn name_of(what: &dyn Debug) -> String {
    let text = format!("{what:?}");
    let word = |c: char| !(c.is_alphanumeric() || c == '_');
    text.trim_start_matches('"').split(word).next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arrival_is_meant_by_its_point_and_where_given_by_its_name() {
        let armed = Armed::parse("before_store_write/transition:3");
        assert!(armed.is_meant(Point::BeforeStoreWrite, &"transition"));
        assert!(!armed.is_meant(Point::BeforeStoreWrite, &"set_output"));
        assert!(!armed.is_meant(Point::AfterStoreWrite, &"transition"));
        assert_eq!(armed.left.load(Ordering::SeqCst), 3);
        let any = Armed::parse("before_link_send");
        assert!(any.is_meant(Point::BeforeLinkSend, &Some(1)) && any.left.load(Ordering::SeqCst) == 1);
    }

    #[test]
    fn arrivals_are_named_by_the_first_word() {
        assert_eq!(name_of(&Some(3)), "Some");
        assert_eq!(name_of(&"set_output"), "set_output");
        assert_eq!(name_of(&Point::AfterSession), "AfterSession");
    }

    #[test]
    fn every_point_has_a_name_of_its_own() {
        let names: std::collections::BTreeSet<_> = Point::ALL.iter().map(|point| point.as_str()).collect();
        assert_eq!(names.len(), Point::ALL.len());
    }
}
