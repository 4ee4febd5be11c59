import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { cosearch, makeTinyProject, type TinyProject } from "../../test/fixtures/cli/tiny-project.ts";

let project: TinyProject;
beforeAll(async () => {
  project = await makeTinyProject();
});
afterAll(() => rmSync(project.folder, { recursive: true, force: true }));

it("writes both models of a run, says what it replaces, and keeps the models that the run begins from", async () => {
  const run = (...args: readonly string[]) => cosearch(args, { cwd: project.folder });
  expect(await run("train", "--config", "config.yaml", "--run", "mine", "--steps", "1")).toMatchObject({ code: 0 });
  const written = (note: string) =>
    ["agent", "ranker"].map((policy) => `${policy}: model after step 0 in ${join("out", policy)}${note}\n`).join("");
  const exported = ["export", "--run", "mine", "--checkpoint", "0", "--out", "out"];
  expect(await run(...exported)).toMatchObject({ code: 0, stdout: written("") });
  expect(readdirSync(join(project.folder, "out/ranker"))).toEqual(
    expect.arrayContaining(["config.json", "model.safetensors", "tokenizer.json"]),
  );
  expect(await run(...exported)).toMatchObject({ code: 0, stdout: written(" (replaced)") });
  const refused = await run("export", "--run", "mine", "--out", "models");
  expect([refused.code, refused.stderr]).toEqual([3, expect.stringContaining("is a model that the run itself begins from")]);
}, 60_000);
