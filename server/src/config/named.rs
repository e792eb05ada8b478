//! The limits of a configuration by name, for clients that ask for the capabilities of a server.

use std::{collections::BTreeMap, time::Duration};

use super::{Config, Limits, Link};

/// A limit as a number: bytes, a count, or milliseconds.
trait Amount {
    fn amount(self) -> u64;
}

impl Amount for u32 {
    fn amount(self) -> u64 {
        self.into()
    }
}

impl Amount for u64 {
    fn amount(self) -> u64 {
        self
    }
}

impl Amount for usize {
    fn amount(self) -> u64 {
        self as u64
    }
}

impl Amount for Duration {
    fn amount(self) -> u64 {
        u64::try_from(self.as_millis()).unwrap_or(u64::MAX)
    }
}

/// Returns every field of a section by name. If a field is not listed, the code does not compile.
macro_rules! named {
    ($section:ident = $value:expr, $prefix:literal: $($field:ident),+ $(,)?) => {{
        let $section { $($field),+ } = $value;
        [$((concat!($prefix, stringify!($field)).to_owned(), $field.amount())),+]
    }};
}

impl Config {
    /// Returns every limit by name. Limits of `[link]` have the prefix `link.` and those of `[peers]` the
    /// prefix `peers.`. Sizes are in bytes, times in milliseconds.
    #[must_use]
    pub fn named_limits(&self) -> BTreeMap<String, u64> {
        let limits = named!(Limits = self.limits.clone(), "":
            message_bytes,
            connections,
            connections_per_peer,
            connection_idle,
            call_timeout,
            waits,
            waits_per_tenant,
            lists,
            lists_per_tenant,
            checks,
            checks_per_tenant,
            streams_per_connection,
            handshake_timeout,
            authentication_failures_per_minute,
            executions_per_tenant,
            sessions_per_tenant,
            executions_per_session,
            queue_per_tenant,
            starts_per_second,
            denials_per_second,
            output_bytes_per_day,
            queue,
            runners,
            queue_wait,
            approval_valid,
            open_wait,
            close_wait,
            readers_per_execution,
            readers,
            readers_per_tenant,
            watches,
            watches_per_tenant,
            rules_per_session,
            rules_per_tenant,
            ring_bytes,
            exchanges_per_tenant,
            exchanges,
            exchange_open_wait,
            exchange_answer_wait,
            transfer_idle,
            shutdown_grace,
        );
        let link = named!(Link = self.link.clone(), "link.":
            heartbeat_interval,
            heartbeat_timeout,
            link_grace,
            ending_grace,
            lost_after,
            start_window,
            lease,
        );
        let peers = self.peers.as_ref().map(|peers| {
            [
                ("peers.answer_wait".to_owned(), peers.answer_wait.amount()),
                ("peers.ready_wait".to_owned(), peers.ready_wait.amount()),
                ("peers.relays".to_owned(), peers.relays.amount()),
            ]
        });
        limits.into_iter().chain(link).chain(peers.into_iter().flatten()).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, path::Path};

    use airlock_config::Kind;

    use super::*;
    use crate::config::schema::SCHEMA;

    fn keys(table: &str, prefix: &str) -> BTreeSet<String> {
        let section = SCHEMA.iter().find(|field| field.name == table).unwrap();
        let Kind::Table(fields) = section.kind else { panic!("{table} is a table") };
        fields.iter().map(|field| format!("{prefix}{}", field.name)).collect()
    }

    #[test]
    fn the_names_are_the_keys_of_the_file() {
        let named = Config::embedded("s", Path::new("/nowhere")).named_limits();
        let expected = &keys("limits", "") | &keys("link", "link.");
        assert_eq!(named.keys().cloned().collect::<BTreeSet<_>>(), expected);
        assert_eq!(
            (named["readers"], named["queue_wait"], named["link.link_grace"]),
            (4096, 60_000, 240_000)
        );
    }
}
