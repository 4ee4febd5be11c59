/** The flags of `cosearch warm-start`, read and checked. */
import { ConfigError } from "../errors.ts";

/** Checked flags. */
export interface WarmStartFlags {
  readonly out: string;
  readonly steps: number;
  readonly batch: number;
  /** Absent: by what is trained. */
  readonly rate: number | undefined;
  readonly policy: "agent" | "ranker" | "both";
  readonly check: number;
  readonly saveEvery: number;
}

/** As typed. */
export type TypedFlags = Readonly<Record<"out" | "steps" | "batch" | "rate" | "policy" | "check" | "save-every", string | undefined>>;

/** @throws ConfigError naming the flag, its value and what is expected. */
export function warmStartFlags(typed: TypedFlags): WarmStartFlags {
  const policy = typed.policy ?? "both";
  if (policy !== "agent" && policy !== "ranker" && policy !== "both")
    throw new ConfigError(`warm-start: --policy ${policy}: expected agent, ranker or both`);
  return {
    out: typed.out ?? "warm",
    steps: whole("steps", typed.steps ?? "100", 1),
    batch: whole("batch", typed.batch ?? "8", 1),
    rate: typed.rate === undefined ? undefined : positive("rate", typed.rate),
    policy,
    check: whole("check", typed.check ?? "16", 0),
    saveEvery: whole("save-every", typed["save-every"] ?? "20", 1),
  };
}

function whole(name: string, text: string, least: number): number {
  const value = Number(text);
  if (text.trim() !== "" && Number.isSafeInteger(value) && value >= least) return value;
  throw new ConfigError(`warm-start: --${name} ${JSON.stringify(text)}: expected a whole number of at least ${least}`);
}

function positive(name: string, text: string): number {
  const value = Number(text);
  if (Number.isFinite(value) && value > 0) return value;
  throw new ConfigError(`warm-start: --${name} ${JSON.stringify(text)}: expected a number above 0, e.g. 2e-4`);
}
