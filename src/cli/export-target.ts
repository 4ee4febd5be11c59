import { readdir, realpath } from "node:fs/promises";
import { RunFolderError } from "../errors.ts";

/**
 * Whether an export into this folder replaces a model or adapter there. `sources`: models that the run itself reads.
 * @throws RunFolderError when the folder holds other things, or is one of the sources: neither shall be lost.
 */
export async function replacesExport(folder: string, sources: readonly (string | undefined)[] = []): Promise<boolean> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
  if (entries.length === 0) return false;
  const names = entries.map(({ name }) => name);
  const isModel = names.includes("config.json") && names.some((name) => name.endsWith(".safetensors"));
  // What is exported lies flat.
  const stranger = isModel || names.includes("adapter_config.json") ? entries.find((entry) => entry.isDirectory())?.name : names[0];
  if (stranger !== undefined) {
    throw new RunFolderError(
      `export: ${folder} holds other things (${stranger}), which an export would replace: name another --out folder`,
    );
  }
  const place = await realpath(folder);
  for (const source of sources) {
    if (source === undefined || (await realpath(source).catch(() => source)) !== place) continue;
    throw new RunFolderError(`export: ${folder} is a model that the run itself begins from: name another --out folder`);
  }
  return true;
}
