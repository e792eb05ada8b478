//! The memory of idle tunnels.

use peak_alloc::PeakAlloc;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::{
    fixture::{Execution, Fixture, LISTED, allow, soon, status},
    target::Target,
};

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

const TUNNELS: usize = 1_000;
const LIMIT: usize = 20 * 1024 * 1024;

/// Transfers more bytes than the buffer of a tunnel has.
async fn exchange(stream: &mut TcpStream) {
    stream.write_all(&[b'a'; 10_000]).await.unwrap();
    let mut echoed = [0; 10_000];
    soon(stream.read_exact(&mut echoed)).await.unwrap();
}

/// Opens connections to the target, and returns them with the memory that they use while they are idle. The kernel's
/// buffers are not counted.
async fn used(target: &Target, executions: Option<&[Execution]>) -> (usize, Vec<TcpStream>) {
    let before = ALLOCATOR.current_usage();
    let mut streams = Vec::new();
    for index in 0..TUNNELS {
        let mut stream = match executions {
            Some(executions) => {
                let execution = &executions[index % executions.len()];
                let (stream, head) = execution.tunnel(&format!("web.test:{}", target.port)).await;
                assert_eq!(status(&head), 200);
                stream
            }
            None => TcpStream::connect((LISTED, target.port)).await.unwrap(),
        };
        exchange(&mut stream).await;
        streams.push(stream);
        target.forget();
    }
    (ALLOCATOR.current_usage().saturating_sub(before), streams)
}

/// The test measures the whole process, so it needs a process of its own, as nextest provides.
#[tokio::test]
async fn a_thousand_idle_tunnels_use_less_than_20_mib() {
    let (fixture, target) = (Fixture::new(), Target::echo().await);
    let mut executions = Vec::new();
    for _ in 0..5 {
        executions.push(fixture.serve(&allow(&["web.test/tcp"], target.port)).await);
    }
    let (direct, _direct) = used(&target, None).await;
    let (tunnels, _tunnels) = used(&target, Some(&executions)).await;
    println!("{direct} bytes for direct connections, {tunnels} bytes for tunnels");
    assert!(tunnels.saturating_sub(direct) < LIMIT, "{direct} and {tunnels}");
}
