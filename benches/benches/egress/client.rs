//! The client, and the proxy that it uses.

use std::{
    io::{self, ErrorKind, Read, Write},
    net::{IpAddr, SocketAddr, TcpStream},
    sync::Arc,
    time::Instant,
};

use airlock_egress::{Access, Events, Limits, Proxy, SystemResolver, Token};
use airlock_network::{AddressGuard, Layer, LayerName, Layers, Rules};
use tokio::{
    net::TcpListener,
    runtime::Runtime,
    sync::{mpsc, watch},
};
use tokio_util::sync::CancellationToken;

use crate::server::{ECHO, SEND};

/// A proxy with the access of one execution.
pub(crate) struct TestProxy {
    address: SocketAddr,
    token: Token,
    /// Keeps the rules and the proxy.
    _layers: watch::Sender<Arc<Layers>>,
    _runtime: Runtime,
}

impl TestProxy {
    /// Starts a proxy that allows this target.
    pub(crate) fn open(target: SocketAddr) -> Self {
        let runtime = Runtime::new().unwrap();
        let allow = [format!("{target}/tcp")];
        let rules = Rules::parse(false, &allow, &[]).unwrap_or_else(|errors| panic!("{errors:?}"));
        let layers = Layers::new(vec![Layer { name: LayerName::Profile, rules }]);
        let (sender, layers) = watch::channel(Arc::new(layers));
        let limits = Limits { per_execution: 2_000, ..Limits::default() };
        let guard = AddressGuard::new(Vec::new(), Vec::new());
        let proxy = Proxy::new(None, limits, Arc::new(SystemResolver::default()), guard);
        let token = Token::random().unwrap();
        let (queue, _reports) = mpsc::channel(1);
        let access = Access {
            token: token.clone(),
            processes: None,
            layers,
            inspection: None,
            questions: None,
            events: Events::new(queue),
            cancel: CancellationToken::new(),
        };
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        runtime.spawn(async move { proxy.serve(listener, access).await });
        Self { address, token, _layers: sender, _runtime: runtime }
    }

    /// Connects to a target by SOCKS5.
    ///
    /// # Errors
    ///
    /// If the proxy refuses the target.
    pub(crate) fn connect(&self, target: SocketAddr) -> io::Result<TcpStream> {
        let IpAddr::V4(ip) = target.ip() else { return Err(ErrorKind::Unsupported.into()) };
        let mut stream = TcpStream::connect(self.address)?;
        stream.set_nodelay(true)?;
        let password = self.token.expose().as_bytes();
        let length = u8::try_from(password.len()).unwrap();
        let head = [&[5, 1, 2, 1, 1, b'a', length], password, &[5, 1, 0, 1], &ip.octets()].concat();
        stream.write_all(&[&head[..], &target.port().to_be_bytes()].concat())?;
        // The method, the credential, and the answer.
        let mut answer = [0; 2 + 2 + 10];
        stream.read_exact(&mut answer)?;
        if answer[5] == 0 { Ok(stream) } else { Err(ErrorKind::PermissionDenied.into()) }
    }
}

/// Sends one byte, and waits for it to come back.
pub(crate) fn ping(stream: &mut TcpStream) {
    let mut byte = [ECHO];
    stream.write_all(&byte).unwrap();
    stream.read_exact(&mut byte).unwrap();
}

/// Asks for bytes, and reads them to the end.
pub(crate) fn read_all(mut stream: TcpStream, bytes: u64) {
    let begun = Instant::now();
    stream.write_all(&[&[SEND][..], &bytes.to_be_bytes()].concat()).unwrap();
    let mut buffer = vec![0; 256 << 10];
    let mut received = 0;
    loop {
        match stream.read(&mut buffer).unwrap() {
            0 => break,
            count => received += count as u64,
        }
    }
    complete(begun, received, bytes);
}

/// Fails if the server sent another number of bytes than it should.
pub(crate) fn complete(begun: Instant, received: u64, wanted: u64) {
    assert!(received == wanted, "{received} of {wanted} bytes after {:?}", begun.elapsed());
}
