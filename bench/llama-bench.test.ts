import { describe, expect, it } from "vitest";
import { readBatchedBench } from "./llama-bench.ts";

describe("readBatchedBench", () => {
  it("finds the line of JSON among other lines", () => {
    const output = 'loading\n\n{"n_kv_max": 2048, "pp": 64, "tg": 64, "pl": 16, "t_pp": 1.25, "speed_pp": 819.2, "t_tg": 2.5}\n\ndone\n';
    expect(readBatchedBench("batched", output)).toEqual({ t_pp: 1.25, t_tg: 2.5 });
  });

  it.each(["", "| PP | TG |\n", '{"build_commit": "abc", "avg_ts": 12}\n'])("says what it expected of %j", (output) => {
    expect(() => readBatchedBench("/usr/bin/llama-bench", output)).toThrow(
      /--llama-bench \/usr\/bin\/llama-bench: expected .*llama-batched-bench/,
    );
  });
});
