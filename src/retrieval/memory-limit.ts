import { totalmem } from "node:os";

/** Bytes of memory that this process may have at most: the machine's, or what its container allows where that is less. */
export function memoryLimit(): number {
  const limit = process.constrainedMemory?.() ?? 0;
  return limit > 0 ? Math.min(totalmem(), limit) : totalmem();
}
