import type { Server } from "node:http";
import { ConfigError } from "../errors.ts";

/**
 * Lets a server listen.
 * @param onError Told when a connection can't be accepted later; the server goes on.
 * @throws ConfigError naming host, port and fix when it can't.
 */
export async function listen(server: Server, host: string, port: number, onError: (error: Error) => void): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const refused = (error: Error) => reject(problemOf(error, host, port));
    server.once("error", refused);
    server.listen({ host, port }, () => {
      server.off("error", refused);
      // Without a listener the error would end the process.
      server.on("error", onError);
      resolve();
    });
  });
}

function problemOf(error: NodeJS.ErrnoException, host: string, port: number): Error {
  switch (error.code) {
    case "EADDRINUSE":
      return new ConfigError(
        `port ${port} of ${host} is in use by another program: stop that one, or choose another port (--port 0 takes any free one)`,
        { cause: error },
      );
    case "EACCES":
      return new ConfigError(`port ${port} may not be opened by this user: choose one from 1024 up, e.g. --port 8000`, { cause: error });
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return new ConfigError(`host ${host} is no address of this machine: use 127.0.0.1 (this machine only) or 0.0.0.0 (every network)`, {
        cause: error,
      });
    default:
      return error;
  }
}

/** Whether only this machine can reach a host. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(\.\d{1,3}){3}$/.test(host);
}
