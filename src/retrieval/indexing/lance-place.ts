/** Where LanceDB keeps the vectors of an index: connecting, keys, and the table's name. */
import { randomBytes } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import type * as Lance from "@lancedb/lancedb";
import type * as Arrow from "apache-arrow";
import { z } from "zod";
import { ConfigError, DataError, InfrastructureError } from "../../errors.ts";
import { readIfPresent } from "../../files/atomic-file.ts";
import { writeJsonAtomically } from "../../files/json-file.ts";
import { memoryLimit } from "../memory-limit.ts";
import { indexFiles } from "./index-folder.ts";
import type { VectorSettings } from "./manifest.ts";

// LanceDB takes tables only from the copy of Arrow that it loads itself, which is the CommonJS one.
const load = createRequire(import.meta.url);

/** LanceDB and its Arrow, loaded when first needed: they take a tenth of a second and 60 MB. */
export function lanceModules(): { readonly lance: typeof Lance; readonly arrow: typeof Arrow } {
  // It warns of empty partitions and the like, which nobody need act upon; what fails comes as an error.
  process.env["LANCEDB_LOG"] ??= "error";
  return { lance: load("@lancedb/lancedb"), arrow: load("apache-arrow") };
}

/** An open database and the name of the table in it. */
export interface LancePlace {
  readonly connection: Lance.Connection;
  readonly table: string;
  /** `location/table`, for messages. */
  readonly name: string;
  readonly isCloud: boolean;
  /** Nobody else writes there: the folder's lock is ours. */
  readonly isPrivate: boolean;
}

/** Table of an index that keeps its vectors in its own folder. */
const ownTable = "vectors";
const marker = z.strictObject({ table: z.string().regex(/^[\w-]+$/) });

/**
 * Connects to where the vectors of an index are. Below its own folder the table is called `vectors`; at a `location`, which several
 * indexes may share, it has a random name that `<folder>/lance/table.json` keeps, so that no index, an older build of this folder
 * included, is ever taken for another. (The table of an index that is built afresh therefore stays at its location.)
 * @param create Whether a table that has no name yet gets one.
 * @throws ConfigError naming the variable of a key that is missing; InfrastructureError when the location can't be reached; DataError
 * when the folder doesn't tell the table's name.
 */
export async function connectLance(settings: VectorSettings, folder: string, create: boolean): Promise<LancePlace> {
  const own = join(folder, indexFiles.lance);
  const { location } = settings;
  const table = location === undefined ? ownTable : await tableName(own, location, create);
  const address = location ?? own;
  const isCloud = address.startsWith("db://");
  const { lance } = lanceModules();
  const options = isCloud ? cloudOptions(address, settings) : { session: new lance.Session(cacheBytes()) };
  const name = `${address}/${table}`;
  const connection = await storage(name, "can't be reached", () => lance.connect(address, options));
  return { connection, table, name, isCloud, isPrivate: location === undefined };
}

function cloudOptions(address: string, { apiKeyVariable = "LANCEDB_API_KEY", region, hostOverride }: VectorSettings) {
  const apiKey = process.env[apiKeyVariable];
  if (!apiKey) {
    throw new ConfigError(
      `${address} needs a key of LanceDB: set the environment variable ${apiKeyVariable} (retrieval.index.apiKeyVariable), which is ${apiKey === undefined ? "not set" : "empty"}`,
    );
  }
  return { apiKey, ...(region !== undefined && { region }), ...(hostOverride !== undefined && { hostOverride }) };
}

/** What LanceDB may hold of an index in memory: its default of 6 GiB, at most a quarter of the machine's. */
function cacheBytes(): bigint {
  return BigInt(Math.floor(Math.min(6 * 2 ** 30, memoryLimit() / 4)));
}

async function tableName(folder: string, location: string, create: boolean): Promise<string> {
  const file = join(folder, "table.json");
  const text = await readIfPresent(file);
  if (text !== undefined) {
    try {
      return marker.parse(JSON.parse(text)).table;
    } catch (error) {
      throw new DataError(
        "doesn't hold the name of a table: restore it, or build the index again with --fresh",
        { file },
        { cause: error },
      );
    }
  }
  if (!create) throw new DataError(`is missing: it tells which table at ${location} is the index's; restore it, or build again`, { file });
  const table = `vectors-${randomBytes(8).toString("hex")}`;
  await mkdir(folder, { recursive: true });
  await writeJsonAtomically(file, { table });
  return table;
}

/** Environment variables from which LanceDB takes the keys of object storage. */
const keyVariables = [
  ["s3://", "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION and AWS_ENDPOINT"],
  ["gs://", "GOOGLE_APPLICATION_CREDENTIALS"],
  ["az://", "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY"],
] as const;

/** Does something with the storage; its failures become InfrastructureErrors. */
export async function storage<Value>(name: string, failure: string, act: () => Promise<Value>): Promise<Value> {
  try {
    return await act();
  } catch (error) {
    // LanceDB adds where in its sources it failed, and says everything twice.
    const [reason] = (error as Error).message.split(/, \/[^ ]*\.rs:|\s+Caused by:/);
    const variables = keyVariables.find(([scheme]) => name.startsWith(scheme))?.[1];
    const advice = variables === undefined ? "" : ` (account, keys and region are read from ${variables})`;
    throw new InfrastructureError(`${name}: vectors ${failure}: ${reason}${advice}`, { cause: error });
  }
}
