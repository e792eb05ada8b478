//! A server that sends back single bytes, or a number of bytes that the client asks for.

use std::{
    io::{ErrorKind, Read, Write},
    net::{IpAddr, SocketAddr, TcpListener, TcpStream},
    thread,
};

/// The first byte of a request for bytes. The number follows, in 8 bytes.
pub(crate) const SEND: u8 = b's';
/// The first byte of a request for itself.
pub(crate) const ECHO: u8 = b'e';

/// Starts a server at a free port, in threads of this process.
pub(crate) fn start(address: impl Into<IpAddr>) -> SocketAddr {
    let listener = TcpListener::bind((address.into(), 0)).unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || accept(&listener));
    address
}

/// Serves until the process is killed. Prints one byte when it listens.
pub(crate) fn run(address: SocketAddr) {
    let listener = TcpListener::bind(address).unwrap();
    println!("!");
    accept(&listener);
}

fn accept(listener: &TcpListener) {
    loop {
        let (stream, _) = listener.accept().unwrap();
        // A client may close at any time.
        thread::Builder::new().stack_size(64 << 10).spawn(move || drop(serve(stream))).unwrap();
    }
}

fn serve(mut stream: TcpStream) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut asked = [0];
    loop {
        stream.read_exact(&mut asked)?;
        match asked[0] {
            ECHO => stream.write_all(&asked)?,
            SEND => return send(&mut stream),
            _ => return Err(ErrorKind::InvalidData.into()),
        }
    }
}

fn send(stream: &mut TcpStream) -> std::io::Result<()> {
    let mut count = [0; 8];
    stream.read_exact(&mut count)?;
    let mut left = u64::from_be_bytes(count);
    let bytes = vec![b'x'; 256 << 10];
    while left > 0 {
        let part = usize::try_from(left).unwrap().min(bytes.len());
        stream.write_all(&bytes[..part])?;
        left -= part as u64;
    }
    Ok(())
}
