/** TCP and TLS connections to a server. */

import { connect as connectTcp, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";

import type { Credentials, Target } from "./settings.js";

/** Begins to connect to a server. TLS is for HTTP/2. */
export function openSocket(target: Target, credentials: Credentials, serverName: string | undefined): Socket {
  const { host, port } = target;
  if (!target.secure) {
    return connectTcp({ host, port });
  }
  const { ca, certificate, key } = credentials;
  // An address is no server name.
  const servername = serverName ?? (isIP(host) ? undefined : host);
  return connectTls({
    host,
    port,
    ALPNProtocols: ["h2"],
    ...(ca === undefined ? {} : { ca }),
    ...(certificate === undefined ? {} : { cert: certificate }),
    ...(key === undefined ? {} : { key: key.reveal() }),
    ...(servername === undefined ? {} : { servername }),
  });
}

/** Returns an error that looks like one of a system call. */
export function systemError(code: string, message: string): Error {
  return Object.assign(new Error(message), { code, syscall: "connect" });
}
