//! Tunnels: the check of the first bytes, and the relay.

mod hello;
mod relay;

use std::io;

use airlock_network::Host;
use tokio::{io::AsyncWriteExt, net::TcpStream, time};

use self::hello::Checked;
use crate::{
    client::{Asked, PlainHttp, idle},
    open::{Execution, Opened},
    report::amend,
};

/// How a tunnel ended.
pub(crate) enum Ended {
    Closed,
    /// The client speaks plain HTTP. Nothing was sent to the target.
    PlainHttp(Box<PlainHttp>),
    /// The client has begun TLS with an inspected target. Nothing was sent to the target.
    Inspected(Box<Asked>),
}

/// Runs a tunnel until both sides have closed it, it is idle for too long, or it is no longer permitted.
///
/// # Errors
///
/// Fails if the connection breaks.
pub(crate) async fn run(asked: Asked, execution: &Execution) -> io::Result<Ended> {
    let Asked { mut client, mut early, opened } = asked;
    let watch = opened.watch.clone();
    let meter = opened.meter.clone();
    let relayed = async {
        let checked = check(&mut client, &mut early, &opened, execution).await?;
        if checked == Checked::Passed && !opened.is_inspected {
            let early = std::mem::take(&mut early);
            relay::relay(&client, &opened.stream, early, &meter, &execution.common.pipes).await?;
        }
        Ok(checked)
    };
    let ended: io::Result<Checked> = tokio::select! {
        biased;
        checked = relayed => checked,
        () = watch.revoked() => Ok(Checked::Closed),
        () = idle(execution.limits().idle, || meter.total()) => Ok(Checked::Closed),
    };
    Ok(match ended? {
        Checked::Passed if opened.is_inspected => Ended::Inspected(Box::new(Asked { client, early, opened })),
        Checked::PlainHttp => Ended::PlainHttp(Box::new(PlainHttp { client, early, target: opened.target })),
        _ => Ended::Closed,
    })
}

/// Checks the first bytes of a tunnel. If they are refused, the report and the client get the reason.
async fn check(
    client: &mut TcpStream,
    early: &mut Vec<u8>,
    opened: &Opened,
    execution: &Execution,
) -> io::Result<Checked> {
    if !opened.needs_tls {
        return Ok(Checked::Passed);
    }
    let name = match &opened.target.host {
        Host::Name(name) => Some(name),
        Host::Address(_) => None,
    };
    let checked = time::timeout(execution.limits().head, hello::read(client, early, name)).await;
    let checked = checked.unwrap_or(Ok(Checked::NoTls))?;
    if let Some(remedy) = checked.problem(&opened.target) {
        amend(&opened.report, |report| report.refused_contents(&remedy));
        client.write_all(checked.alert()).await?;
    }
    Ok(checked)
}
