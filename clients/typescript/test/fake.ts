/** A fake server: each method is a function of the request and the call's number. */

import { createServer, type Http2Server } from "node:http2";
import type { AddressInfo } from "node:net";

import type {
  DescMessage,
  DescMethod,
  DescMethodServerStreaming,
  DescMethodUnary,
  MessageInitShape,
  MessageShape,
} from "@bufbuild/protobuf";
import { Code, ConnectError, type ConnectRouter, type HandlerContext } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";

import { Connection } from "../src/connection.js";
import { ErrorInfoSchema } from "../src/gen/google/rpc/error_details_pb.js";
import { Client, type ConnectOptions } from "../src/index.js";
import { find } from "../src/settings.js";

/** The patience of a client of the fake server. */
export const PATIENCE = { callMs: 500, viewMs: 500, silenceMs: 2_000, backoffFirstMs: 10, backoffMaxMs: 50 };

/** Returns an error that ends a call as a broken connection does. */
export function broken(): ConnectError {
  return new ConnectError("broken", Code.Unavailable);
}

/** Returns an error of the server. */
export function refused(code: Code, reason: string, metadata: Record<string, string> = {}): ConnectError {
  return new ConnectError("refused", code, undefined, [{ desc: ErrorInfoSchema, value: { reason, metadata } }]);
}

/** The methods of the fake server, and the requests that they received. */
export class Fake {
  /** The values of the header `authorization`. */
  readonly tokens: (string | null)[] = [];
  private readonly routes: ((router: ConnectRouter) => void)[] = [];
  private readonly requests = new Map<DescMethod, unknown[]>();

  /** Answers a unary method. */
  unary<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    answer: (request: MessageShape<I>, number: number) => MessageInitShape<O>,
  ): void {
    this.routes.push((router) =>
      router.rpc(method, (request: MessageShape<I>, context: HandlerContext) =>
        answer(request, this.record(method, request, context)),
      ),
    );
  }

  /** Answers a method with the messages that the function returns. */
  stream<I extends DescMessage, O extends DescMessage>(
    method: DescMethodServerStreaming<I, O>,
    answer: (request: MessageShape<I>, number: number) => Iterable<MessageInitShape<O>>,
  ): void {
    const record = (request: MessageShape<I>, context: HandlerContext): number => this.record(method, request, context);
    this.routes.push((router) =>
      router.rpc(method, async function* (request: MessageShape<I>, context: HandlerContext) {
        yield* answer(request, record(request, context));
      }),
    );
  }

  /** Returns the requests of a method. */
  received<I extends DescMessage>(method: { readonly input: I } & DescMethod): MessageShape<I>[] {
    return (this.requests.get(method) ?? []) as MessageShape<I>[];
  }

  /** Calls a function with a client of the fake server. */
  async connected(options: ConnectOptions, use: (client: Client, address: string) => Promise<void>): Promise<void> {
    const handler = connectNodeAdapter({ routes: (router) => this.routes.forEach((route) => route(router)) });
    const server = await listening(createServer(handler));
    const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    try {
      const settings = { address, insecureLoopback: true, patience: PATIENCE, environment: {}, ...options };
      // The credential files are read for every call.
      await using client = new Client(await Connection.of(await find(settings), 0));
      await use(client, address);
    } finally {
      server.close();
    }
  }

  private record(method: DescMethod, request: unknown, context: HandlerContext): number {
    const received = this.requests.get(method) ?? [];
    received.push(request);
    this.requests.set(method, received);
    this.tokens.push(context.requestHeader.get("authorization"));
    return received.length;
  }
}

function listening(server: Http2Server): Promise<Http2Server> {
  return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(server)));
}
