/** One process a folder. */
import { link, readFile, rename, rm, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { RunFolderError } from "../errors.ts";

interface LockHolder {
  readonly pid: number;
  readonly host: string;
  /** When the process started, as the kernel tells it: a process id alone may have been given to another process since. */
  readonly started: string;
}

/** Of this process: two attempts at one folder must not share a draft. */
let attempts = 0;

/**
 * Takes the folder's lock and returns its release. The lock of a process that no longer runs is taken over.
 * @throws RunFolderError naming the process that holds the folder.
 */
export async function lockFolder(folder: string): Promise<() => Promise<void>> {
  const file = join(folder, "lock.json");
  const own = JSON.stringify({ pid: process.pid, host: hostname(), started: await startOf(process.pid) } satisfies LockHolder);
  const draft = join(folder, `lock.${process.pid}.${++attempts}.partial`);
  await writeFile(draft, own);
  try {
    // link() fails if the name exists, so that the lock appears at once, whole, and for one process only.
    while (!(await linked(draft, file))) await removeStale(file, folder);
  } finally {
    await rm(draft, { force: true });
  }
  return async () => {
    const current = await readFile(file, "utf8").catch(() => undefined);
    if (current === own) await rm(file, { force: true });
  };
}

async function linked(draft: string, file: string): Promise<boolean> {
  try {
    await link(draft, file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

async function removeStale(file: string, folder: string): Promise<void> {
  const text = await readFile(file, "utf8").catch(() => undefined);
  if (text === undefined) return;
  const holder = parseHolder(text);
  if (holder && (await isRunning(holder))) {
    throw new RunFolderError(
      `${folder} is in use by process ${holder.pid} on ${holder.host}: wait for it, stop it, or choose another folder (if no such process runs there, delete ${file})`,
    );
  }
  const aside = `${file}.${process.pid}.stale`;
  await rename(file, aside).catch(() => undefined);
  const moved = await readFile(aside, "utf8").catch(() => undefined);
  // Between reading and renaming another process may have taken over: give its lock back.
  if (moved !== undefined && moved !== text) await linked(aside, file);
  await rm(aside, { force: true });
}

function parseHolder(text: string): LockHolder | undefined {
  try {
    const holder = JSON.parse(text) as LockHolder;
    return Number.isInteger(holder.pid) ? holder : undefined;
  } catch {
    return undefined;
  }
}

async function isRunning(holder: LockHolder): Promise<boolean> {
  if (holder.host !== hostname()) return true;
  try {
    process.kill(holder.pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EPERM") return false;
  }
  const started = await startOf(holder.pid);
  return started === "" || started === holder.started;
}

/** Boot and tick at which a process started; empty where the system doesn't tell (then the process id alone decides). */
async function startOf(pid: number): Promise<string> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, "utf8");
    const boot = await readFile("/proc/sys/kernel/random/boot_id", "utf8");
    // Field 22, counted after the command name, which may itself hold spaces and brackets.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    // A killed process whose parent has not yet collected it is no longer running.
    if (fields[0] === "Z") return "ended";
    return `${boot.trim()}:${fields[19]}`;
  } catch {
    return "";
  }
}
