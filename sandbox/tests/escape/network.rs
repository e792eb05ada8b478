//! Attempts to communicate with the host, with other sessions, and with other machines.

use crate::control::Control::{Bubblewrap, Capable, OtherSession};
use crate::layer::Layer::{Landlock, NetNamespace, Root, Seccomp};
use crate::row::{probe, program};

/// An address of another machine. In the control a private loopback with a server has this address, and the attempt
/// reaches it.
macro_rules! elsewhere {
    ($kind:literal, $address:literal, $port:literal) => {
        program(concat!("exec 3<>/dev/", $kind, "/", $address, "/", $port))
            .stopped_by(NetNamespace, "unreachable")
            .control_words(concat!(
                "ip link set lo up; ip address add ",
                $address,
                " dev lo; ",
                "{probe} listen ",
                $address,
                ":",
                $port,
                " >/dev/null 2>&1 & server=$!; answered=1; ",
                "for try in {1..2000}; do ",
                "(exec 3<>/dev/",
                $kind,
                "/",
                $address,
                "/",
                $port,
                ") && answered=0 && break; sleep 0.05; ",
                "done; kill $server; exit $answered",
            ))
            .but(Capable)
    };
}

attempts! {
    the_hosts_loopback: probe("connect {tcp}", "TCP").stopped_by(NetNamespace, "ECONNREFUSED").but(Bubblewrap(""));
    the_hosts_loopback_by_a_mapped_address: probe("connect {tcp_mapped}", "TCP")
        .stopped_by(NetNamespace, "ECONNREFUSED|ENETUNREACH").but(Bubblewrap(""));
    the_hosts_loopback_by_bash: program("exec 3<>/dev/tcp/{tcp_words}").stopped_by(NetNamespace, "refused").but(Bubblewrap(""));
    the_hosts_loopback_by_datagrams: probe("datagram {udp}", "UDP").stopped_by(NetNamespace, "ECONNREFUSED").but(Bubblewrap(""));

    an_abstract_socket_of_the_host: probe("abstract-socket {abstract}", "abstract")
        .stopped_by(NetNamespace, "ECONNREFUSED").but(Bubblewrap(""));
    an_abstract_socket_of_the_host_in_an_empty_net: probe("abstract-socket {abstract}", "abstract").read_only()
        .stopped_by(NetNamespace, "ECONNREFUSED").but(Bubblewrap(""));
    the_list_of_the_hosts_abstract_sockets: program("grep -q {abstract} /proc/net/unix")
        .stopped_by(NetNamespace, "exit status: 1").but(Bubblewrap(""));

    a_socket_of_the_host_by_its_path: probe("path-socket {socket}", "path")
        .stopped_by(Root, "ENOENT").but(Bubblewrap("--bind {open} {open}"));
    a_socket_of_the_host_through_proc_self_root: probe("path-socket {socket}", "/proc/self/root")
        .stopped_by(Root, "ENOENT").but(Bubblewrap("--bind {open} {open}"));
    sockets_of_services_of_the_host: program("find / -type s 2>/dev/null | grep .")
        .stopped_by(Root, "exit status: 1").control_words("ls {socket}; find {open} -type s | grep .").but(Bubblewrap("--bind {open} {open}"));

    another_sessions_loopback: probe("connect {server}", "TCP").stopped_by(NetNamespace, "ECONNREFUSED").but(OtherSession);
    another_sessions_loopback_from_an_empty_net: probe("connect {server}", "TCP").read_only()
        .stopped_by(Landlock, "EACCES|ECONNREFUSED").but(OtherSession);
    another_sessions_proxy: probe("connect {proxy}", "TCP").stopped_by(NetNamespace, "ECONNREFUSED").but(OtherSession);
    another_sessions_proxy_from_an_empty_net: probe("connect {proxy}", "TCP").read_only()
        .stopped_by(Landlock, "EACCES|ECONNREFUSED").but(OtherSession);
    another_sessions_list_of_servers: program("test $(grep -c : /proc/net/tcp) != 0 && grep -q \" 0A \" /proc/net/tcp")
        .after(|stage| drop(stage.fill("{server}"))).stopped_by(NetNamespace, "exit status: 1").but(OtherSession);

    a_metadata_address: elsewhere!("tcp", "169.254.169.254", "80");
    a_metadata_address_of_containers: elsewhere!("tcp", "169.254.170.2", "80");
    a_metadata_address_by_datagrams: elsewhere!("udp", "169.254.169.254", "80");
    dns_by_datagrams: elsewhere!("udp", "8.8.8.8", "53");
    dns_by_a_stream: elsewhere!("tcp", "8.8.8.8", "53");
    dns_over_tls: elsewhere!("tcp", "1.1.1.1", "853");
    dns_of_the_hosts_resolver: probe("datagram {udp}", "UDP").read_only()
        .stopped_by(NetNamespace, "ECONNREFUSED").but(Bubblewrap(""));
    a_private_network: elsewhere!("tcp", "10.0.0.1", "443");
    a_route: probe("interfaces", "a route to a documentation address").stopped_by(NetNamespace, "ENETUNREACH").but(Bubblewrap(""));
    a_packet_of_its_own_making: probe("families", "raw IP").stopped_by(Seccomp, "EPERM|EPROTONOSUPPORT|EAFNOSUPPORT").but(Capable);

    raw_packets: probe("families", "packet").stopped_by(Seccomp, "EAFNOSUPPORT|EPERM|ENOSYS").but(Capable);
    virtual_machines: probe("families", "virtual machines").stopped_by(Seccomp, "EAFNOSUPPORT|EPERM|ENOSYS").but(Bubblewrap(""));
    routing_tables: probe("families", "netlink").stopped_by(Seccomp, "EAFNOSUPPORT|EPERM|ENOSYS").but(Bubblewrap(""));
}
