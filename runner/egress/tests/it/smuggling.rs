//! Requests on which two parsers could disagree. Each is refused, and nothing of it reaches the target.

use tokio::io::AsyncWriteExt;

use crate::{
    fixture::{Execution, Fixture, allow, is_closed, rest, status},
    target::Target,
};

async fn prepared() -> (Fixture, Target, Execution) {
    let (fixture, target) = (Fixture::new(), Target::web().await);
    let execution = fixture.serve(&allow(&["web.test"], target.port)).await;
    (fixture, target, execution)
}

#[tokio::test]
async fn ambiguous_heads_are_refused() {
    let (_fixture, target, execution) = prepared().await;
    let rows: [(&str, &[u8]); 33] = [
        ("CL.TE", b"Content-Length: 6\r\nTransfer-Encoding: chunked\r\n"),
        ("TE.CL", b"Transfer-Encoding: chunked\r\nContent-Length: 6\r\n"),
        ("equal lengths", b"Content-Length: 5\r\nContent-Length: 5\r\n"),
        ("different lengths", b"Content-Length: 5\r\nContent-Length: 6\r\n"),
        ("a list of lengths", b"Content-Length: 5, 5\r\n"),
        ("a length with a plus sign", b"Content-Length: +5\r\n"),
        ("a negative length", b"Content-Length: -5\r\n"),
        ("a hexadecimal length", b"Content-Length: 0x5\r\n"),
        ("an empty length", b"Content-Length:\r\n"),
        ("a length above 64 bits", b"Content-Length: 18446744073709551616\r\n"),
        ("two encodings", b"Transfer-Encoding: gzip, chunked\r\n"),
        ("chunked twice", b"Transfer-Encoding: chunked, chunked\r\n"),
        ("two encoding headers", b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"),
        ("an unknown encoding", b"Transfer-Encoding: xchunked\r\n"),
        ("identity", b"Transfer-Encoding: identity\r\n"),
        ("an encoding with a parameter", b"Transfer-Encoding: chunked;q=1\r\n"),
        ("an encoding with a vertical tab", b"Transfer-Encoding: \x0bchunked\r\n"),
        ("a folded encoding", b"Transfer-Encoding:\r\n chunked\r\n"),
        ("a folded header", b"X-A: one\r\n two\r\n"),
        ("a header that begins with a tab", b"X-A: one\r\n\ttwo: three\r\n"),
        ("a blank before the colon", b"Content-Length : 5\r\n"),
        ("a blank in a name", b"X A: one\r\n"),
        ("no colon", b"X-A\r\n"),
        ("no name", b": one\r\n"),
        ("LF alone", b"X-A: one\nX-B: two\r\n"),
        ("CR alone", b"X-A: one\rX-B: two\r\n"),
        ("an early end by LF", b"X-A: one\n\nGET / HTTP/1.1\r\n"),
        ("NUL in a value", b"X-A: a\0b\r\n"),
        ("NUL in a name", b"X\0A: a\r\n"),
        ("DEL in a value", b"X-A: a\x7fb\r\n"),
        ("ESC in a value", b"X-A: a\x1b[31mb\r\n"),
        ("two Host headers", b"Host: web.test\r\nHost: other.test\r\n"),
        ("two equal Host headers", b"Host: web.test\r\nHost: web.test\r\n"),
    ];
    let begin = format!("POST http://web.test:{}/ HTTP/1.1\r\n{}", target.port, execution.header());
    for (name, headers) in rows {
        let request = [begin.as_bytes(), headers, b"\r\n0\r\n\r\nX"].concat();
        let answer = execution.send(request).await;
        assert_eq!(status(&answer), 400, "{name}: {answer}");
        assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{name}: {answer}");
        assert!(answer.contains("the proxy refuses this request: "), "{name}: {answer}");
    }
    assert_eq!(target.connections(), 0, "{}", target.received());
    for control in [
        "Content-Length: 5\r\n\r\nhello",
        "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        "\r\n",
    ] {
        let answer = execution.send(format!("{begin}Connection: close\r\n{control}")).await;
        assert_eq!(status(&answer), 200, "the control: {answer}");
    }
}

#[tokio::test]
async fn wrong_request_lines_are_refused() {
    let (_fixture, target, execution) = prepared().await;
    let port = target.port;
    let rows = [
        ("HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned()),
        ("HTTP/2 for a URL", format!("GET http://web.test:{port}/ HTTP/2.0\r\n")),
        ("HTTP/0.9", format!("GET http://web.test:{port}/\r\n")),
        ("HTTP/1.2", format!("GET http://web.test:{port}/ HTTP/1.2\r\n")),
        ("a version in lower case", format!("GET http://web.test:{port}/ http/1.1\r\n")),
        ("two blanks", format!("GET  http://web.test:{port}/ HTTP/1.1\r\n")),
        ("a tab", format!("GET\thttp://web.test:{port}/ HTTP/1.1\r\n")),
        ("a blank in the URL", format!("GET http://web.test:{port}/a b HTTP/1.1\r\n")),
        ("a blank at the end", format!("GET http://web.test:{port}/ HTTP/1.1 \r\n")),
        ("an empty line before", format!("\r\nGET http://web.test:{port}/ HTTP/1.1\r\n")),
        ("a character outside ASCII", format!("GET http://web.test:{port}/ä HTTP/1.1\r\n")),
        ("a path", "GET / HTTP/1.1\r\nHost: web.test\r\n".to_owned()),
        ("an asterisk", "OPTIONS * HTTP/1.1\r\nHost: web.test\r\n".to_owned()),
        ("https", format!("GET https://web.test:{port}/ HTTP/1.1\r\n")),
        ("ftp", format!("GET ftp://web.test:{port}/ HTTP/1.1\r\n")),
        ("a user name", format!("GET http://web.test:{port}@other.test:{port}/ HTTP/1.1\r\n")),
        ("an empty user name", format!("GET http://@web.test:{port}/ HTTP/1.1\r\n")),
        ("a user name for CONNECT", format!("CONNECT a@web.test:{port} HTTP/1.1\r\n")),
        ("CONNECT without a port", "CONNECT web.test HTTP/1.1\r\n".to_owned()),
        ("CONNECT to a URL", format!("CONNECT http://web.test:{port}/ HTTP/1.1\r\n")),
        ("CONNECT to a path", format!("CONNECT web.test:{port}/ HTTP/1.1\r\n")),
        ("another Host", format!("GET http://web.test:{port}/ HTTP/1.1\r\nHost: other.test:{port}\r\n")),
        ("another port in Host", format!("GET http://web.test:{port}/ HTTP/1.1\r\nHost: web.test:1\r\n")),
        ("an empty Host", format!("GET http://web.test:{port}/ HTTP/1.1\r\nHost:\r\n")),
        (
            "another Host for CONNECT",
            format!("CONNECT web.test:{port} HTTP/1.1\r\nHost: other.test:{port}\r\n"),
        ),
    ];
    for (name, head) in rows {
        let answer = execution.send(format!("{head}{}Connection: close\r\n\r\n", execution.header())).await;
        assert_eq!(status(&answer), 400, "{name}: {answer}");
    }
    assert_eq!(target.connections(), 0, "{}", target.received());
    for host in [format!("web.test:{port}"), "web.test".to_owned(), "WEB.test.".to_owned()] {
        let head = format!("GET http://web.test:{port}/ HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n");
        let answer = execution.send(format!("{head}{}\r\n", execution.header())).await;
        assert_eq!(status(&answer), 200, "the control: {host}: {answer}");
    }
}

#[tokio::test]
async fn bytes_that_are_not_http_are_refused() {
    let (_fixture, _target, execution) = prepared().await;
    let rows: [(&str, &[u8]); 4] = [
        ("TLS", b"\x16\x03\x01\x00\x05hello"),
        ("SOCKS4", b"\x04\x01\x00\x50\x7f\x00\x00\x01\x00"),
        ("SSH", b"SSH-2.0-OpenSSH_9.2\r\n\r\n"),
        ("zeros", &[0; 100]),
    ];
    for (name, bytes) in rows {
        let answer = execution.send(bytes).await;
        assert_eq!(status(&answer), 400, "{name}: {answer}");
    }
}

#[tokio::test]
async fn a_body_is_not_read_as_a_request() {
    let (_fixture, target, execution) = prepared().await;
    let port = target.port;
    let hidden = format!("GET http://web.test:{port}/hidden HTTP/1.1\r\n{}\r\n", execution.header());
    let head = format!("POST http://web.test:{port}/ HTTP/1.1\r\n{}", execution.header());
    let last = format!(
        "GET http://web.test:{port}/last HTTP/1.1\r\nConnection: close\r\n{}\r\n",
        execution.header()
    );

    let answer =
        execution.send(format!("{head}Content-Length: {}\r\n\r\n{hidden}{last}", hidden.len())).await;
    assert_eq!(answer.matches("HTTP/1.1 200").count(), 2, "{answer}");
    assert!(!target.received().contains("GET /hidden"), "{}", target.received());
    assert!(target.received().contains("GET /last"), "the control");

    // A request behind a body in chunks is not read at all.
    let chunked =
        format!("{head}Transfer-Encoding: chunked\r\n\r\n5;{};a=b\r\nhello\r\n0\r\n\r\n", "x".repeat(99));
    let answer = execution.send(format!("{chunked}{hidden}")).await;
    assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{answer}");
    assert!(!target.received().contains("GET /hidden"), "{}", target.received());
    assert!(
        !target.received().contains("xxx"),
        "extensions of chunks are not forwarded: {}",
        target.received()
    );
    assert!(target.received().contains("5\r\nhello\r\n0\r\n\r\n"), "{}", target.received());
}

#[tokio::test]
async fn wrong_chunks_end_the_connection() {
    let (_fixture, target, execution) = prepared().await;
    let hidden = format!("GET http://web.test:{}/hidden HTTP/1.1\r\n{}\r\n", target.port, execution.header());
    let rows = [
        ("a signed size", format!("+5\r\nhello\r\n0\r\n\r\n{hidden}")),
        ("a size that wraps around", format!("10000000000000005\r\nhello\r\n0\r\n\r\n{hidden}")),
        ("no line end behind a chunk", format!("5\r\nhelloXX0\r\n\r\n{hidden}")),
        ("LF in an extension", format!("5;\nx\r\nhello\r\n0\r\n\r\n{hidden}")),
    ];
    for (name, chunks) in rows {
        let mut stream = execution.connect().await;
        let head = format!(
            "POST http://web.test:{}/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n{}\r\n",
            target.port,
            execution.header()
        );
        stream.write_all(format!("{head}{chunks}").as_bytes()).await.unwrap();
        let answer = rest(&mut stream).await;
        assert!(answer.matches("HTTP/1.1 ").count() <= 1, "{name}: {answer}");
        assert!(is_closed(&mut stream).await, "{name}");
    }
    assert!(!target.received().contains("GET /hidden"), "{}", target.received());
}

#[tokio::test]
async fn ten_thousand_bad_requests_get_one_answer() {
    let (_fixture, target, execution) = prepared().await;
    let bad = format!("GET http://web.test:{}/ HTTP/1.1\r\nX: a\0b\r\n\r\n", target.port);
    let answer = execution.send(bad.repeat(10_000)).await;
    assert_eq!(answer.matches("HTTP/1.1 400").count(), 1, "{answer}");
    assert_eq!(target.connections(), 0);
}

#[tokio::test]
async fn large_heads_are_refused() {
    let (_fixture, target, execution) = prepared().await;
    let begin = format!(
        "GET http://web.test:{}/ HTTP/1.1\r\n{}Connection: close\r\n",
        target.port,
        execution.header()
    );
    let rows = [
        ("a long header", format!("{begin}X-A: {}\r\n\r\n", "a".repeat(64 * 1024))),
        ("an endless header", format!("{begin}X-A: {}", "a".repeat(256 * 1024))),
        ("many headers", format!("{begin}{}\r\n", "X-A: a\r\n".repeat(100))),
        ("endless headers", format!("{begin}{}", "X-A: a\r\n".repeat(20_000))),
        ("a long URL", format!("GET http://web.test/{} HTTP/1.1\r\n\r\n", "a".repeat(64 * 1024))),
    ];
    for (name, head) in rows {
        let answer = execution.send(head).await;
        assert_eq!(status(&answer), 431, "{name}: {answer}");
    }
    assert_eq!(target.connections(), 0);
    let answer = execution.send(format!("{begin}X-A: {}\r\n\r\n", "a".repeat(32 * 1024))).await;
    assert_eq!(status(&answer), 200, "the control: {answer}");
}
