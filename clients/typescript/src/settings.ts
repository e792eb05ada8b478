/**
 * The settings of a connection: from options, the environment, or the state directory of `airlock dev`.
 *
 * The names and the order are those of the `airlock` command line.
 */

import { isIPv4, isIPv6 } from "node:net";

import { readPem, readToken } from "./credential_files.js";
import { devConnection, stateDirectory, type Environment } from "./dev.js";
import { SettingsError } from "./errors.js";
import { PATIENCE, type Patience } from "./retry.js";
import { Secret } from "./secret.js";

/** The time that a call waits for a local `airlock dev` to answer again. */
const DEV_CALL_MS = 5_000;

/** The options of `connect`. */
export interface ConnectOptions {
  /** The server, as `https://HOST:PORT`. Several, separated by commas, are servers of one store. */
  readonly address?: string | undefined;
  /** The file with the CA of the server's certificate (PEM). */
  readonly ca?: string | undefined;
  /** A bearer token. */
  readonly token?: string | undefined;
  /** The file with a bearer token. */
  readonly tokenFile?: string | undefined;
  /** The file with a client certificate chain (PEM), instead of a token. */
  readonly cert?: string | undefined;
  /** The file with the private key of the certificate (PEM). */
  readonly key?: string | undefined;
  /** The state directory of `airlock dev`. */
  readonly state?: string | undefined;
  /** Permits `http://` to a loopback address of this host. */
  readonly insecureLoopback?: boolean | undefined;
  /** The name in the server's certificate, if it differs from the host of the address. */
  readonly serverName?: string | undefined;
  /** The times to retry. */
  readonly patience?: Partial<Patience> | undefined;
  /** The environment variables. Default: those of the process. */
  readonly environment?: Readonly<Record<string, string | undefined>> | undefined;
  /** Ends the attempt to connect. */
  readonly signal?: AbortSignal | undefined;
}

/** The address of a server, and the files with the credentials for it. */
export interface Settings {
  /** The addresses. Several are servers of one store. */
  readonly addresses: readonly string[];
  readonly ca?: string | undefined;
  readonly token?: Secret | undefined;
  readonly tokenFile?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  readonly serverName?: string | undefined;
  /** The W3C trace context of every call. */
  readonly traceparent?: string | undefined;
  readonly patience: Patience;
}

/** The CA and the identity that a connection uses, as they were read. */
export interface Credentials {
  readonly ca?: string | undefined;
  readonly token?: Secret | undefined;
  readonly certificate?: string | undefined;
  readonly key?: Secret | undefined;
}

/** The host and port of a server. */
export interface Target {
  readonly address: string;
  /** The URL without a path. */
  readonly url: string;
  readonly host: string;
  readonly port: number;
  readonly secure: boolean;
}

/** Finds the settings: each option, else its variable; without an address, `connection.json`. */
export async function find(options: ConnectOptions = {}): Promise<Settings> {
  const environment = options.environment ?? process.env;
  if (options.state !== undefined && options.address === undefined) {
    return ofDev(options.state, environment, options);
  }
  const named = options.address || environment["AIRLOCK_ADDRESS"];
  if (!named) {
    return ofDev(stateDirectory(environment), environment, options);
  }
  const file = (value: string | undefined, variable: string): string | undefined =>
    value || environment[variable] || undefined;
  const settings: Settings = {
    addresses: named.split(",").map((part) => part.trim()),
    ca: file(options.ca, "AIRLOCK_CA"),
    token: options.token ? new Secret(options.token) : undefined,
    tokenFile: options.token ? undefined : file(options.tokenFile, "AIRLOCK_TOKEN_FILE"),
    cert: file(options.cert, "AIRLOCK_CERT"),
    key: file(options.key, "AIRLOCK_KEY"),
    serverName: options.serverName,
    traceparent: environment["TRACEPARENT"],
    patience: { ...PATIENCE, ...options.patience },
  };
  check(settings, options.insecureLoopback ?? false);
  return settings;
}

async function ofDev(directory: string, environment: Environment, options: ConnectOptions): Promise<Settings> {
  const { address, ca, tokenFile } = await devConnection(directory);
  const settings: Settings = {
    addresses: [address],
    ca,
    tokenFile,
    traceparent: environment["TRACEPARENT"],
    patience: { ...PATIENCE, callMs: DEV_CALL_MS, ...options.patience },
  };
  check(settings, false);
  return settings;
}

function check(settings: Settings, insecureLoopback: boolean): void {
  const all = targets(settings);
  const secure = all.some((target) => target.secure);
  if (secure && all.some((target) => !target.secure)) {
    throw new SettingsError("the addresses mix https:// with http://");
  }
  for (const target of all.filter((target) => !target.secure)) {
    checkPlain(target, insecureLoopback);
  }
  if (secure && settings.ca === undefined) {
    throw new SettingsError(
      `the server's address \`${settings.addresses[0]}\` needs the certificate of its authority`,
      { remedy: "name a CA file: the option `ca` or AIRLOCK_CA" },
    );
  }
  if ((settings.token || settings.tokenFile) && settings.cert) {
    throw new SettingsError("a token and a certificate select different identities", { remedy: "use one of them" });
  }
  if ((settings.cert === undefined) !== (settings.key === undefined)) {
    throw new SettingsError("a client certificate needs its private key", { remedy: "name both `cert` and `key`" });
  }
}

function checkPlain(target: Target, insecureLoopback: boolean): void {
  if (!insecureLoopback) {
    throw new SettingsError(`the server's address \`${target.address}\` is plain text`, {
      remedy: "use https://, or insecureLoopback: true for a server on this host",
    });
  }
  if (!isLoopback(target.host)) {
    throw new SettingsError(
      `the server's address \`${target.address}\` is plain text to another host, which is never allowed`,
    );
  }
}

/** Returns the servers that the addresses name. */
export function targets(settings: Settings): readonly Target[] {
  return settings.addresses.map(targetOf);
}

function targetOf(address: string): Target {
  const wrong = new SettingsError(`\`${address}\` is not a server's address`, { remedy: "write https://HOST:PORT" });
  if (!/^https?:\/\//i.test(address) || !URL.canParse(address)) {
    throw wrong;
  }
  const url = new URL(address);
  if (url.pathname !== "/" || url.username !== "" || url.search !== "" || url.hash !== "" || url.hostname === "") {
    throw wrong;
  }
  const secure = url.protocol === "https:";
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  return { address, url: url.origin, host, port: Number(url.port) || (secure ? 443 : 80), secure };
}

function isLoopback(host: string): boolean {
  return (isIPv4(host) && host.startsWith("127.")) || (isIPv6(host) && host === "::1");
}

/** Reads the files with the credentials. */
export async function readCredentials(settings: Settings): Promise<Credentials> {
  const ca = settings.ca === undefined ? undefined : await readPem(settings.ca, "CERTIFICATE");
  const token = settings.token ?? (settings.tokenFile === undefined ? undefined : await readToken(settings.tokenFile));
  if (token !== undefined && !/^[\x20-\x7e]*[\x21-\x7e][\x20-\x7e]*$/.test(token.reveal())) {
    throw new SettingsError("the token is empty or has characters that no token can contain");
  }
  if (settings.cert !== undefined && settings.key !== undefined && token === undefined) {
    const certificate = await readPem(settings.cert, "CERTIFICATE");
    return { ca, certificate, key: new Secret(await readPem(settings.key, "PRIVATE KEY")) };
  }
  return { ca, token };
}

/** Reports whether two credentials are the same. */
export function sameCredentials(one: Credentials, other: Credentials): boolean {
  return (
    one.ca === other.ca &&
    one.certificate === other.certificate &&
    Secret.equal(one.token, other.token) &&
    Secret.equal(one.key, other.key)
  );
}
