//! The limits of a proxy.

use std::time::Duration;

/// Limits of a proxy and of each execution that uses it.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Connections that one execution may have open. Further ones wait in the listener's queue.
    pub per_execution: usize,
    /// Connections that all executions together may have open. Half of them are reserved, in parts of
    /// [`reserved`](Self::reserved), so that an execution gets some however many the others use.
    pub per_proxy: usize,
    /// Connections that are reserved for each execution.
    pub reserved: usize,
    /// Names that one execution may resolve at the same time.
    pub lookups: usize,
    /// Addresses that a name may have. The proxy ignores further ones.
    pub addresses: usize,
    /// Time for a name's resolution and the connection to one of its addresses.
    pub connect: Duration,
    /// Time for a connection to one address. The next address is tried afterwards.
    pub connect_each: Duration,
    /// Time in which a client must send each request's head, the SOCKS greeting, or the first TLS message.
    pub head: Duration,
    /// Time without a byte in either direction, after which a connection is closed. The proxy checks once in this
    /// time, so a connection can be idle for twice as long.
    pub idle: Duration,
    /// Bytes that one connection may transfer in each direction. `None`: no limit.
    pub bytes_per_direction: Option<u64>,
    /// Pipes of the kernel, of 256 KiB each, that all busy tunnels together may have, one for each direction. The
    /// others copy through a buffer of 8 KiB.
    pub pipes: usize,
    /// Wrong credentials on one connection, after which it is closed.
    pub failures: u32,
    /// Time for the connections of an execution to close after its end.
    pub close: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            per_execution: 256,
            per_proxy: 4_096,
            reserved: 8,
            lookups: 8,
            addresses: 16,
            connect: Duration::from_secs(10),
            connect_each: Duration::from_secs(3),
            head: Duration::from_secs(10),
            idle: Duration::from_secs(300),
            bytes_per_direction: None,
            pipes: 64,
            failures: 3,
            close: Duration::from_secs(1),
        }
    }
}
