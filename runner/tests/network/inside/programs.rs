//! The programs of the attempts.

use super::{Control, Program};

/// Functions of Python. Each attempt succeeds if it raises nothing.
pub(super) const PRELUDE: &str = r#"
import ctypes, os, socket as s, struct, sys
def tcp(host, port, family=s.AF_INET, protocol=0):
    c = s.socket(family, s.SOCK_STREAM, protocol)
    c.settimeout(3)
    c.connect((host, port))
def tcp6(host, port, scope=0):
    c = s.socket(s.AF_INET6, s.SOCK_STREAM)
    c.settimeout(3)
    c.connect((host, port, 0, scope))
def udp(host, port):
    c = s.socket(s.AF_INET, s.SOCK_DGRAM)
    c.settimeout(1)
    c.sendto(b'question', (host, port))
    c.recvfrom(64)
def made(family, kind, protocol=0):
    return s.socket(family, kind, protocol)
def unix(path):
    s.socket(s.AF_UNIX, s.SOCK_STREAM).connect(path)
def fast(host, port):
    c = s.socket(s.AF_INET, s.SOCK_STREAM)
    c.sendto(b'early', 0x20000000, (host, port))
def option(name, level=0):
    s.socket(s.AF_INET, s.SOCK_STREAM).setsockopt(level, name, 1)
def call(number, *words):
    libc = ctypes.CDLL(None, use_errno=True)
    done = libc.syscall(number, *words)
    if done < 0:
        raise OSError(ctypes.get_errno(), 'call')
    return done
def holds_sockets(process):
    links = [os.path.realpath(f'/proc/{process}/fd/{fd}') for fd in os.listdir(f'/proc/{process}/fd')]
    assert any('socket:' in link for link in links)
"#;

/// Connections by TCP that avoid the proxy.
const STREAMS: [(&str, &str, u16); 17] = [
    ("an allowed address without the proxy", "203.0.113.7", 80),
    ("metadata", "169.254.169.254", 80),
    ("metadata of tasks", "169.254.170.2", 80),
    ("metadata of Alibaba", "100.100.100.200", 80),
    ("the host of Azure", "168.63.129.16", 80),
    ("a private network, 10", "10.0.0.1", 443),
    ("a private network, 172", "172.16.0.1", 443),
    ("a private network, 192", "192.168.0.1", 443),
    ("a shared network", "100.64.0.1", 80),
    ("DNS by a stream", "8.8.8.8", 53),
    ("DNS over TLS", "1.1.1.1", 853),
    ("DNS over HTTPS", "1.1.1.1", 443),
    ("an address of the runner's host", "203.0.113.9", 8080),
    ("an address of the cluster", "203.0.113.130", 443),
    ("the loopback of the host", "127.0.0.1", 80),
    ("another loopback of the host", "127.8.8.8", 80),
    ("the unspecified address", "0.0.0.0", 8080),
];

/// The same by IPv6, with the scope.
const STREAMS6: [(&str, &str, u16, u8); 7] = [
    ("IPv6 metadata", "fd00:ec2::254", 80, 0),
    ("an IPv6 network", "2001:db8::1", 443, 0),
    ("the IPv6 loopback of the host", "::1", 80, 0),
    ("metadata by a mapped address", "::ffff:169.254.169.254", 80, 0),
    ("metadata by NAT64", "64:ff9b::a9fe:a9fe", 80, 0),
    ("metadata by 6to4", "2002:a9fe:a9fe::", 80, 0),
    ("a link-local address with a zone", "fe80::7", 80, 1),
];

/// Sockets that the sandbox does not create.
const SOCKETS: [(&str, &str); 12] = [
    ("packets of the link layer", "17, 3, 768"),
    ("datagrams of the link layer", "17, 2, 768"),
    ("ICMP by a raw socket", "2, 3, 1"),
    ("IP by a raw socket", "2, 3, 255"),
    ("SCTP by a raw socket", "2, 3, 132"),
    ("DCCP by a raw socket", "2, 3, 33"),
    ("ICMP by an IPv6 raw socket", "10, 3, 58"),
    ("netlink, routes", "16, 3, 0"),
    ("netlink, sockets of others", "16, 3, 4"),
    ("netlink, generic", "16, 3, 16"),
    ("the host of the virtual machine", "40, 1"),
    ("packets by XDP", "44, 3"),
];

/// Sockets of services of the host.
pub(crate) const SERVICES: [&str; 8] = [
    "/run/systemd/resolve/io.systemd.Resolve",
    "/run/nscd/socket",
    "/run/avahi-daemon/socket",
    "/run/dbus/system_bus_socket",
    "/run/docker.sock",
    "/run/containerd/containerd.sock",
    "/run/snapd.socket",
    "/run/ssh-agent.sock",
];
/// The abstract name of a listener of the host.
pub(crate) const ABSTRACT: &str = "airlock-network-test";

fn program(name: impl Into<String>, command: impl Into<String>, control: Control) -> Program {
    Program { name: name.into(), command: command.into(), control }
}

fn python(name: impl Into<String>, call: &str) -> Program {
    program(name, format!("/usr/bin/python3 -c \"$PRELUDE\n{call}\""), Control::Outside(""))
}

/// Returns all programs. The runner's server listens on `server`, a port of the host's loopback.
pub(super) fn programs(server: u16) -> Vec<Program> {
    let mut programs: Vec<Program> =
        STREAMS.iter().map(|(name, host, port)| python(*name, &format!("tcp('{host}', {port})"))).collect();
    programs.extend(
        STREAMS6
            .iter()
            .map(|(name, host, port, scope)| python(*name, &format!("tcp6('{host}', {port}, {scope})"))),
    );
    programs.extend(SOCKETS.iter().map(|(name, words)| python(*name, &format!("made({words})"))));
    programs.extend(SERVICES.iter().map(|path| python(*path, &format!("unix('{path}')"))));
    programs.extend(others(server));
    programs.extend(descriptors());
    programs.extend(clients(server));
    programs
}

fn others(server: u16) -> Vec<Program> {
    vec![
        python("DNS by datagrams", "udp('8.8.8.8', 53)"),
        python("the resolver of the host", "udp('127.0.0.1', 53)"),
        python("QUIC to an allowed address", "udp('203.0.113.7', 443)"),
        python("mDNS", "udp('203.0.113.7', 5353)"),
        python("LLMNR", "udp('203.0.113.7', 5355)"),
        python("metadata by datagrams", "udp('169.254.169.254', 53)"),
        python("MPTCP", "tcp('203.0.113.7', 80, protocol=262)"),
        python("TCP with data in its first packet", "fast('203.0.113.7', 80)"),
        python("the port of the runner's server", &format!("tcp('127.0.0.1', {server})")),
        python("an abstract socket of the host", &format!("unix('\\0{ABSTRACT}')")),
        program(
            "the list of the host's abstract sockets",
            format!("grep -q {ABSTRACT} /proc/net/unix"),
            Control::Outside(""),
        ),
        python("a transparent socket", "option(19)"),
        python("a mark on packets", "option(36, 1)"),
        python("io_uring", "call(425, 4, ctypes.create_string_buffer(120))"),
        python(
            "an address of its own",
            "import fcntl; fcntl.ioctl(made(2, 2), 0x8916, struct.pack('16sHH4s8x', b'lo:9', 2, 0, bytes([127, 9, 9, 9])))",
        ),
        program("a network namespace of its own", "unshare --net true", Control::Outside("")),
        program(
            "a network namespace with a user namespace",
            "unshare --user --map-root-user --net true",
            Control::Outside(""),
        ),
        program(
            "the network namespace of process 1",
            "nsenter --net=/proc/1/ns/net true",
            Control::Outside(""),
        ),
        python("a tunnel device", "os.open('/dev/net/tun', os.O_RDWR)"),
    ]
}

/// Attempts to get a connection of another process. In the control, the process is one of the test.
fn descriptors() -> Vec<Program> {
    let holder = "exec 3<>/dev/tcp/127.0.0.1/80; export P=$$";
    let of_process = |name: &str, call: &str| Program {
        control: Control::Outside(holder),
        // The shell stays, so that it is the process in the control.
        command: format!(
            "/usr/bin/python3 -c \"$PRELUDE\nP = int(os.environ.get('P', '1'))\n{call}\" || exit 1; true"
        ),
        ..python(name, "")
    };
    vec![
        Program {
            control: Control::Outside("exec 3<>/dev/tcp/127.0.0.1/80"),
            ..python("an inherited connection", "holds_sockets('self')")
        },
        of_process("the list of connections of process 1", "holds_sockets(P)"),
        of_process("a connection of process 1", "call(438, os.pidfd_open(P), 3, 0)"),
        of_process("the memory of process 1", "open(f'/proc/{P}/mem', 'rb')"),
        of_process("the environment of process 1", "open(f'/proc/{P}/environ', 'rb').read(1)"),
    ]
}

/// Attempts by clients of the proxy.
fn clients(server: u16) -> Vec<Program> {
    let curl = |words: &str| format!("curl -sf -m 8 -o /dev/null --noproxy '' {words}");
    let allowed = "http://203.0.113.7/";
    let inside = |name: &str, words: String, control: &str| {
        program(name, curl(&words), Control::Inside(curl(control)))
    };
    let direct = |name: &str, before: &str| {
        program(name, format!("{before} curl -sf -m 8 -o /dev/null {allowed}"), Control::Outside(""))
    };
    let bare = "http://127.0.0.1:$(sed 's/.*://' neighbour)";
    let own = "http://$(echo $AIRLOCK_PROXY | sed 's|.*//||; s|@.*||')@127.0.0.1:$(sed 's/.*://' neighbour)";
    vec![
        direct("NO_PROXY for every host", "env NO_PROXY=* no_proxy=*"),
        direct("NO_PROXY for one host", "env NO_PROXY=203.0.113.7 no_proxy=203.0.113.7"),
        direct("without the variables of the proxy", "env -u HTTP_PROXY -u http_proxy -u ALL_PROXY -u all_proxy"),
        direct("a proxy of its own choice", "env http_proxy=http://203.0.113.7:80 ALL_PROXY=http://203.0.113.7:80"),
        inside("metadata by the proxy", "http://169.254.169.254/".to_owned(), allowed),
        inside("metadata in decimal by the proxy", "http://2852039166/".to_owned(), allowed),
        inside("the runner's host by the proxy", "http://203.0.113.9/".to_owned(), allowed),
        inside("the port of the runner's server by the proxy", format!("-p http://127.0.0.1:{server}/"), &format!("-p {allowed}")),
        inside("another connection target of curl", format!("-p --connect-to ::169.254.169.254:80 {allowed}"), &format!("-p {allowed}")),
        inside("another Host header", format!("-H 'Host: 169.254.169.254' {allowed}"), &format!("-H 'Host: 203.0.113.7' {allowed}")),
        inside("metadata by SOCKS5", "-x $ALL_PROXY http://169.254.169.254/".to_owned(), &format!("-x $ALL_PROXY {allowed}")),
        inside("SOCKS4", format!("-x socks4://127.0.0.1:${{AIRLOCK_PROXY##*:}} {allowed}"), &format!("-x $AIRLOCK_PROXY {allowed}")),
        inside("SOCKS4a", format!("-x socks4a://127.0.0.1:${{AIRLOCK_PROXY##*:}} {allowed}"), &format!("-x $AIRLOCK_PROXY {allowed}")),
        inside("HTTP/2 without TLS", format!("--http2-prior-knowledge -p {allowed}"), &format!("-p {allowed}")),
        inside("the proxy of an execution that ended", format!("-x $(cat ended) {allowed}"), &format!("-x $AIRLOCK_PROXY {allowed}")),
        inside("the proxy of a neighbour without a credential", format!("-x {bare} {allowed}"), &format!("-x $(cat neighbour) {allowed}")),
        inside("the proxy of a neighbour with its own credential", format!("-x {own} {allowed}"), &format!("-x $(cat neighbour) {allowed}")),
        program(
            "metadata by the tunnel of process 1",
            "/run/airlock/init connect 169.254.169.254 80",
            Control::Inside("printf 'GET / HTTP/1.1\\r\\n\\r\\n' | timeout 5 /run/airlock/init connect 203.0.113.7 80 | grep -q hello".to_owned()),
        ),
    ]
}
