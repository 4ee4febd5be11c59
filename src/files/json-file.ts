import { readFile } from "node:fs/promises";
import { ModelError } from "../errors.ts";
import { writeAtomically } from "./atomic-file.ts";

/** Writes a value as indented JSON, as `writeAtomically` does. */
export async function writeJsonAtomically(path: string, value: unknown): Promise<void> {
  await writeAtomically(path, `${JSON.stringify(value, null, 2)}\n`);
}

/**
 * A JSON object from a file of a model folder.
 * @throws ModelError naming the file when it is missing, unreadable or not an object.
 */
export async function readJsonObject(path: string): Promise<Record<string, unknown>> {
  const value = await readOptionalJsonObject(path);
  if (value === undefined) throw new ModelError(`${path} is missing: the model folder must hold it`);
  return value;
}

/** The same, but undefined when there is no such file. */
export async function readOptionalJsonObject(path: string): Promise<Record<string, unknown> | undefined> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new ModelError(`${path} can't be read: ${(error as Error).message}`, { cause: error });
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new ModelError(`${path} is not valid JSON: ${(error as Error).message}`, { cause: error });
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new ModelError(`${path} must hold a JSON object`);
  return value as Record<string, unknown>;
}
