/** Listeners on this host that forward connections to ports of a session. */

import { createServer, type AddressInfo, type Server, type Socket } from "node:net";

import type { Connection } from "./connection.js";
import { reasonOf } from "./credential_files.js";
import { LocalError } from "./errors.js";
import { Port } from "./port.js";

const LOOPBACK = "127.0.0.1";

/** A listener on this host that forwards each connection to a port of a session. */
export class Forward implements AsyncDisposable {
  private constructor(
    private readonly server: Server,
    /** The local address to connect to. */
    readonly address: { readonly host: string; readonly port: number },
  ) {}

  /** @internal */
  static open(connection: Connection, sessionId: string, port: number, localPort: number): Promise<Forward> {
    const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (socket) => {
      void relay(connection, sessionId, port, socket);
    });
    return new Promise((resolve, reject) => {
      server.once("error", (error) =>
        reject(new LocalError(`cannot listen on ${LOOPBACK}:${localPort}: ${reasonOf(error)}`, { cause: error })),
      );
      server.listen(localPort, LOOPBACK, () => {
        const { port } = server.address() as AddressInfo;
        resolve(new Forward(server, { host: LOOPBACK, port }));
      });
    });
  }

  /** Ends the listener. Open connections end with their programs. */
  async close(): Promise<void> {
    this.server.close();
  }

  /** Ends the listener. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

async function relay(connection: Connection, sessionId: string, port: number, socket: Socket): Promise<void> {
  socket.on("error", () => undefined);
  let remote: Port | undefined;
  try {
    remote = await Port.open(connection, sessionId, port, {});
    await Promise.all([toProgram(socket, remote), fromProgram(remote, socket)]);
  } catch {
    // The local side learns about it by a reset, because its data can be incomplete.
    socket.resetAndDestroy();
  } finally {
    await remote?.close();
    socket.destroySoon();
  }
}

async function toProgram(socket: Socket, port: Port): Promise<void> {
  for await (const data of socket as AsyncIterable<Buffer>) {
    await port.send(data);
  }
  await port.end();
}

async function fromProgram(port: Port, socket: Socket): Promise<void> {
  for (;;) {
    const data = await port.receive();
    if (data.length === 0) {
      break;
    }
    await written(socket, data);
  }
  socket.end();
}

/** Writes data, and waits until the socket accepts more. */
function written(socket: Socket, data: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.write(data, (error) => (error ? reject(error) : resolve()));
  });
}
