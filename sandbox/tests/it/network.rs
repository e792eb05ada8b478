//! Tests of networks that a command must not reach, each with a control that reaches them.

use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use airlock_sandbox::{Cause, LaunchSpec, Network, Shape};

use crate::support::{Host, PROBE, control, finish};

#[test]
fn no_interface_but_a_loopback_and_no_route() {
    let host = Host::new();
    let session = host.session();
    let command = format!("{PROBE} interfaces");
    host.probe_in(&session, &host.spec(&command)).assert_out_of_reach(3);
    host.probe_in(&session, &host.read_only_spec(&command)).assert_out_of_reach(3);
    let table = host.run(&session, &host.spec("tail -n +3 /proc/net/dev | cut -d: -f1"));
    assert_eq!(table.stdout.trim(), "lo");
    let script = "ip link add one type veth peer two && exec \"$0\" interfaces";
    let mut own = airlock_mounts::private_command(&["--map-root-user", "--net"]);
    let own = own.args(["sh", "-c", script]).arg(&host.probe);
    control(own).assert_reached();
}

#[test]
fn the_hosts_loopback_and_sockets_are_out_of_reach() {
    let host = Host::new();
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = tcp.local_addr().unwrap().to_string();
    host.probe(&format!("connect {address}")).assert_out_of_reach(1);
    host.control(&["connect", &address]).assert_reached();

    let name = format!("airlock-test-{}", std::process::id());
    let listener = SocketAddr::from_abstract_name(&name).unwrap();
    let _listener = UnixListener::bind_addr(&listener).unwrap();
    host.probe(&format!("abstract-socket {name}")).assert_out_of_reach(1);
    host.control(&["abstract-socket", &name]).assert_reached();
}

#[test]
fn a_session_reaches_its_own_loopback_and_no_other() {
    let host = Host::new();
    let (own, other) = (host.session(), host.session());
    let server = host.start(&own, &host.spec(format!("{PROBE} listen")));
    let mut line = [0; 64];
    let length = rustix::io::read(&server.streams.stdout, &mut line).unwrap();
    let address = String::from_utf8_lossy(&line[..length]).trim().to_owned();
    let connect = format!("{PROBE} connect {address}");

    host.probe_in(&own, &host.spec(&connect)).assert_reached();
    host.probe_in(&other, &host.spec(&connect)).assert_out_of_reach(1);
    host.control(&["connect", &address]).assert_out_of_reach(1);
    host.probe_in(&own, &host.read_only_spec(&connect)).assert_out_of_reach(1);
    let shape = Shape { read_only: false, network: Network::Empty };
    let apart = LaunchSpec { shape, ..host.spec(&connect) };
    host.probe_in(&own, &apart).assert_out_of_reach(1);

    server.control.kill();
    assert_eq!(finish(server).ended.cause, Cause::Killed);
}
